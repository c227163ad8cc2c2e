"""Log files of a broker are read as the broker would hand them out, up to the last whole batch."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.archive.segments import buffer, head, seen
from tests.support.clients.records import transactions
from tests.support.kafka import consume, create_topic
from tests.support.logs.batches import SMALL, batch, numbered
from tests.support.logs.log_files import log_in, wait_for_markers
from tests.support.logs.logs import Log, Seen, logs, read_plainly
from tests.support.logs.old_messages import OLD
from tests.support.mirror import Mirror
from towpath.archive.errors import CorruptSegmentError
from towpath.archive.format import broker_log
from towpath.archive.format.broker_log import BrokerLog, BrokerLogFile, LogCut, LogSurvey
from towpath.archive.format.parquet_reader import ParquetObjectReader
from towpath.archive.format.parquet_writer import ParquetObject
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import SourceOffset, TopicPartition
from towpath.wire.batch import CONTROL, LAST, TRANSACTIONAL, BatchHeader, scan
from towpath.wire.plain import Record

ABORT, COMMIT = b"\0\0\0\0", b"\0\0\0\1"


def name_of(base: int, partition: str = "orders-0") -> str:
    return f"data/{partition}/{base:020}.log"


def log_of(files: dict[int, bytes], high_watermark: int | None = None) -> BrokerLog:
    named = {name_of(base): data for base, data in files.items()}
    found = [file for file in map(BrokerLogFile.of, named) if file]
    most = None if high_watermark is None else SourceOffset(high_watermark)
    return BrokerLog(found, lambda name: io.BytesIO(named[name]), most)


def archived(log: BrokerLog, survey: LogSurvey, first: int = 0) -> list[Seen]:
    """Return the visible records, by way of an archive."""
    out = io.BytesIO()
    target = ParquetObject(lambda: out)
    writer = target.segment(head(first))
    for packed in log.batches(survey, first):
        writer.take(buffer(packed.data), 0, len(packed.data), packed.aborted)
    footer = writer.close(max(writer.expected, SourceOffset(first + 1)))
    if not target.close():
        return []
    return seen(ParquetObjectReader(pa.BufferReader(out.getvalue()), "a").rows(footer))


def marker(at: int, producer: int, key: bytes) -> bytes:
    record = Record(key, b"\0" * 6, (), 7, at)
    return bytes(batch([record], attributes=CONTROL | TRANSACTIONAL, producer_id=producer))


def of(at: int, producer: int) -> bytes:
    record = Record(b"k", b"v", (), 7, at)
    return bytes(batch([record], attributes=TRANSACTIONAL, producer_id=producer))


def plainly(at: int, size: int = 1) -> bytes:
    return bytes(batch(numbered([Record(b"k", b"v" * size, (), 7)], at)))


def split(log: Log, data: st.DataObject) -> dict[int, bytes]:
    cuts = data.draw(st.sets(st.integers(0, len(log.batches)), max_size=3))
    bounds = sorted({0, *cuts, len(log.batches)})
    parts = [log.batches[a:b] for a, b in pairwise(bounds) if a < b]
    return {BatchHeader.read(part[0]).base_offset: b"".join(part) for part in parts}


@given(logs(), st.data())
def test_batches_come_as_they_are_in_the_files(log: Log, data: st.DataObject) -> None:
    log = Log(tuple(raw for raw in log.batches if not _transactional(raw)))
    files = split(log, data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(broker_log, "_WINDOW", data.draw(st.sampled_from([20, 200, 1 << 20])))
        found = log_of(files)
        survey = found.survey()
        first = data.draw(st.integers(log.start, log.end))
        records = archived(found, survey, first)
        whole = b"".join(each.data for each in found.batches(survey))
    assert survey.cut is None
    assert (survey.batches, survey.size) == (len(log.batches), len(log.data))
    if log.batches:
        assert (survey.start, survey.end, survey.stable_end) == (log.start, log.end, log.end)
    assert whole == log.data
    assert records == read_plainly(log, first, log.end)[0]


def _transactional(raw: bytes) -> bool:
    return bool(BatchHeader.read(raw).attributes & TRANSACTIONAL)


def test_markers_tell_which_transactions_were_aborted() -> None:
    data = [
        of(0, 7), of(1, 8), marker(2, 7, ABORT), of(3, 7), marker(4, 8, COMMIT),
        marker(5, 7, COMMIT), of(6, 7), plainly(7),
        marker(8, 7, ABORT), marker(9, 9, COMMIT), plainly(10),
    ]  # fmt: skip
    found = log_of({0: b"".join(data[:3]), 3: b"".join(data[3:])})
    survey = found.survey()
    assert [(a.producer, a.first, a.marker) for a in survey.aborted] == [(7, 0, 2), (7, 6, 8)]
    assert (survey.end, survey.stable_end) == (11, 11)
    assert [each.record.offset for each in archived(found, survey)] == [1, 3, 7, 10]
    assert [each.aborted for each in found.batches(survey)] == [((7, 0),), ((7, 6),)]
    assert [each.record.offset for each in archived(found, survey, 3)] == [3, 7, 10]


def test_an_open_transaction_ends_what_is_stable() -> None:
    found = log_of({0: plainly(0) + of(1, 7) + plainly(2)})
    survey = found.survey()
    assert (survey.end, survey.stable_end) == (3, 1)
    assert [each.record.offset for each in archived(found, survey)] == [0]


def test_a_marker_that_compaction_emptied_ends_its_transaction() -> None:
    empty = bytes(batch([], base=1, last=1, attributes=CONTROL | TRANSACTIONAL, producer_id=7))
    survey = log_of({0: of(0, 7) + empty}).survey()
    assert (survey.aborted, survey.stable_end) == ([], 2)


def test_what_not_all_replicas_have_is_left_out() -> None:
    found = log_of({0: plainly(0) + plainly(1) + plainly(2)}, high_watermark=2)
    survey = found.survey()
    assert (survey.end, survey.stable_end) == (2, 2)
    assert [each.record.offset for each in archived(found, survey)] == [0, 1]


@pytest.mark.parametrize("window", [30, 1 << 20])
@pytest.mark.parametrize("left", [8, 16, 17, 60, 61, 70])
def test_a_last_batch_that_is_cut_is_left_out_and_said(
    left: int, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_log, "_WINDOW", window)
    whole = plainly(0) + plainly(1, 40)
    found = log_of({0: whole + plainly(2, 500)[:left]})
    survey = found.survey()
    assert survey.end == 2
    assert survey.cut == LogCut(name_of(0), len(whole), left)
    assert b"".join(each.data for each in found.batches(survey)) == whole


def test_a_damaged_end_is_cut_where_the_broker_would_cut_it() -> None:
    damaged = bytearray(plainly(1))
    damaged[-1] ^= 1
    found = log_of({0: plainly(0) + bytes(damaged) + plainly(2)})
    survey = found.survey()
    assert survey.cut == LogCut(name_of(0), 70, 140)
    assert (survey.batches, survey.end) == (1, 1)
    garbage = log_of({0: plainly(0) + b"\x07" * 90}).survey()
    assert garbage.cut == LogCut(name_of(0), 70, 90)


def test_preallocated_room_is_no_damage() -> None:
    for rest in (5, 100, 3000):
        survey = log_of({0: plainly(0) + bytes(rest)}).survey()
        assert (survey.cut, survey.end) == (None, 1)


def test_damage_before_the_last_file_is_an_error() -> None:
    found = log_of({0: plainly(0) + plainly(1)[:-1], 2: plainly(2)})
    with pytest.raises(CorruptSegmentError, match=r"69 bytes from 70 on .* other files follow"):
        found.survey()


def test_messages_of_old_formats_become_batches() -> None:
    found = log_of({0: b"".join(OLD) + plainly(30)})
    survey = found.survey()
    assert (survey.start, survey.end, survey.cut) == (0, 31, None)
    assert [each.record.offset for each in archived(found, survey)] == list(range(31))


def test_names_of_files_tell_partition_and_offset() -> None:
    assert BrokerLogFile.of("b/ab12/c/my.topic-1-17/00000000000000000042.log") == BrokerLogFile(
        SourceOffset(42),
        "b/ab12/c/my.topic-1-17/00000000000000000042.log",
        TopicPartition("my.topic-1", 17),  # type: ignore[arg-type]
    )
    for other in (
        "orders-0/00000000000000000042.index",
        "orders-0.1234-delete/00000000000000000042.log",
        "orders-0/42.log",
        "orders/00000000000000000042.log",
    ):
        assert BrokerLogFile.of(other) is None


def test_an_empty_log_has_no_batches() -> None:
    for log in (log_of({}), log_of({5: b""})):
        survey = log.survey()
        assert (survey.start, survey.end, survey.cut, list(log.batches(survey))) == (
            None,
            0,
            None,
            [],
        )


def test_scan_of_what_is_handed_out_ends_where_it_says() -> None:
    found = log_of({1000: bytes(batch(SMALL))})
    (packed,) = found.batches(found.survey())
    assert scan(buffer(packed.data), 0, len(packed.data))[-1, LAST] + 1 == packed.end == 1003


@pytest.mark.broker
def test_the_folder_of_a_running_broker(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    rng: random.Random,
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("files"))
    create_topic(source.bootstrap, mirror.topic)
    transactions(mirror, rng, 60)
    [folder] = source.home.rglob(f"{mirror.topic}-0")
    wait_for_markers(folder, source.bootstrap, mirror.topic)
    log = log_in(folder)
    survey = log.survey()
    assert survey.cut is None
    found = [(each.record.offset, each.record.value) for each in archived(log, survey)]
    expected = consume(source.bootstrap, mirror.topic)
    assert found == [(each.offset, each.value) for each in expected]
