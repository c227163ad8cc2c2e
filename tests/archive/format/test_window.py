"""A part of a file in memory is read like the file itself."""

from __future__ import annotations

import io

import pytest
import xxhash

from towpath.archive.format.window import WindowedFile

DATA = bytes(range(256)) * 4


@pytest.mark.parametrize(("first", "size"), [(0, 1024), (100, 200), (1000, 24), (0, 0)])
def test_it_reads_what_the_file_has(first: int, size: int) -> None:
    file = WindowedFile(io.BytesIO(DATA))
    assert file.hold(first, size) == xxhash.xxh3_64_intdigest(DATA[first : first + size])
    for at in (0, first, first + size // 2, 1000):
        for count in (0, 1, 24, 300):
            file.seek(at)
            assert bytes(file.read_buffer(count)) == DATA[at : at + count]
            assert file.tell() == min(1024, at + count)
            file.seek(at)
            assert file.read(count) == DATA[at : at + count]
    file.let_go()
    file.seek(first)
    assert bytes(file.read_buffer(9)) == DATA[first : first + 9]


def test_memory_is_used_again_where_nothing_points_to_it() -> None:
    file, held = WindowedFile(io.BytesIO(DATA)), []
    for first, size in ((0, 300), (10, 300), (500, 200)):
        file.hold(first, size)
        assert bytes(file.held(first, size)) == DATA[first : first + size]
        held.append(file.held(first, 100))
        file.let_go(reuse=first == 10)
    assert bytes(held[0]) == DATA[:100]
    assert held[1].address == held[2].address
    assert held[0].address != held[1].address


def test_a_file_that_ends_too_early_has_another_hash() -> None:
    file = WindowedFile(io.BytesIO(DATA[:500]))
    assert file.hold(400, 200) == xxhash.xxh3_64_intdigest(DATA[400:500])
    with pytest.raises(ValueError, match="not held"):
        file.held(400, 200)


def test_it_is_as_long_as_the_file() -> None:
    file = WindowedFile(io.BytesIO(DATA))
    assert file.size() == 1024
    assert file.seek(-4, io.SEEK_END) == 1020
    assert file.seek(2, io.SEEK_CUR) == 1022
    assert file.read() == DATA[-2:]
    assert file.readable()
    assert file.seekable()
