"""Durable names of files and folders, which survive a power failure."""

from __future__ import annotations

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, after a file was created, replaced or deleted."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Create a folder and its missing parents, with durable names.

    Args:
        folder: The folder; it may be there already.
        mode: Its rights, as for `Path.mkdir`.
    """
    missing = [each for each in (folder, *folder.parents) if not each.is_dir()]
    folder.mkdir(parents=True, exist_ok=True, mode=mode)
    for each in reversed(missing):
        sync_folder(each.parent)
