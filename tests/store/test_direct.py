"""Bytes that are written past the page cache: they are the same, wherever and however many."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from towpath.store.files.direct import aligned, write_at

MIB = 1 << 20


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "file"
    file.touch()
    return file


def some(size: int) -> bytes:
    return (os.urandom(4099) * (size // 4099 + 1))[:size]


@settings(max_examples=30, deadline=None)
@given(
    block=st.integers(0, 3),
    off=st.sampled_from([0, 0, 0, 1, 512]),
    size=st.sampled_from([0, 1, 4096, MIB - 1, MIB, MIB + 1, 2 * MIB, 5 * MIB + 4096, 5 * MIB + 7]),
)
def test_a_part_is_where_it_belongs(
    tmp_path_factory: pytest.TempPathFactory, block: int, off: int, size: int
) -> None:
    path = tmp_path_factory.mktemp("direct") / "file"
    before, part, at = some(64), some(size), block * 4096 + off
    path.write_bytes(before)
    write_at(path, at, part)
    found = path.read_bytes()
    assert found[at : at + size] == part
    assert found[: min(at, 64)] == before[: min(at, 64)]
    assert len(found) == max(64, at + size if size else 0)


def test_little_is_left_in_the_page_cache(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_DIRECT))
    except OSError:
        pytest.skip("this file system has no direct writes")
    write_at(path, 0, some(8 * MIB))
    began = read_from_disk()
    assert len(path.read_bytes()) == 8 * MIB
    assert read_from_disk() - began >= 4 * MIB


def test_a_file_that_has_no_direct_writes_gets_all_bytes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open

    def refusing(path: Path, flags: int) -> int:
        if flags & os.O_DIRECT:
            raise OSError(errno.EINVAL, "no")
        return opened(path, flags)

    part = some(3 * MIB + 5)
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refusing)
        write_at(path, 0, part)
    assert path.read_bytes() == part


def test_a_direct_write_that_is_refused_is_done_through_the_cache(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written_at, sizes = os.pwrite, list[int]()

    def refusing(handle: int, data: memoryview, at: int) -> int:
        sizes.append(len(data))
        if len(sizes) == 2:
            raise OSError(errno.EINVAL, "no")
        return written_at(handle, data, at)

    part = some(5 * MIB + 5)
    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", refusing)
        write_at(path, 0, part)
    assert path.read_bytes() == part
    assert sizes == [2 * MIB, 2 * MIB, 3 * MIB + 5]


@pytest.mark.parametrize("size", [MIB, 8 * MIB, 8 * MIB + 4096, 3 * MIB + 5])
def test_aligned_memory_goes_to_the_disk_without_a_copy(
    path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    part = aligned(size)
    part[:] = some(size)
    written_at, found = os.pwrite, list[tuple[object, int]]()

    def noting(handle: int, data: memoryview, at: int) -> int:
        found.append((data.obj, len(data)))
        return written_at(handle, data, at)

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", noting)
        write_at(path, 0, part)
    assert path.read_bytes() == part
    whole = size // 4096 * 4096
    assert [each for _, each in found] == [whole, *([size - whole] if size > whole else [])]
    assert all(each is part for each, _ in found)


def test_any_other_error_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="full"):
        write_at(path, 0, some(2 * MIB))


def read_from_disk() -> int:
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes:"))
