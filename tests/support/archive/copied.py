"""A bucket that others copy, object by object, in whatever order a test wants."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.support.objects.buckets import client
from towpath.settings import StoreConfig


class Copied:
    """Copies the objects of one folder to another one.

    Args:
        there: The folder that is copied.
        here: The copy.
    """

    def __init__(self, there: Path, here: Path) -> None:
        self._there, self._here = there, here
        here.mkdir(parents=True, exist_ok=True)

    def left(self) -> list[str]:
        """Return the keys of objects that were not copied yet; entries of the log are the last."""
        return sorted(self._missing(), key=lambda key: ("/_log/" in key, key))

    def entries(self) -> list[str]:
        """Return those of them that are entries of the commit log."""
        return [key for key in self.left() if "/_log/0" in key]

    def objects(self) -> list[str]:
        """Return those of them that hold records."""
        return [key for key in self.left() if "/_log/" not in key]

    def copy(self, *keys: str) -> None:
        """Copy some objects, or all that are left."""
        for key in keys or self.left():
            self._put(key, self._here / key)

    def _put(self, key: str, to: Path) -> None:
        to.parent.mkdir(parents=True, exist_ok=True)
        part = to.with_name(f".{to.name}.part")
        shutil.copyfile(self._there / key, part)
        part.rename(to)

    def _missing(self) -> Iterator[str]:
        for path in self._there.rglob("*"):
            key = str(path.relative_to(self._there))
            if path.is_file() and not (self._here / key).exists():
                yield key


class CopiedToBucket(Copied):
    """Copies the objects of a folder to a bucket.

    Args:
        there: The folder that is copied.
        here: Where the store of the bucket keeps its objects.
        bucket: The bucket.
    """

    def __init__(self, there: Path, here: Path, bucket: StoreConfig) -> None:
        super().__init__(there, here)
        self._bucket = bucket

    def _put(self, key: str, to: Path) -> None:
        del to
        name, body = f"{self._bucket.prefix}/{key}", (self._there / key).read_bytes()
        client(self._bucket).put_object(Bucket=self._bucket.bucket, Key=name, Body=body)
