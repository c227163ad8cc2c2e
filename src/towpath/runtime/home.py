"""The cache folder of Towpath."""

from __future__ import annotations

import os
from pathlib import Path


def home_folder() -> Path:
    """Return TOWPATH_HOME, else a folder in the user's cache."""
    if chosen := os.environ.get("TOWPATH_HOME"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "towpath"
