"""The compiled changes of records are those of their twin in plain Python."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.logs.batches import at_offsets, batch, damages, joined, numbered
from tests.support.logs.changing import Decisions, Twin
from tests.support.logs.random_changes import (
    DECIDED,
    DECISIONS,
    IDS,
    ORIGIN,
    PASSING,
    UUIDS,
    WITH_IDS,
    changes,
    logs,
)
from towpath.model.changes import (
    AddedHeader,
    BytesMatch,
    DropRule,
    Framing,
    HeaderContent,
    IdChange,
    Malformed,
    RecordChange,
)
from towpath.model.errors import CorruptBatchError
from towpath.model.nouns import ClusterId
from towpath.wire import header, opened, plain
from towpath.wire.batch import LOG_APPEND_TIME, NO_END, BatchHeader
from towpath.wire.change import ChangedRecords, Changer
from towpath.wire.codec import NAMES
from towpath.wire.ids import IdTable
from towpath.wire.opened import OpenedBatches, open_batches
from towpath.wire.plain import Record
from towpath.wire.reencode import reencode_opened
from towpath.wire.tally import NOTHING_DONE, OffsetTally


def opened_of(log: Sequence[bytes | bytearray]) -> OpenedBatches:
    return open_batches(*joined(log))


def read(made: OpenedBatches) -> list[Record]:
    """Read opened batches with the readable codec."""
    found: list[Record] = []
    for row in made.batches.tolist():
        data = made.data[row[opened.START] : row[opened.END]].tobytes()
        position = 0
        for _ in range(row[opened.COUNT]):
            length, position = plain.read_varint(data, position)
            one = data[position - len(varint(length)) : position + length]
            found.append(record_of(one, row))
            position += length
        assert position == len(data)
    return found


def varint(value: int) -> bytes:
    out = bytearray()
    plain.write_varint(out, value)
    return bytes(out)


def record_of(data: bytes, row: list[int]) -> Record:
    """Read one record, length included, of a batch with these header fields."""
    single = header.sealed(
        data, attributes=row[opened.ATTRIBUTES] & LOG_APPEND_TIME, count=1,
        times=(row[opened.FIRST_TIME], row[opened.MAX_TIME]), base_offset=row[opened.BASE],
    )  # fmt: skip
    (record,) = plain.decode(single)
    return record


def same(found: ChangedRecords, twin: Twin, source: Sequence[Record]) -> None:
    told = twin.apply(source)
    names = {(each.part, each.name) for each in found.unknown}
    assert bool(names) == bool(told.unknown)
    assert names <= told.unknown
    if names:
        return
    assert read(found.opened) == told.kept
    assert found.kept == len(told.kept)
    assert dict(found.tally.by_kind()) == +told.counts
    assert [(each.offset, each.code) for each in found.aside] == told.aside
    assert (found.halt and (found.halt.offset, found.halt.code)) == told.halt


@given(logs(), changes(), DECISIONS, DECISIONS, st.data())
def test_it_does_what_its_twin_does(
    log: list[bytearray],
    change: RecordChange,
    key: Decisions,
    value: Decisions,
    data: st.DataObject,
) -> None:
    source = [record for raw in log for record in plain.decode(raw)]
    places = [record.offset for record in source]
    out = frozenset(data.draw(st.lists(st.sampled_from(places or [0]), max_size=2)))
    first = data.draw(st.sampled_from([0, *places]))
    end = data.draw(st.sampled_from([2**62, *places]))
    changer = Changer(
        change=change,
        origin=ORIGIN,
        ids=IdTable.of(key, value, PASSING),
        left_out=np.array(sorted(out), np.int64),
    )
    before = opened_of(log)
    copy = before.data.tobytes()
    found = changer.apply(before, first, end)
    assert before.data.tobytes() == copy
    within = [record for record in source if first <= record.offset < end]
    same(found, Twin(change, ORIGIN, key, value, out, PASSING), within)


@given(logs(WITH_IDS), st.builds(RecordChange, ids=IDS), DECIDED, DECIDED)
def test_ids_become_what_they_become_by_its_twin(
    log: list[bytearray], change: RecordChange, key: Decisions, value: Decisions
) -> None:
    source = [record for raw in log for record in plain.decode(raw)]
    for malformed in Malformed:
        assert change.ids is not None
        tried = replace(change, ids=replace(change.ids, malformed=malformed))
        changer = Changer(change=tried, origin=ORIGIN, ids=IdTable.of(key, value, PASSING))
        twin = Twin(tried, ORIGIN, key, value, passing=PASSING)
        same(changer.apply(opened_of(log)), twin, source)


@given(logs(), changes(), DECISIONS, DECISIONS, st.data())
def test_how_records_are_split_into_batches_does_not_matter(
    log: list[bytearray],
    change: RecordChange,
    key: Decisions,
    value: Decisions,
    data: st.DataObject,
) -> None:
    changer = Changer(change=change, origin=ORIGIN, ids=IdTable.of(key, value))
    whole = changer.apply(opened_of(log))
    if whole.unknown or whole.halt:
        return
    cut = data.draw(st.integers(0, len(log)))
    parts = [changer.apply(opened_of(part)) for part in (log[:cut], log[cut:]) if part]
    assert [record for part in parts for record in read(part.opened)] == read(whole.opened)
    assert [each for part in parts for each in part.aside] == list(whole.aside)
    added = reduce(OffsetTally.then, (part.tally for part in parts), NOTHING_DONE)
    assert added.by_kind() == whole.tally.by_kind()
    edge = data.draw(st.sampled_from([r.offset for raw in log for r in plain.decode(raw)] or [0]))
    halves = changer.apply(opened_of(log), 0, edge), changer.apply(opened_of(log), edge)
    assert [record for half in halves for record in read(half.opened)] == read(whole.opened)
    ends = sorted(data.draw(st.lists(st.integers(0, edge + 9), max_size=3)))
    for cuts in ([edge, NO_END], [*ends, NO_END]):
        made = whole.tally.cut(cuts)
        assert reduce(OffsetTally.then, made, NOTHING_DONE).by_kind() == whole.tally.by_kind()
    below, above = whole.tally.cut([edge, NO_END])
    assert [below.by_kind(), above.by_kind()] == [half.tally.by_kind() for half in halves]


@given(logs(), changes(), DECISIONS)
def test_what_is_written_is_what_was_changed(
    log: list[bytearray], change: RecordChange, value: Decisions
) -> None:
    changed = Changer(change=change, origin=ORIGIN, ids=IdTable.of({}, value)).apply(opened_of(log))
    expected = read(changed.opened)
    found: list[Record] = []
    for dense in reencode_opened(changed.opened, max_bytes=200):
        places = [first + i for first, count in dense.offsets.tolist() for i in range(count)]
        found += at_offsets(plain.decode(dense.batch), places)
        codec = BatchHeader.read(dense.batch).attributes
        assert change.codec is None or codec == NAMES.index(change.codec)
    assert found == expected


FULL = RecordChange(
    drop=(
        DropRule(name="key", key=BytesMatch(prefixes=("k9",))),
        DropRule(name="home", provenance="prov"),
        DropRule(name="header", header="a", value=BytesMatch(equal=("x",))),
    ),
    ids=IdChange(malformed=Malformed.QUARANTINE),
    redact=("bb",),
    headers=(
        AddedHeader(name="a", content=HeaderContent.CHAIN),
        AddedHeader(name="new", content=HeaderContent.OFFSET),
        AddedHeader(name="prov", content=HeaderContent.REDPANDA_PROVENANCE),
    ),
)
GLUED = RecordChange(ids=IdChange(framing=Framing.FROM_GLUE))
HOSTILE = numbered(
    [
        Record(b"\0\0\0\0\1k", b"\0\0\0\0\2v", ((b"a", b"x"), (b"bb", None)), 5),
        Record(b"\3\0" + UUIDS[0].bytes, b"\3\5" + UUIDS[0].bytes + zlib.compress(b"v"), (), 5),
        Record(None, b"", ((b"__value_schema_id", b"\1" + UUIDS[0].bytes), (b"bb", b"q")), 6),
    ]
)


@pytest.mark.parametrize("change", [FULL, GLUED, RecordChange(ids=IdChange())])
def test_hostile_bytes_are_refused_or_read_never_worse(change: RecordChange) -> None:
    ids = IdTable.of({1: 2, UUIDS[0]: 3}, {2: 5, UUIDS[0]: UUIDS[1]})
    changer = Changer(change=change, origin=ORIGIN, ids=ids)
    refused = 0
    for damaged in damages(batch(HOSTILE)):
        try:
            source = open_batches(*joined([damaged]))
        except CorruptBatchError:
            continue
        try:
            changed = changer.apply(source)
        except CorruptBatchError:
            refused += 1
            continue
        assert changed.opened.size() <= len(changed.opened.data)
        assert changed.kept == changed.opened.batches[:, opened.COUNT].sum()
    assert refused > 50


def test_a_second_try_translates_nothing_twice() -> None:
    """Ids of the target are often ids of the source, too."""
    source = opened_of([batch(numbered([Record(None, b"\0\0\0\0\1v")]))])
    changer = Changer(
        change=RecordChange(ids=IdChange()), origin=ORIGIN, ids=IdTable.of({}, {1: 2, 2: 3})
    )
    tries = [read(changer.apply(source).opened) for _ in range(3)]
    assert [record.value for (record,) in tries] == [b"\0\0\0\0\2v"] * 3


def test_a_header_that_names_the_schema_makes_the_payload_plain() -> None:
    guid = UUIDS[0].bytes
    record = Record(None, b"\0\0\0\0\1v", ((b"__value_schema_id", b"\1" + guid + b"\2\0"),))
    ids = IdTable.of({}, {1: 2, UUIDS[0]: UUIDS[1]})
    changer = Changer(change=RecordChange(ids=IdChange()), origin=ORIGIN, ids=ids)
    (found,) = read(changer.apply(opened_of([batch(numbered([record]))])).opened)
    assert found.value == record.value
    assert found.headers == ((b"__value_schema_id", b"\1" + UUIDS[1].bytes + b"\2\0"),)
    nothing = Record(None, record.value, ((b"__value_schema_id", None),))
    (found,) = read(changer.apply(opened_of([batch(numbered([nothing]))])).opened)
    assert found.value == b"\0\0\0\0\2v"


def test_glue_and_confluent_are_each_others_reverse() -> None:
    payload = b"payload" * 20
    glue = b"\3\0" + UUIDS[2].bytes + payload
    packed = b"\3\5" + UUIDS[2].bytes + zlib.compress(payload)
    there = Changer(change=GLUED, origin=ORIGIN, ids=IdTable.of({}, {UUIDS[2]: 9}))
    source = [batch(numbered([Record(None, glue), Record(None, packed)]), codec=3)]
    found = read(there.apply(opened_of(source)).opened)
    assert [record.value for record in found] == [b"\0\0\0\0\x09" + payload] * 2
    back = Changer(
        change=RecordChange(ids=IdChange(framing=Framing.TO_GLUE)),
        origin=ORIGIN,
        ids=IdTable.of({}, {9: UUIDS[2]}),
    )
    (again, _) = read(back.apply(opened_of([batch(numbered(found))])).opened)
    assert again.value == glue


def test_headers_of_redpandas_migrator() -> None:
    change = RecordChange(
        headers=(
            AddedHeader(name="p", content=HeaderContent.REDPANDA_PROVENANCE),
            AddedHeader(name="o", content=HeaderContent.REDPANDA_OFFSET),
        )
    )
    records = at_offsets(
        [
            Record(None, b"v"),
            Record(None, b"v", ((b"p", b"first"), (b"o", b"old"), (b"z", None))),
            Record(None, b"v", ((b"p", b""),)),
        ],
        [2**40, 2**40 + 7, 2**40 + 8],
    )
    found = read(Changer(change=change, origin=ORIGIN).apply(opened_of([batch(records)])).opened)
    assert [record.headers for record in found] == [
        ((b"p", b"here"), (b"o", (2**40).to_bytes(8, "big"))),
        ((b"p", b"first"), (b"o", (2**40 + 7).to_bytes(8, "big")), (b"z", None)),
        ((b"p", b"here"), (b"o", (2**40 + 8).to_bytes(8, "big"))),
    ]


@pytest.mark.parametrize("chain", [False, True])
def test_records_go_round_a_ring_of_clusters_once(chain: bool) -> None:
    """Each link drops what comes from its target; the first cluster, or all of them, is named."""
    ring = ["a", "b", "c", "d"]
    content = HeaderContent.CHAIN if chain else HeaderContent.REDPANDA_PROVENANCE
    change = RecordChange(
        drop=(DropRule(name="home", provenance="p"),),
        headers=(AddedHeader(name="p", content=content),),
    )
    records = [*numbered([Record(None, b"%d" % n) for n in range(3)])]
    for here, home in zip(ring, [*ring[1:], ring[0]], strict=True):
        assert len(records) == 3, here
        origin = replace(ORIGIN, source_cluster=ClusterId(here), target_cluster=ClusterId(home))
        found = Changer(change=change, origin=origin).apply(opened_of([batch(tuple(records))]))
        records = read(found.opened)
        named = "a,b,c,d".partition(home)[0].strip(",") if chain else "a"
        assert {record.headers for record in records} <= {((b"p", named.encode()),)}
    assert records == [], "nothing comes home"


def test_many_unknown_ids_are_named_a_few_at_a_time() -> None:
    some = [Record(None, b"\0" + number.to_bytes(4, "big")) for number in range(1, 500)]
    changer = Changer(change=RecordChange(ids=IdChange()), origin=ORIGIN)
    found = changer.apply(opened_of([batch(numbered(some))])).unknown
    assert len(found) == 64
    assert {each.name for each in found} == set(range(1, 65))


def test_two_headers_of_one_name_are_refused() -> None:
    change = RecordChange(headers=(AddedHeader(name="a"), AddedHeader(name="a")))
    with pytest.raises(ValueError, match="same name"):
        Changer(change=change, origin=ORIGIN)


def test_a_damaged_payload_that_passes_stays_whole_in_a_record_that_gets_headers() -> None:
    change = RecordChange(
        ids=IdChange(framing=Framing.FROM_GLUE), headers=(AddedHeader(name="new", text="x"),)
    )
    record = Record(b"k", b"\3\5" + UUIDS[0].bytes + b"is not zlib", (), 1)
    changer = Changer(change=change, origin=ORIGIN, ids=IdTable.of(value={UUIDS[0]: 7}))
    found = changer.apply(opened_of([batch([record])]))
    assert found.tally.by_kind() == (("bad_ids:GLUE_DAMAGED", 1), ("headers", 1))
    assert [each.value for each in read(found.opened)] == [record.value]


def test_a_rule_since_1970_means_no_record_without_timestamp() -> None:
    change = RecordChange(drop=(DropRule(name="since", since=0),))
    records = [Record(None, b"v", (), timestamp) for timestamp in (-1, 0, 5)]
    found = Changer(change=change, origin=ORIGIN).apply(opened_of([batch(numbered(records))]))
    assert [each.timestamp for each in read(found.opened)] == [-1]


@pytest.mark.parametrize(
    ("rule", "stay"),
    [
        (DropRule(name="before", before=1000), [-1, 1000, 2**63 - 1]),
        (DropRule(name="since", since=1000), [-(2**62), -2, -1, 0]),
        (DropRule(name="both", since=0, before=1000), [-(2**62), -2, -1, 1000, 2**63 - 1]),
    ],
)
def test_times_before_1970_and_the_last_one_are_times(rule: DropRule, stay: list[int]) -> None:
    """Only -1 means that a record has none."""
    change = RecordChange(drop=(rule,))
    times = (-(2**62), -2, -1, 0, 1000, 2**63 - 1)
    for time in times:
        found = Changer(change=change, origin=ORIGIN).apply(
            opened_of([batch(numbered([Record(None, b"v", (), time)]))])
        )
        assert [each.timestamp for each in read(found.opened)] == [time] * (time in stay)


def test_rules_of_one_name_count_together() -> None:
    rules = [DropRule(name="key", key=BytesMatch(equal=(key,))) for key in ("a", "b")]
    change = RecordChange(drop=tuple(rules))
    records = [Record(key, b"v", (), 1) for key in (b"a", b"a", b"b", b"c")]
    found = Changer(change=change, origin=ORIGIN).apply(opened_of([batch(numbered(records))]))
    assert found.tally.by_kind() == (("dropped:key", 3),)


def test_a_payload_beside_a_header_with_its_schema_is_left_alone_if_headers_are() -> None:
    change = RecordChange(ids=IdChange(headers=False))
    named = (b"__value_schema_id", b"\1" + UUIDS[0].bytes)
    record = Record(b"k", b"\0\0\0\0\1plain", (named,), 1)
    changer = Changer(change=change, origin=ORIGIN, ids=IdTable.of(value={1: 2}))
    assert read(changer.apply(opened_of([batch([record])])).opened) == [record]
