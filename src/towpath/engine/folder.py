"""Where sockets are made: their path has 107 bytes at most, 103 on macOS."""

from __future__ import annotations

import os
import tempfile

_LONGEST = 80


def short_folder() -> str | None:
    """Return a folder for temporary files with a short path; `None` means the usual one."""
    return None if len(os.fsencode(tempfile.gettempdir())) < _LONGEST else "/tmp"  # noqa: S108
