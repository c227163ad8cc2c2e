"""The archives of classes in the cache folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from towpath.runtime.java_classes import ClassArchive

WEEK = 7 * 86_400


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClassArchive:
    monkeypatch.setenv("TOWPATH_HOME", str(tmp_path))
    return ClassArchive("spark", ())


def write(file: Path, age: int) -> Path:
    """Make a file that was written `age` seconds ago."""
    file.parent.mkdir(exist_ok=True)
    file.touch()
    then = file.stat().st_mtime - age
    os.utime(file, (then, then))
    return file


def test_a_settled_archive_is_used_and_those_unused_for_a_week_are_deleted(
    archive: ClassArchive,
) -> None:
    folder = archive.file.parent
    old = write(folder / "spark-old.jsa", WEEK + 60)
    fresh = write(folder / "spark-fresh.jsa", WEEK - 60)
    other = write(folder / "kafka-old.jsa", WEEK + 60)
    made = write(folder / f"{archive.file.name}.17", 61)
    assert not archive.use()
    archive.settle()
    assert archive.present
    assert [each.exists() for each in (old, fresh, other, made)] == [False, True, True, False]


def test_an_archive_that_is_used_is_not_old(archive: ClassArchive) -> None:
    write(archive.file, WEEK + 60)
    assert archive.use()
    write(archive.file.parent / f"{archive.file.name}.17", 10)
    write(archive.file.parent / f"{archive.file.name}.18", 61)
    archive.settle()
    assert archive.present


def test_an_archive_that_a_jvm_may_still_write_is_left_alone(archive: ClassArchive) -> None:
    made = write(archive.file.parent / f"{archive.file.name}.17", 10)
    archive.settle()
    assert made.exists()
    assert not archive.use()
