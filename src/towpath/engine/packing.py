"""`towpath pack`: the archive of packages that Spark ships to its workers.

It holds Towpath and all packages that it requires, but neither Python, which each worker has, nor
PySpark, which comes with each worker's Spark. The same packages give the same bytes wherever and
whenever they are packed, so that a digest tells whether two machines run the same.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath

import towpath
from towpath import __version__
from towpath.engine.packages import MANIFEST, PACKAGES, PYTHON, SUFFIX, launcher_text
from towpath.model.errors import PackError

__all__ = ["PackageNotFoundError", "Packed", "pack"]

Find = Callable[[str], Distribution]
_OF_SPARK = {"pyspark", "py4j"}
_EXTRAS = {"spark", "s3", "gcs", "azure"}
"""The extras whose libraries slices use; those that are not installed here are left out."""
_EXTRA = re.compile(r"""extra\s*==\s*["']([\w-]+)["']""")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_UNUSED = {"__pycache__", "tests", "include"}
"""Folders that nothing needs at run time: compiled code of one path, tests, C headers."""
_KEPT_FACTS = {"METADATA", "entry_points.txt"}
"""Files about a package that code may read; others tell how and from where it was installed."""
_LEVEL = 6


@dataclass(frozen=True, slots=True)
class Packed:
    """The package archive that `towpath pack` made.

    Attributes:
        path: The file.
        packages: The version of each package in it, by name.
        bytes: The size of the file.
        digest: SHA-256 of the file, in hexadecimal digits.
    """

    path: Path
    packages: Mapping[str, str]
    bytes: int
    digest: str


def pack(path: Path, find: Find = distribution) -> Packed:
    """Write the package archive; an older file is replaced once the new one is complete.

    Args:
        path: The file to write.
        find: Returns an installed distribution by its name.

    Raises:
        OSError: The file could not be written.
        PackError: A package is missing, or cannot be packed.
    """
    found = _required(find)
    scratch = path.with_name(f"{path.name}.new")
    try:
        with scratch.open("wb") as raw:
            _write(raw, found)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Packed(path, _versions(found), path.stat().st_size, digest)


def _required(find: Find) -> dict[str, Distribution]:
    """Return Towpath and what it requires, by normalized name."""
    found: dict[str, Distribution] = {}
    wanted = [("towpath", "", "towpath")]
    while wanted:
        name, marker, by = wanted.pop()
        known = re.sub(r"[-_.]+", "-", name).lower()
        if known in found or known in _OF_SPARK:
            continue
        try:
            found[known] = find(known)
        except PackageNotFoundError:
            if marker:  # it is for other systems, or other versions of Python
                continue
            raise PackError(f"{by} needs {name}, which is not installed") from None
        for requirement in found[known].requires or ():
            text, _, condition = requirement.partition(";")
            match = _NAME.match(text)
            if match and _is_asked_for(known, condition):
                wanted.append((match[0], condition.strip(), known))
    return dict(sorted(found.items()))


def _is_asked_for(package: str, condition: str) -> bool:
    extra = _EXTRA.search(condition)
    return extra is None or (package == "towpath" and extra[1] in _EXTRAS)


def _versions(found: Mapping[str, Distribution]) -> dict[str, str]:
    own = {"towpath": __version__}  # what is installed as a link tells the version of its making
    return own | {name: each.version for name, each in found.items() if name not in own}


def _write(raw: io.BufferedWriter, found: Mapping[str, Distribution]) -> None:
    manifest = {
        "towpath": __version__,
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "suffix": SUFFIX,
        "packages": _versions(found),
    }
    with (
        gzip.GzipFile("", "wb", _LEVEL, raw, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        # Whoever looks into the archive reads its beginning only.
        _add(archive, MANIFEST, json.dumps(manifest, indent=2).encode() + b"\n")
        _add(archive, PYTHON, launcher_text().encode(), mode=0o755)
        for name, file in sorted(_files(found)):
            _add(archive, f"{PACKAGES}/{name}", file.read_bytes())


def _add(archive: tarfile.TarFile, name: str, data: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)  # without owner and time
    entry.size, entry.mode = len(data), mode
    archive.addfile(entry, io.BytesIO(data))


def _files(found: Mapping[str, Distribution]) -> Iterator[tuple[str, Path]]:
    """Yield the name in the archive and the file of all that is packed."""
    for known, each in found.items():
        if known == "towpath":  # it may lie in a clone, where a link leads
            yield from _own()
            continue
        if each.files is None:
            raise PackError(f"nobody knows the files of {known}, as pip has not installed it")
        for file in each.files:
            if _is_wanted(PurePosixPath(file)) and (path := Path(str(file.locate()))).is_file():
                yield str(PurePosixPath(file)), path


def _own() -> Iterator[tuple[str, Path]]:
    package = Path(towpath.__file__).parent
    for file in package.rglob("*"):
        name = PurePosixPath("towpath", file.relative_to(package).as_posix())
        if _is_wanted(name) and file.is_file():
            yield str(name), file


def _is_wanted(name: PurePosixPath) -> bool:
    folders = name.parts[:-1]
    if not folders or ".." in folders or name.is_absolute() or _UNUSED & set(folders):
        # A file at the top is a module; others extend paths.
        return not folders and name.suffix in {".py", ".so"}
    if folders[0].endswith(".dist-info"):
        return name.name in _KEPT_FACTS or "licen" in str(name).lower()
    return name.suffix != ".pyc"
