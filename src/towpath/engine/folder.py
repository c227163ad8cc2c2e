"""A folder for sockets. The path of a socket has at most 107 bytes, 103 on macOS."""

from __future__ import annotations

import os
import tempfile

_LONGEST = 80


def short_folder() -> str | None:
    """Return a folder for temporary files with a short path; `None` means the default folder."""
    return None if len(os.fsencode(tempfile.gettempdir())) < _LONGEST else "/tmp"  # noqa: S108
