"""What every kind of store promises."""

from __future__ import annotations

import os
import pickle
import random
import zlib
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from towpath.model.errors import (
    ObjectChangedError,
    ObjectExistsError,
    ObjectMissingError,
    StoreError,
)
from towpath.runtime.clock import now_ms
from towpath.settings import StoreConfig
from towpath.store import Store
from towpath.store.files.files import FilesBackend
from towpath.store.s3.s3 import S3Backend

pytestmark = pytest.mark.slow

MIB = 1 << 20


def test_an_object_is_what_was_put(store: Store) -> None:
    made = store.put_new("a/b", b"first")
    found = store.head("a/b")
    assert (made.key, made.size, made.tag) == ("a/b", 5, found.tag)
    assert (found.key, found.size) == ("a/b", 5)
    assert abs(found.modified - now_ms()) < 3_600_000
    assert store.get("a/b") == b"first"
    store.put("a/b", b"")
    assert store.get("a/b") == b""


def test_a_new_object_never_takes_the_place_of_another_one(store: Store) -> None:
    store.put_new("a/b", b"first")
    with pytest.raises(ObjectExistsError) as caught:
        store.put_new("a/b", b"second")
    assert store.get("a/b") == b"first"
    assert str(caught.value) == (
        f"{store.config.url}/a/b: write: there is such an object already, and it stays as it is;"
        " look who else writes to this prefix"
    )


def test_of_many_writers_one_makes_the_object(store: Store) -> None:
    def put(number: int) -> bool:
        try:
            store.put_new("contested", b"%d" % number)
        except ObjectExistsError:
            return False
        return True

    for round_ in range(5):
        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(put, range(8)))
        assert won.count(True) == 1, f"round {round_}"
        assert store.get("contested") == b"%d" % won.index(True)
        store.delete(["contested"])


def test_an_object_is_replaced_only_where_nobody_else_did(store: Store) -> None:
    tag = store.put_new("lease", b"first").tag
    second = store.replace("lease", b"second", tag)
    with pytest.raises(ObjectChangedError) as caught:
        store.replace("lease", b"third", tag)
    assert store.get("lease") == b"second"
    assert store.head("lease").tag == second.tag
    assert "another writer changed the object meanwhile" in str(caught.value)
    with pytest.raises(ObjectMissingError):
        store.replace("no lease", b"third", tag)


def test_of_many_that_replace_an_object_one_does(store: Store) -> None:
    tag = store.put_new("lease", b"first").tag

    def replace(number: int) -> bool:
        try:
            store.replace("lease", b"%d" % number, tag)
        except ObjectChangedError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(replace, range(8)))
    assert won.count(True) == 1
    assert store.get("lease") == b"%d" % won.index(True)


def test_what_is_not_there_is_said(store: Store) -> None:
    for call in (store.get, store.head, store.reader):
        with pytest.raises(ObjectMissingError) as caught:
            call("a/none")
        assert f"{store.config.url}/a/none" in str(caught.value)
        assert "there is no such object; look whether somebody" in str(caught.value)
    store.delete(["a/none"])


def test_parts_of_an_object_are_read(store: Store) -> None:
    data = random.Random(1).randbytes(2 * MIB)
    store.put_new("big", data)
    assert store.read("big", MIB, MIB + 1)[1] == data[MIB : MIB + 1]
    assert store.read("big", -5, None)[1] == data[-5:]
    assert store.read("big", 5, None)[1] == data[5:]
    assert store.read("big", 2 * MIB - 5, 3 * MIB)[1] == data[-5:]


def test_keys_are_listed_in_order_below_a_prefix(store: Store) -> None:
    keys = ["a-b", "a/b.c", "a/b/c", "a0", "b", "a/é", "a/%5Flog~ +&"]
    for key in keys:
        store.put_new(key, b"x")
    keys.sort(key=str.encode)
    assert [each.key for each in store.list()] == keys
    assert [each.key for each in store.list("a/")] == [key for key in keys if key[:2] == "a/"]
    assert [each.key for each in store.list("a/b")] == ["a/b.c", "a/b/c"]
    assert [each.key for each in store.list(after="a/b.c")] == keys[keys.index("a/b.c") + 1 :]
    assert list(store.list("none")) == []


def test_lists_are_read_page_by_page_and_deleted_in_bulk(store: Store) -> None:
    keys = [f"many/{number:05d}" for number in range(1_003)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: store.put(key, b"x"), keys))
    assert [each.key for each in store.list("many/")] == keys
    assert [each.key for each in store.list("many/", after=keys[7])] == keys[8:]
    store.delete(keys)
    assert list(store.list()) == []


@pytest.mark.parametrize("size", [0, 1, 5 * MIB, 5 * MIB + 1, 23 * MIB])
def test_a_large_object_is_written_piece_by_piece(store: Store, size: int) -> None:
    data = random.Random(2).randbytes(size)
    with store.writer("a/large") as writer:
        for at in range(0, size, 777_777):
            assert writer.tell() == at
            writer.write(memoryview(data)[at : at + 777_777])
        assert list(store.list()) == []
        made = writer.close()
    assert writer.close() is made
    assert (made.size, made.tag) == (size, store.head("a/large").tag)
    assert made.crc == zlib.crc32(data)
    assert store.get("a/large") == data
    assert store.abort_uploads("", 0) == []


@pytest.mark.parametrize("sizes", [(5,), (5, 5), (5, 5, 2), (2, 5, 5), (5, 2, 5), (5, 5, 0)])
def test_parts_that_are_given_are_not_copied_and_stay_in_order(
    store: Store, sizes: tuple[int, ...]
) -> None:
    pieces = [bytearray(random.randbytes(size * MIB)) for size in sizes]
    with store.writer("a/given") as writer:
        for piece in pieces:
            assert writer.give(piece) == len(piece)
        assert writer.tell() == sum(sizes) * MIB
        made = writer.close()
    assert made.size == sum(sizes) * MIB
    assert made.crc == zlib.crc32(b"".join(pieces))
    assert store.get_whole("a/given") == b"".join(pieces)
    with pytest.raises(ValueError, match="closed object"):
        writer.give(pieces[0])


@pytest.mark.parametrize("size", [10, 12 * MIB])
def test_a_large_object_must_be_new_as_well(store: Store, size: int) -> None:
    store.put_new("a/large", b"first")
    writer = store.writer("a/large")
    writer.write(bytes(size))
    with pytest.raises(ObjectExistsError):
        writer.close()
    assert store.get("a/large") == b"first"
    assert store.abort_uploads("", 0) == []
    with store.writer("a/large", only_new=False) as writer:
        writer.write(bytes(size))
    assert store.head("a/large").size == size


@pytest.mark.parametrize("size", [10, 12 * MIB])
def test_an_error_makes_no_object(store: Store, size: int) -> None:
    writer = store.writer("a/large")

    def fail() -> None:
        with writer:
            writer.write(bytes(size))
            raise RuntimeError("of the test")

    with pytest.raises(RuntimeError, match="of the test"):
        fail()
    assert writer.closed
    with pytest.raises(ValueError, match="closed"):
        writer.write(b"x")
    with pytest.raises(ValueError, match="aborted"):
        writer.close()
    assert list(store.list()) == []
    assert store.abort_uploads("", 0) == []


def test_what_a_dead_writer_left_is_found_and_removed(store: Store) -> None:
    writer = store.writer("a/topic%/large")
    writer.write(bytes(6 * MIB))  # and then its process dies
    writer = store.writer("b/large")
    writer.write(bytes(6 * MIB))
    while writer._under_way:
        writer._await_part()
    assert store.abort_uploads("", 3600) == []
    found = ["a/topic%/large"] if isinstance(store.backend, (FilesBackend, S3Backend)) else []
    assert [each.key for each in store.abort_uploads("a/", 0)] == found
    assert store.abort_uploads("a/", 0) == []
    writer.write(b"this one goes on")
    assert writer.close().size == 6 * MIB + 16


def test_pyarrow_writes_and_reads_parquet(store: Store) -> None:
    table = pa.table({"offset": range(300_000), "value": [b"x" * 10] * 300_000})
    with (
        store.writer("a/table.parquet") as file,
        pq.ParquetWriter(file, table.schema, compression="none", use_dictionary=False) as writer,
    ):
        for at in range(0, 300_000, 100_000):
            writer.write_table(table.slice(at, 100_000))
    size = store.head("a/table.parquet").size
    assert size > 6 * MIB
    for known in (None, size):
        with store.reader("a/table.parquet", known) as reader:
            assert pq.ParquetFile(reader).read().equals(table)
        with store.reader("a/table.parquet", known) as reader:
            assert pq.ParquetFile(reader).read_row_group(1).equals(table.slice(100_000, 100_000))


def test_pyarrow_makes_no_object_of_half_a_table(store: Store) -> None:
    table = pa.table({"value": [b"x" * 100] * 10_000})
    file = store.writer("half")
    writer = pq.ParquetWriter(file, table.schema)

    def half() -> None:
        with file:
            writer.write_table(table)
            raise RuntimeError("of the test")

    with pytest.raises(RuntimeError, match="of the test"):
        half()
    with pytest.raises(ValueError, match="closed"):
        writer.close()  # as its destructor does
    assert list(store.list()) == []


def test_a_reader_sees_one_version_of_an_object(store: Store) -> None:
    store.put_new("object", b"a" * 3 * MIB)
    reader = store.reader("object")
    assert reader.read(10) == b"a" * 10
    store.put("object", b"b" * 3 * MIB)
    reader.seek(2 * MIB)
    with pytest.raises(ObjectChangedError):
        reader.read(10)
    with pytest.raises(ObjectChangedError):
        reader.readinto(bytearray(MIB))


def test_a_reader_is_a_file(store: Store) -> None:
    data = random.Random(3).randbytes(3 * MIB)
    store.put_new("object", data)
    reader = store.reader("object")
    assert (reader.size(), reader.tell(), reader.seekable()) == (3 * MIB, 0, True)
    assert reader.seek(-10, os.SEEK_END) == 3 * MIB - 10
    assert reader.read() == data[-10:]
    assert reader.read(5) == b""
    assert reader.seek(MIB) == MIB
    buffer = bytearray(7)
    assert reader.readinto(buffer) == 7
    assert bytes(buffer) == data[MIB : MIB + 7]
    assert reader.seek(3, os.SEEK_CUR) == MIB + 10
    assert reader.read(2 * MIB) == data[MIB + 10 :]
    large = memoryview(bytearray(3 * MIB))
    reader.seek(MIB)
    assert reader.readinto(large) == 2 * MIB
    assert large[: 2 * MIB] == data[MIB:]
    assert reader.tell() == 3 * MIB
    assert reader.readinto(large) == 0
    store.put_new("empty", b"")
    assert store.reader("empty").read() == b""
    assert store.reader("empty").readinto(large) == 0


def test_a_store_pickles_as_its_config(store: Store, config: StoreConfig) -> None:
    store.put_new("a", b"first")
    other: Store = pickle.loads(pickle.dumps(store))  # noqa: S301 - ours
    with other:
        assert other.config == config
        assert other.get("a") == b"first"
    assert other.get("a") == b"first"  # it connects again
    other.close()


def test_a_store_that_keeps_conditions_is_accepted_and_left_empty(store: Store) -> None:
    store.require_conditions()
    assert list(store.list()) == []


def test_every_error_pickles(store: Store) -> None:
    with pytest.raises(StoreError) as caught:
        store.get("none")
    other = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - ours
    assert (type(other), str(other)) == (ObjectMissingError, str(caught.value))
