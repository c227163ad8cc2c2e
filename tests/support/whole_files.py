"""Files that a process may read while they are written again."""

from __future__ import annotations

from pathlib import Path


def write_whole(file: Path, text: str) -> None:
    """Write a file such that whoever reads it sees the old content or the new one."""
    beside = file.with_name(f"{file.name}.new")
    beside.write_text(text)
    beside.replace(file)
