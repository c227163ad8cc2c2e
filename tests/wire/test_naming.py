"""Counting the schema ids in records: the compiled loop says what plain Python says."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.support.logs.batches import CODECS, at_offsets, batch, joined, numbered
from towpath.wire import framing, naming
from towpath.wire.naming import MOST, IdCounter, IdSample, NamedId, NamedIds, Part
from towpath.wire.opened import open_batches
from towpath.wire.plain import Record

GUIDS = [UUID(int=number) for number in (0, 1, 1 << 127, (1 << 128) - 1, 0xABCDEF << 60)]
NUMBERS = st.sampled_from([1, 2, 17, 255, 256, 70_000, (1 << 31) - 1, 0, -1, -(1 << 31)])
FRAMES = st.one_of(
    NUMBERS.map(lambda number: b"\0" + number.to_bytes(4, "big", signed=True)),
    st.sampled_from(GUIDS).map(lambda guid: b"\1" + guid.bytes),
    st.sampled_from(GUIDS).map(lambda guid: b"\3\0" + guid.bytes),
    st.sampled_from(GUIDS).map(lambda guid: b"\3\5" + guid.bytes),
    st.sampled_from([b"", b"\0", b"\0\0\0\1", b"\1", b"\2\0\0\0\1", b"{}", b"\3\1"]),
)
BYTES = st.one_of(st.none(), st.builds(bytes.__add__, FRAMES, st.binary(max_size=4)))
NAMES = st.sampled_from([framing.KEY_HEADER, framing.VALUE_HEADER, b"__key_schema_ie", b"", b"id"])
RECORD = st.builds(
    Record, key=BYTES, value=BYTES, headers=st.lists(st.tuples(NAMES, BYTES), max_size=4).map(tuple)
)
RECORDS = st.lists(RECORD, min_size=1, max_size=12)


def plainly(records: Sequence[Record], first: int, end: int) -> NamedIds:
    """Say what the loop must say."""
    ids: dict[tuple[Part, int | str], list[int]] = {}
    looked = glue = 0
    for each in records:
        if not first <= each.offset < end:
            continue
        looked += 1
        for part, name, payload in (
            (Part.KEY, framing.KEY_HEADER, each.key),
            (Part.VALUE, framing.VALUE_HEADER, each.value),
        ):
            heads = [None, *(value for head, value in each.headers if head == name)]
            in_header = heads[-1] is not None
            data = (heads[-1] if in_header else payload) or b""
            number = int.from_bytes(data[1:5], "big", signed=True)
            if data[:1] == b"\0" and len(data) >= 5 and number > 0:
                ids.setdefault((part, number), []).append(each.offset)
            elif in_header and data[:1] == b"\1" and len(data) >= 17:
                ids.setdefault((part, str(UUID(bytes=data[1:17]))), []).append(each.offset)
            elif not in_header and data[:2] in (b"\3\0", b"\3\5") and len(data) >= 18:
                glue += 1
    found = (NamedId(*key, len(offsets), min(offsets)) for key, offsets in ids.items())
    return NamedIds(tuple(sorted(found, key=naming._order)), looked, glue=glue)


def counted(
    batches: Sequence[bytes | bytearray], first: int = 0, end: int = 1 << 60, *, one_in: int = 1
) -> NamedIds:
    counter = IdCounter(IdSample(one_in, 5))
    counter.count(open_batches(*joined(batches)), first, end)
    return counter.found


@given(RECORDS, st.sampled_from(CODECS), st.data())
def test_the_loop_counts_what_plain_python_counts(
    some: list[Record], codec: int, data: st.DataObject
) -> None:
    steps = data.draw(st.lists(st.integers(1, 3), min_size=len(some), max_size=len(some)))
    records = at_offsets(some, np.cumsum(steps).tolist())
    first = data.draw(st.integers(0, 20))
    end = data.draw(st.integers(first, 40))
    cut = data.draw(st.integers(0, len(records)))
    parts = [batch(part, codec) for part in (records[:cut], records[cut:]) if part]
    assert counted(parts, first, end) == plainly(records, first, end)


@given(RECORDS, RECORDS, RECORDS)
def test_parts_join_to_the_whole(one: list[Record], two: list[Record], three: list[Record]) -> None:
    whole = numbered([*one, *two, *three])
    ends = 0, len(one), len(one) + len(two), len(whole)
    a, b, c = (counted([batch(whole[ends[i] : ends[i + 1]])]) for i in range(3))
    assert a.then(b).then(c) == a.then(b.then(c)) == c.then(NamedIds()).then(a).then(b)
    assert a.then(b).then(c) == counted([batch(whole)])


def test_random_bytes_take_no_more_room_than_there_is() -> None:
    keys = [b"\0" + number.to_bytes(4, "big") for number in range(1, MOST + 501)]
    records = numbered([Record(key, b"\0\0\0\0\7!") for key in keys])
    found = counted([batch(records)])
    assert (len(found.ids), found.more(Part.KEY), found.more(Part.VALUE)) == (MOST + 1, 500, 0)
    assert found.ids[-1] == NamedId(Part.VALUE, 7, MOST + 500, 0)
    again = found.then(counted([batch(at_offsets(records[-600:], range(20_000, 20_600)))]))
    assert (len(again.ids), again.more(Part.KEY)) == (MOST + 1, 1_000)
    assert sum(each.records for each in again.ids) + 1_000 == 2 * (MOST + 500 + 600)


@given(st.integers(2, 50))
def test_one_in_n_records_are_the_same_ones_in_any_batches(one_in: int) -> None:
    records = numbered([Record(None, b"\0\0\0\1" + bytes([i % 200])) for i in range(2_000)])
    whole = counted([batch(records)], one_in=one_in)
    assert whole.looked == sum(each.records for each in whole.ids)
    assert 0.5 < whole.looked * one_in / 2_000 < 1.7
    some = [batch(records[at : at + 7]) for at in range(0, 2_000, 7)]
    assert counted(some, one_in=one_in) == whole
    counter = IdCounter(IdSample(one_in, 5))
    bases = np.arange(0, 2_000, 7)
    chosen = counter.chosen(bases, np.minimum(bases + 6, 1_999))
    wanted = [each for each, is_chosen in zip(some, chosen, strict=True) if is_chosen]
    assert counted(wanted, one_in=one_in) == whole
    assert one_in < 10 or len(wanted) < len(some)
