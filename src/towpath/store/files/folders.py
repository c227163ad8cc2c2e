"""Folders of a store: files in key order, and durable folder names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from towpath.runtime.durable import sync_folder


def walk(root: Path, prefix: str, after: str, hidden: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the files with a prefix after a key, in the key order of stores.

    There `a-b` comes before `a/b`, so a folder is sorted with the slash behind its name.

    Args:
        root: Where the names of all files begin.
        prefix: What the names begin with.
        after: The name behind which to begin.
        hidden: A folder in `root` that is left out.
    """
    yield from _walk(root, "", prefix, after, hidden)


def _walk(
    folder: Path, key: str, prefix: str, after: str, hidden: str
) -> Iterator[tuple[str, os.stat_result]]:
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as found:
        names = {each.name + "/" * each.is_dir(): each for each in found}
        names.pop(f"{hidden}/", None)
        for name in sorted(names, key=os.fsencode):
            whole = key + name
            if not name.endswith("/"):
                if whole.startswith(prefix) and _sorts(after, whole):
                    with suppress(FileNotFoundError):  # it has just been deleted
                        yield whole, names[name].stat()
            elif _may_hold(whole, prefix, after):
                yield from _walk(Path(names[name].path), whole, prefix, after, hidden="")


def _may_hold(folder: str, prefix: str, after: str) -> bool:
    is_wanted = folder.startswith(prefix) or prefix.startswith(folder)
    return is_wanted and (after.startswith(folder) or _sorts(after, folder))


def _sorts(one: str, other: str) -> bool:
    """Whether one key comes before another: stores compare the bytes of UTF-8."""
    return os.fsencode(one) < os.fsencode(other)


def make_folders(folder: Path, root: Path) -> None:
    """Create a folder below `root`, and its parents, with durable names."""
    missing = []
    while folder != root and not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir(exist_ok=True)
        sync_folder(each.parent)
