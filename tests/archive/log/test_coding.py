"""The format of entries and checkpoints, which later versions must read.

`python -m tests.archive.log.test_coding` writes the golden files anew, for a new format only.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.archive.archives import (
    COMPACTOR,
    archiving,
    compacting,
    partition_id,
    seen,
    segment,
    whole,
    without_checksum,
)
from towpath.archive.errors import BrokenLogError, NewerArchiveError
from towpath.archive.keys import checkpoint_key, entry_key
from towpath.archive.log.checkpoints import LogCheckpoints
from towpath.archive.log.checksums import entry_is_summed
from towpath.archive.log.coding import decode, encode, hashed
from towpath.archive.log.commit_log import CommitLog
from towpath.archive.log.entries import Capture, Draft, EntryKind, LogEntry
from towpath.archive.log.state import ArchiveState
from towpath.archive.model import GapKind
from towpath.model.nouns import SourceOffset
from towpath.settings import StoreConfig
from towpath.store import Store

GOLDEN = Path(__file__).parent / "golden"
ONE = (segment(0, 10, gaps=[3]), segment(10, 20, gaps=range(10, 20), kind=GapKind.RETENTION))
CAPTURES = (
    Capture(kind="topic", name="orders", value={"configs": {"retention.ms": "1"}, "partitions": 2}),
    Capture(kind="group", name="gone", value=None),
)
DRAFTS = (
    archiving(*ONE, partitions=(seen(0, 25), seen(5, 5, 1)), captures=CAPTURES),
    compacting(
        *ONE,
        into=[
            replace(
                whole(0, 20),
                gaps=ONE[0].gaps.then(ONE[1].gaps),
                digest=ONE[0].digest,
                first=SourceOffset(0),
                last=SourceOffset(9),
            )
        ],
    ),
    Draft(writer=COMPACTOR, kind=EntryKind.SWEEP, swept=("eu/orders/0/0/0-10",)),
    archiving(),
)


def entries(written: Callable[[LogEntry], bytes] = encode) -> list[LogEntry]:
    """Return entries that follow each other, as somebody writes them."""
    made: list[LogEntry] = []
    before = ""
    for version, draft in enumerate(DRAFTS, start=1):
        ends = {partition_id(): 20, partition_id(1): 5}
        partitions = tuple(
            replace(each, archived_to=SourceOffset(ends[each.partition_id]))
            for each in draft.partitions
        )
        entry = LogEntry(
            version=version, time=1_700_000_000_000 + version, writer=draft.writer, before=before,
            kind=draft.kind, add=draft.add, remove=draft.remove, partitions=partitions,
            captures=draft.captures, swept=draft.swept,
        )  # fmt: skip
        before = hashed(written(entry))
        made.append(entry)
    return made


OLD = entries(without_checksum)


def golden(name: str) -> bytes:
    return (GOLDEN / name).read_bytes()


def store(folder: Path) -> Store:
    return Store(StoreConfig.model_validate({"url": (folder / "store").as_uri()}))


def state() -> ArchiveState:
    return ArchiveState().after([(each, hashed(encode(each))) for each in entries()])


@pytest.mark.parametrize("entry", OLD, ids=lambda entry: f"{entry.version}-{entry.kind}")
def test_entries_are_written_and_read_as_ever(entry: LogEntry) -> None:
    written = golden(f"{entry.version}-{entry.kind}.json")
    assert json.loads(without_checksum(entry)) == json.loads(written)
    assert not entry_is_summed(written, "here")
    assert decode(written, "here") == entry
    assert decode(encode(entry), "here") == entry


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: f"{entry.version}-{entry.kind}")
def test_entries_with_checksums_are_written_and_read_as_ever(entry: LogEntry) -> None:
    written = golden(f"summed/{entry.version}-{entry.kind}.json")
    assert encode(entry) == written
    assert entry_is_summed(written, "here")
    assert decode(written, "here") == entry


def test_a_log_of_the_first_format_is_read_as_ever(tmp_path: Path) -> None:
    with store(tmp_path) as place:
        for entry in OLD:
            data = golden(f"{entry.version}-{entry.kind}.json")
            place.put_new(entry_key("eu", entry.version), data)
        log = CommitLog.open(place, "eu")
        assert log.state.version == 4
        (compacted,) = log.state.segments(partition_id())
        assert (compacted.level, compacted.start, compacted.end) == (1, 0, 20)
        assert log.state.partitions[partition_id(1)].archived_to == 5
        assert list(log.state.captures) == [("topic", "orders")]


@pytest.mark.parametrize("name", ["4.parquet", "summed/4.parquet"])
def test_checkpoints_with_and_without_checksums_are_read_as_ever(tmp_path: Path, name: str) -> None:
    with store(tmp_path) as place:
        place.put_new(checkpoint_key("eu", 4), golden(name))
        assert LogCheckpoints(place, "eu").is_summed(4) == ("summed" in name)
        found = LogCheckpoints(place, "eu").newest()
        expected = state()
        assert list(found.table()) == list(expected.table())
        for each in ("version", "time", "partitions", "captures", "writers", "removed"):
            assert getattr(found, each) == getattr(expected, each), each


@given(at=st.integers(0), bit=st.integers(0, 7))
@example(at=0, bit=0)
def test_any_flipped_bit_of_an_entry_is_found(at: int, bit: int) -> None:
    data = bytearray(encode(entries()[0]))
    data[at % len(data)] ^= 1 << bit
    with pytest.raises(BrokenLogError):
        decode(bytes(data), "here")


def test_each_flipped_bit_and_each_lost_byte_of_a_small_entry_is_found() -> None:
    whole_entry = encode(entries()[3])
    for at in range(len(whole_entry)):
        for bit in range(8):
            data = bytearray(whole_entry)
            data[at] ^= 1 << bit
            with pytest.raises(BrokenLogError):
                decode(bytes(data), "here")
        for torn in (whole_entry[:at], whole_entry[:at] + whole_entry[at + 1 :]):
            with pytest.raises(BrokenLogError):
                decode(torn, "here")


def test_a_changed_byte_of_a_checkpoint_is_found(tmp_path: Path, rng: random.Random) -> None:
    key = checkpoint_key("eu", 4)
    with store(tmp_path) as place:
        checkpoints = LogCheckpoints(place, "eu")
        checkpoints.write(state())
        written = place.get(key)
        for at in range(rng.randrange(16), len(written), 16):
            data = bytearray(written)
            data[at] ^= 1 << rng.randrange(8)
            place.put(key, bytes(data))
            with pytest.raises(BrokenLogError):
                checkpoints.read(4)


def test_a_reader_passes_over_what_it_does_not_know() -> None:
    told = json.loads(encode(entries()[0]))
    told["add"][0]["later"] = told["writer"]["later"] = told["later"] = {"a": 1}
    del told["checksum"], told["sha256"]
    assert decode(json.dumps(told).encode(), "here") == entries()[0]


def test_a_newer_format_is_refused_with_what_to_do() -> None:
    told = json.loads(golden("1-archive.json")) | {"v": 3}
    told["writer"]["towpath"] = "7.1"
    with pytest.raises(NewerArchiveError) as caught:
        decode(json.dumps(told).encode(), "s3://b/eu/_log/1.json")
    assert str(caught.value) == (
        "s3://b/eu/_log/1.json: an entry was written in format 3, this program knows up to 2; use"
        " Towpath 7.1 or newer"
    )


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"1", b"{}", b'{"v":1}', b'{"v":"x"}', b"\xff",
             b'{"v":1,"version":1,"time":1,"writer":[]}']
)  # fmt: skip
def test_what_is_no_entry_is_said(data: bytes) -> None:
    with pytest.raises(BrokenLogError) as caught:
        decode(data, "s3://b/eu/_log/1.json")
    assert "s3://b/eu/_log/1.json: it is no entry of a commit log (" in str(caught.value)
    assert "bring the object back that was here" in str(caught.value)


def test_numbers_beyond_53_bits_are_texts() -> None:
    """Else jq, JavaScript and others would change them."""
    told = json.loads(encode(entries()[0]))
    records, unordered, ordered = told["add"][0]["digest"]
    assert (type(records), type(unordered), type(ordered)) == (int, str, str)


def _write() -> None:
    for entry in entries():
        (GOLDEN / f"summed/{entry.version}-{entry.kind}.json").write_bytes(encode(entry))
    with store(GOLDEN) as place:
        LogCheckpoints(place, "eu").write(state())
        (GOLDEN / "summed/4.parquet").write_bytes(place.get(checkpoint_key("eu", 4)))


if __name__ == "__main__":
    _write()
