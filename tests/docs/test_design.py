"""DESIGN.md names every package, and each file that it names is one that a reader finds."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "towpath"
TEXT = (ROOT / "DESIGN.md").read_text("utf-8")
_NAME = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|md)|(?:[\w.-]+/)+)`")
"""A file, or a folder, which ends with a slash."""


def _all() -> tuple[set[str], set[str]]:
    """Return all files and folders, those of the program by their paths below its package."""
    files: set[str] = set()
    for top, folder in (("", SOURCE), ("tests/", ROOT / "tests"), ("docs/", ROOT / "docs")):
        kinds = ("*.py", "*.md")
        files |= {top + str(p.relative_to(folder)) for k in kinds for p in folder.rglob(k)}
    folders = {f"{parent}/" for each in files for parent in PurePosixPath(each).parents}
    return files | {path.name for path in ROOT.glob("*.md")}, folders - {"./"}


FILES, FOLDERS = _all()


def _fitting(name: str, beside: str) -> list[str]:
    """Return what a name may mean behind another one of the same line, the nearest first."""
    known = FOLDERS if name.endswith("/") else FILES
    for folder in PurePosixPath(beside).parents[:-1] if beside else ():
        inside = sorted(each for each in known if each.startswith(f"{folder}/"))
        if f"{folder}/{name}" in inside:
            return [f"{folder}/{name}"]
        if found := [each for each in inside if each.endswith(f"/{name}")]:
            return found
    if name in known:
        return [name]
    return sorted(each for each in known if each.endswith(f"/{name}"))


def _wrong(line: str) -> list[str]:
    found: list[str] = []
    beside = ""
    for name in _NAME.findall(line):
        fits = _fitting(name, beside)
        if len(fits) != 1:
            found.append(f"{name}: {', '.join(fits) or 'nothing'} in: {line[:60]}")
        else:
            beside = fits[0] if not fits[0].endswith("/") else f"{fits[0]}x"
    return found


def test_it_names_every_package() -> None:
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert len(packages) > 10
    house = TEXT[TEXT.index("## The house") : TEXT.index("## Invariants")]
    assert sorted(each for each in packages if f"`{each}/`" not in house) == []


@pytest.mark.parametrize("heading", ["## Reading order", "## The house"])
def test_each_file_that_it_names_is_one(heading: str) -> None:
    part = TEXT[TEXT.index(heading) :]
    part = part[: part.index("\n## ", 1)]
    assert [wrong for line in part.splitlines() for wrong in _wrong(line)] == []
