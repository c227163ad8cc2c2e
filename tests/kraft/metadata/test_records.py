"""Records of the metadata log: read back as written, and never taken for something else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.kraft.metadata_log import batch, control, value, value_of
from tests.support.kraft.metadata_records import records
from towpath.kraft.metadata.messages import BY_KEY, KRaftVersionRecord
from towpath.kraft.metadata.records import batches
from towpath.model.errors import CorruptBatchError


@given(st.lists(records(), min_size=1, max_size=5), st.integers(0, 1 << 40))
def test_every_record_is_read_as_it_was_written(written: list[Any], base: int) -> None:
    (read,) = batches(batch([value_of(*each) for each in written], base))
    entries = list(read.entries())
    assert [(each.body, each.version) for each in entries] == written
    assert [each.offset for each in entries] == list(range(base, base + len(written)))
    assert [each.name for each in entries] == [type(body).__name__ for body, _ in written]


@given(records(), st.data())
def test_a_record_that_is_cut_or_longer_is_refused(written: Any, data: st.DataObject) -> None:
    whole = value_of(*written)
    cut = data.draw(st.integers(0, len(whole) - 1))
    for broken in (whole[:cut], whole + b"\0"):
        (read,) = batches(batch([broken]))
        with pytest.raises(CorruptBatchError, match="offset 0 of the metadata log"):
            list(read.entries())


@pytest.mark.parametrize(
    ("data", "name"),
    [(b"\x01\x1e\x00\x00", "record 30"), (b"\x01\x02\x07\x00", "TopicRecord")],
)
def test_unknown_records_and_versions_are_named(data: bytes, name: str) -> None:
    (read,) = batches(batch([data]))
    (entry,) = read.entries()
    assert (entry.name, entry.body) == (name, None)


def test_control_records_of_elections_say_nothing_and_those_of_the_quorum_do() -> None:
    body = KRaftVersionRecord(version=0, k_raft_version=1).encode(header=False)
    (read,) = batches(control(5, body, base=3))
    (entry,) = read.entries()
    assert (entry.offset, entry.name, entry.body.k_raft_version) == (3, "KRaftVersionRecord", 1)
    (election,) = batches(control(2, b"anything"))
    assert list(election.entries()) == []


def test_damaged_bytes_are_no_batch() -> None:
    data = bytearray(batch([value("NoOpRecord")]))
    data[-1] ^= 1
    (read,) = batches(bytes(data))
    with pytest.raises(CorruptBatchError, match="checksum"):
        list(read.entries())


def test_the_records_of_kafka_4_4_are_known() -> None:
    # Keys 6, 13 and 16 were removed before any release.
    assert sorted(BY_KEY) == [k for k in range(30) if k not in (6, 13, 16)]
