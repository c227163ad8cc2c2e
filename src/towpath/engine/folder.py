"""A folder for sockets, whose paths may have at most 107 bytes (103 on macOS)."""

from __future__ import annotations

import os
import tempfile

_LONGEST = 80


def short_folder() -> str | None:
    """Return a short temporary folder; `None` means that the default folder is short."""
    return None if len(os.fsencode(tempfile.gettempdir())) < _LONGEST else "/tmp"  # noqa: S108
