"""Records that the target refuses: the partition stops, sets them aside, or skips them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.copying.quarantine import begin, held
from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, end_offsets, produce
from tests.support.mirror import Mirror
from tests.support.network.refusal import Refused
from towpath.dev.broker import LocalCluster
from towpath.ledger import producers
from towpath.model.nouns import Mode, SourceOffset
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.copy import copy
from towpath.records.items import Batch
from towpath.records.landing.refusals import Refusal, runs, source_offsets
from towpath.records.target.opening import Opener
from towpath.records.work import Summary
from towpath.runtime.clock import now_ms
from towpath.wire import plain

NewName = Callable[[str], str]
SMALL = {"max.message.bytes": "20000"}
LARGE = random.Random(7).randbytes(30_000)


@pytest.fixture
def mirror(tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName) -> Mirror:
    return Mirror(tmp_path, source, target, new_name("refused"))


def create(
    mirror: Mirror,
    policy: str,
    at_source: Mapping[str, str] | None = None,
    at_target: Mapping[str, str] | None = None,
) -> None:
    create_topic(mirror.source.bootstrap, mirror.topic, config=at_source)
    create_topic(mirror.target.bootstrap, mirror.topic, config=at_target)
    mirror.sections = f"changes: [{{topics: ['{mirror.topic}'], undeliverable: {policy}}}]\n"


def copied(mirror: Mirror) -> list[tuple[int, bytes | None]]:
    found = consume(mirror.target.bootstrap, mirror.topic)
    return [(each.offset, each.value) for each in found]


def numbered(count: int, bad: Mapping[int, Record]) -> list[Record]:
    return [bad.get(n, Record(b"k", b"%d" % n)) for n in range(count)]


def send_apart(mirror: Mirror, records: list[Record]) -> None:
    """Write each record in a batch of its own."""
    for each in records:
        produce(mirror.source.bootstrap, mirror.topic, [each])


@pytest.mark.broker
@pytest.mark.parametrize("policy", ["quarantine", "skip"])
def test_records_that_are_too_large_are_left_out(mirror: Mirror, policy: str) -> None:
    create(mirror, policy, at_target=SMALL)
    large = Record(b"large", LARGE, (("h", b"1"),), 1_600_000_000_000)
    records = numbered(12, {3: large, 7: large, 8: large, 11: large})
    send_apart(mirror, records)
    begin(mirror)
    books = mirror.books()
    assert books.receipt is not None
    assert (books.mode, books.receipt.error) == (Mode.IDENTICAL, "")
    assert books.receipt.source_end == 12
    kept = [(n, each.value) for n, each in enumerate(records) if each != large]
    assert copied(mirror) == kept
    left = [offset for each in books.refused for offset in range(each.first, each.end)]
    assert left == [3, 7, 8, 11]
    assert {(each.why.code, each.policy) for each in books.refused} == {
        (ReasonCode.RECORD_TOO_LARGE, policy)
    }
    aside = [each for each in held(mirror) if each.key.topic == mirror.topic]
    assert [each.key.offset for each in aside] == ([3, 7, 8, 11] if policy == "quarantine" else [])
    send_apart(mirror, numbered(14, {})[12:])
    mirror.catch_up()
    assert copied(mirror) == [*kept, (12, b"12"), (13, b"13")]
    assert mirror.books().mode is Mode.IDENTICAL


@pytest.mark.broker
@pytest.mark.soak
def test_refusals_without_a_fence_wait_until_nothing_older_can_arrive(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind 256 of them in a day, or without the right to write markers."""
    monkeypatch.setattr(producers, "GENERATIONS", 3)
    mirror.timeout = "2s"
    create(mirror, "skip", at_target=SMALL)
    send_apart(mirror, numbered(20, dict.fromkeys((3, 7, 8, 11, 15, 17), Record(b"k", LARGE))))
    begin(mirror)
    kept = [n for n in range(20) if n not in {3, 7, 8, 11, 15, 17}]
    assert copied(mirror) == [(n, b"%d" % n) for n in kept]
    assert mirror.books().mode is Mode.IDENTICAL
    assert -1 in {each.generation for each in mirror.books().refused}


@pytest.mark.broker
@pytest.mark.soak
@pytest.mark.parametrize("offsets", ["auto", "mapped"])
def test_a_copier_that_leaves_records_out_while_another_opens_is_not_doubled(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch, offsets: str
) -> None:
    """`tests/records/target/test_refused_races.py` does so at every step, without brokers."""
    mirror.records = {"offsets": offsets}
    create(mirror, "skip", at_target=SMALL)
    begin(mirror)
    send_apart(mirror, numbered(10, dict.fromkeys((3, 6), Record(b"k", LARGE))))
    other: list[Summary] = []

    def meanwhile(*_: object) -> None:
        """Let another one copy all, between the looks at the ledger and at the target."""
        monkeypatch.undo()
        other.extend(mirror.catch_up())

    monkeypatch.setattr(Opener, "_define", meanwhile)
    [work] = mirror.slices()
    [done] = copy(replace(work, receipts=0.001))
    assert [(each.error, each.source_end) for each in (*other, done)] == [("", 10)] * 2
    assert [value for _, value in copied(mirror)] == [b"%d" % n for n in (0, 1, 2, 4, 5, 7, 8, 9)]
    assert mirror.books().mode is (Mode.MAPPED if offsets == "mapped" else Mode.IDENTICAL)


@pytest.mark.broker
def test_a_partition_stops_where_the_file_says_nothing(mirror: Mirror) -> None:
    create(mirror, "stop", at_target=SMALL)
    send_apart(mirror, numbered(3, {1: Record(b"k", LARGE)}))
    begin(mirror)
    receipt = mirror.books().receipt
    assert receipt is not None
    assert receipt.trouble is not None
    assert receipt.trouble.code is ReasonCode.RECORD_TOO_LARGE
    assert copied(mirror) == [(0, b"0")]
    mirror.sections = mirror.sections.replace("stop", "skip")
    mirror.catch_up()
    assert copied(mirror) == [(0, b"0"), (2, b"2")]


@pytest.mark.broker
def test_records_of_a_batch_that_are_refused_are_found(mirror: Mirror) -> None:
    """The broker names them: records without a key in a compacted topic."""
    create(mirror, "quarantine", at_target={"cleanup.policy": "compact"})
    keyless = Record(None, b"keyless", (("h", None),), 1_600_000_000_000)
    produce(
        mirror.source.bootstrap, mirror.topic, numbered(20, dict.fromkeys((2, 3, 9, 19), keyless))
    )
    begin(mirror)
    books = mirror.books()
    assert books.mode is Mode.IDENTICAL
    assert [(each.first, each.end) for each in books.refused] == [(2, 4), (9, 10), (19, 20)]
    assert [offset for offset, _ in copied(mirror)] == [
        n for n in range(20) if n not in {2, 3, 9, 19}
    ]
    assert [each.why.code for each in held(mirror)] == [ReasonCode.RECORD_REFUSED] * 4
    assert "INVALID_RECORD" in str(held(mirror)[0].why)


@pytest.mark.broker
def test_records_from_the_future_are_left_out_of_mapped_partitions(mirror: Mirror) -> None:
    mirror.records = {"offsets": "mapped"}
    loose = {"message.timestamp.after.max.ms": str(2**62)}
    create(mirror, "quarantine", at_source=loose, at_target={"message.timestamp.after.max.ms": "1"})
    future = Record(b"k", b"future", (), now_ms() + 86_400_000)
    produce(mirror.source.bootstrap, mirror.topic, numbered(10, {4: future, 5: future}))
    begin(mirror)
    assert [value for _, value in copied(mirror)] == [b"%d" % n for n in (0, 1, 2, 3, 6, 7, 8, 9)]
    aside = held(mirror)
    assert [each.key.offset for each in aside] == [4, 5]
    assert "INVALID_TIMESTAMP" in str(aside[0].why)


@pytest.mark.broker
def test_records_are_left_out_of_transactions(
    tmp_path: Path, source: LocalCluster, refusing_target: LocalCluster, new_name: NewName
) -> None:
    mirror = Refused(tmp_path, source, refusing_target, new_name("transacted"))
    create(mirror, "quarantine", at_target={**SMALL, "cleanup.policy": "compact"})
    keyless = Record(None, b"keyless")
    send_apart(mirror, numbered(8, {2: Record(b"k", LARGE)}))
    produce(mirror.source.bootstrap, mirror.topic, numbered(8, {5: keyless}))
    begin(mirror)
    assert [value for _, value in copied(mirror)] == [
        b"%d" % n for n in (0, 1, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 6, 7)
    ]
    assert [each.key.offset for each in held(mirror)] == [2, 13]
    assert end_offsets(mirror.source.bootstrap, mirror.topic)[1] == 16


@pytest.mark.broker
def test_batches_that_go_to_the_quarantine_as_a_whole_keep_no_mapped_partition_waiting(
    mirror: Mirror,
) -> None:
    mirror.records = {"offsets": "mapped"}
    create(mirror, "stop")
    mirror.sections = (
        f"changes:\n- topics: ['{mirror.topic}']\n  ids: {{framing: to-glue, key: none,"
        f" malformed: quarantine, glue: {{{UUID(int=1)}: 7}}}}\n"
    )
    cut = Record(None, b"\0\0", (("h", b"x" * 5000),))  # else batches are joined
    send_apart(mirror, numbered(5, dict.fromkeys((0, 1, 3, 4), cut)))
    begin(mirror)
    receipt = mirror.books().receipt
    assert receipt is not None
    assert (receipt.source_end, receipt.error) == (5, "")
    assert [value for _, value in copied(mirror)] == [b"2"]
    assert [each.key.offset for each in held(mirror)] == [0, 1, 3, 4]


@pytest.mark.broker
def test_records_with_bad_ids_go_to_the_quarantine(mirror: Mirror, here: Here) -> None:
    """As each copier sees that in their bytes, no decision is needed."""
    create(mirror, "stop")
    mirror.sections = (
        f"changes:\n- topics: ['{mirror.topic}']\n  ids: {{framing: to-glue, key: none,"
        f" malformed: quarantine, glue: {{{UUID(int=1)}: 7}}}}\n"
    )
    zero, cut = Record(b"k", b"\0\0\0\0\0zero", (("h", None),), 5), Record(None, b"\0\0")
    records = numbered(9, {2: zero, 3: zero, 7: cut})
    produce(mirror.source.bootstrap, mirror.topic, records)
    begin(mirror)
    books = mirror.books()
    assert (books.mode, books.refused, books.generation) == (Mode.IDENTICAL, (), 0)
    assert copied(mirror) == [
        (n, each.value) for n, each in enumerate(records) if n not in {2, 3, 7}
    ]
    assert [(each.key.offset, each.why.kind) for each in held(mirror)] == [
        (2, "ID_ZERO"), (3, "ID_ZERO"), (7, "ID_CUT")
    ]  # fmt: skip
    file = str(mirror.folder / f"{mirror.topic}.yaml")
    status = here("status", file)
    assert "3 records set aside in quarantine (ID_CUT, ID_ZERO)" in " ".join(status.out.split())
    [row] = here("status", file, "-o", "json").json["partitions"]
    assert row["set_aside"] == {"quarantined": [["ID_CUT", 1], ["ID_ZERO", 2]], "skipped": []}
    kept = here("quarantine", "replay", file, "--all", "--yes", "--shift", "-o", "json")
    assert kept.code == 3, kept.said
    assert [each["why"].partition("(")[2][:7] for each in kept.json["left"]] == [
        "ID_ZERO", "ID_ZERO", "ID_CUT)"
    ]  # fmt: skip
    mirror.sections = ""
    assert mirror.config.changes == ()
    done = here("quarantine", "replay", file, "--all", "--yes", "--shift")
    assert done.code == 0, done.said
    found = consume(mirror.target.bootstrap, mirror.topic)
    assert [(each.key, each.value, each.headers[:-1]) for each in found[-3:]] == [
        (each.key, each.value, each.headers) for each in (zero, zero, cut)
    ]


@given(st.lists(st.integers(0, 30), unique=True, min_size=1).map(sorted))
def test_runs_are_what_the_offsets_are(offsets: list[int]) -> None:
    def why(offset: SourceOffset, size: int) -> Reason:
        return Reason.of(ReasonCode.TOLD, text=f"{offset} {size}")

    records = tuple(plain.Record(b"k", None, (), 0, offset) for offset in offsets)
    found = list(runs(Refusal(records, why)))
    assert [offset for first, end, _ in found for offset in range(first, end)] == offsets
    assert all(str(reason) == f"{first} 1" for first, _, reason in found)
    assert all(end < first for (_, end, _), (first, _, _) in pairwise(found))


def test_the_offsets_of_records_in_a_batch_with_holes() -> None:
    batch = Batch(
        data=memoryview(b""), frame=None, base=SourceOffset(3), end=SourceOffset(9), count=3,
        sequence=0, crc=0, epoch=0, time=0, pieces=np.array([(3, 1), (7, 2)], np.int64),
    )  # fmt: skip
    assert source_offsets(batch) == (3, 7, 8)
