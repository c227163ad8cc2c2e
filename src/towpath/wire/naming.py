"""Counts of the schema ids in records, without decoding the records.

Records in AWS Glue's form are counted only, as no registry with Confluent's interface has their
schemas (`framing`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any
from uuid import UUID

import numpy as np

from towpath.wire.batch import Mask, Table
from towpath.wire.copying import same
from towpath.wire.framing import (
    CONFLUENT_SIZE,
    GLUE,
    GLUE_SIZE,
    GUID_SIZE,
    KEY_HEADER,
    VALUE_HEADER,
    ZLIB,
    word,
)
from towpath.wire.loops import READ_ONLY, inlined, loop
from towpath.wire.opened import OpenedBatches
from towpath.wire.rows import (
    HEADERS,
    HEADERS_AT,
    KEY_AT,
    KEY_SIZE,
    OFFSET,
    VALUE_AT,
    VALUE_SIZE,
    parse,
    piece,
)

MOST = 10_000
"""Most different ids of keys that are kept, and of values. More of them are no ids, but random."""

_KEY, _VALUE = range(2)
_NUMBER, _GUID = 1, 2
_PART, _KIND, _HIGH, _LOW, _COUNT, _FIRST = range(6)
"""Columns of the table, an open-addressing hash table; the kind of an empty slot is 0."""
_SLOTS = 1 << 15
_USED, _FURTHER, _LOOKED, _GLUE = 0, 2, 4, 5
"""Places in the state; the first two are those of keys, and those of values follow them."""
_HALF = 1 << 64
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio
_KEY_NAME = np.frombuffer(KEY_HEADER, np.uint8)
_VALUE_NAME = np.frombuffer(VALUE_HEADER, np.uint8)


class Part(StrEnum):
    """The part of a record, key or value, that a schema id belongs to."""

    KEY = "key"
    VALUE = "value"


@dataclass(frozen=True, slots=True, order=True)
class NamedId:
    """A schema id, and the number of records that carry it.

    Attributes:
        part: Whether it is the schema of the key or of the value.
        id: A number, or a GUID as text.
        records: How many records name it.
        first: Offset of the first of them.
        change: The digest of the change under which they were copied, "" for none.
    """

    part: Part
    id: int | str
    records: int
    first: int
    change: str = ""


@dataclass(frozen=True, slots=True)
class NamedIds:
    """The schema ids that some records carry.

    Attributes:
        ids: Each of them, at most `MOST` of keys and as many of values.
        looked: How many records were looked at.
        more_keys: How many keys named ids for which there was no room.
        more_values: How many values did.
        glue: How many keys and values name a schema of AWS Glue.
    """

    ids: tuple[NamedId, ...] = ()
    looked: int = 0
    more_keys: int = 0
    more_values: int = 0
    glue: int = 0

    def then(self, other: NamedIds) -> NamedIds:
        """Return the schema ids of both parts together."""
        joined = _joined((*self.ids, *other.ids))
        kept, more = list[NamedId](), [self.more_keys, self.more_values]
        for which, part in enumerate(Part):
            ids = [each for each in joined if each.part is part]
            kept += ids[:MOST]
            more[which] += sum(each.records for each in ids[MOST:])
        return NamedIds(
            tuple(kept),
            self.looked + other.looked,
            more[_KEY] + other.more_keys,
            more[_VALUE] + other.more_values,
            self.glue + other.glue,
        )

    def more(self, part: Part) -> int:
        """Return the number of keys or values whose ids did not fit into the table."""
        return self.more_keys if part is Part.KEY else self.more_values


@dataclass(frozen=True, slots=True)
class IdSample:
    """The sampling of records: one in `one_in`, the same ones for the same seed."""

    one_in: int = 1
    seed: int = 0


class IdCounter:
    """Counts the schema ids that records carry."""

    def __init__(self, sample: IdSample) -> None:
        self._sample = sample
        self._table = np.zeros((_SLOTS, 6), np.int64)
        self._state = np.zeros(6, np.int64)

    def chosen(self, bases: Table, lasts: Table) -> Mask:
        """Return a mask of the batches that hold a sampled record.

        Args:
            bases: First offset of each batch.
            lasts: Last offset of each batch.
        """
        found = np.ones(len(bases), np.bool_)
        if self._sample.one_in > 1:
            _choose(bases, lasts, self._sample.one_in, self._sample.seed, found)
        return found

    def count(self, opened: OpenedBatches, first: int, end: int) -> None:
        """Count the schema ids of records with offsets in [first, end).

        Raises:
            CorruptBatchError: The bytes are not records; nothing of them is counted.
        """
        sample = self._sample
        bounds = np.array([first, end, sample.one_in, sample.seed], np.int64)
        _count(opened.data, parse(opened), bounds, self._table, self._state)

    @property
    def found(self) -> NamedIds:
        """The schema ids found so far, and the counts of records without one."""
        rows = self._table[self._table[:, _KIND] > 0]
        ids = sorted(map(_named, rows.tolist()), key=_order)
        state = list(map(int, self._state))
        return NamedIds(
            tuple(ids),
            state[_LOOKED],
            state[_FURTHER + _KEY],
            state[_FURTHER + _VALUE],
            state[_GLUE],
        )


def _named(row: list[int]) -> NamedId:
    guid = UUID(int=(row[_HIGH] % _HALF) << 64 | row[_LOW] % _HALF)
    name = row[_LOW] if row[_KIND] == _NUMBER else str(guid)
    return NamedId((Part.KEY, Part.VALUE)[row[_PART]], name, row[_COUNT], row[_FIRST])


def _order(each: NamedId) -> tuple[str, bool, int | str, str]:
    return each.part, isinstance(each.id, str), each.id, each.change


def _joined(ids: Iterable[NamedId]) -> tuple[NamedId, ...]:
    found: dict[tuple[Part, int | str, str], NamedId] = {}
    for each in ids:
        key = each.part, each.id, each.change
        had = found.get(key)
        records, first = (had.records, had.first) if had is not None else (0, each.first)
        found[key] = replace(each, records=records + each.records, first=min(first, each.first))
    return tuple(sorted(found.values(), key=_order))


@inlined
def _mixed(word: Any) -> Any:
    word = (word ^ (word >> np.uint64(32))) * _MIX
    word = (word ^ (word >> np.uint64(29))) * _MIX
    return word ^ (word >> np.uint64(32))


@inlined
def _is_chosen(offset: Any, one_in: Any, seed: Any) -> Any:
    if one_in == 1:
        return True
    mixed = _mixed(np.uint64(offset) + np.uint64(seed) * _MIX)
    return mixed % np.uint64(one_in) == np.uint64(0)


@loop("void(int64[::1], int64[::1], int64, int64, boolean[::1])")
def _choose(bases: Any, lasts: Any, one_in: Any, seed: Any, found: Any) -> None:
    for index in range(len(bases)):
        found[index] = False
        for offset in range(bases[index], lasts[index] + 1):
            if _is_chosen(offset, one_in, seed):
                found[index] = True
                break


@inlined
def _slot(table: Any, part: Any, kind: Any, high: Any, low: Any) -> Any:
    """Return the slot of an id, or the empty one where it belongs."""
    mixed = np.uint64(low) + _mixed(np.uint64(high) + np.uint64(2 * kind + part))
    slot = np.int64(_mixed(mixed) % np.uint64(_SLOTS))
    while True:
        row = table[slot]
        same = row[_LOW] == low and row[_HIGH] == high and row[_PART] == part
        if row[_KIND] == 0 or (same and row[_KIND] == kind):
            return slot
        slot = (slot + 1) % _SLOTS


@inlined
def _add(table: Any, state: Any, part: Any, kind: Any, high: Any, low: Any, offset: Any) -> None:
    row = table[_slot(table, part, kind, high, low)]
    if row[_KIND] == 0:
        if state[_USED + part] >= MOST:
            state[_FURTHER + part] += 1
            return
        state[_USED + part] += 1
        row[_PART], row[_KIND], row[_HIGH], row[_LOW] = part, kind, high, low
        row[_FIRST] = offset
    row[_COUNT] += 1
    row[_FIRST] = min(row[_FIRST], offset)


@inlined
def _numbered(data: Any, at: Any, size: Any, part: Any, offset: Any, table: Any, state: Any) -> Any:
    """Count a number behind a zero. Returns whether there is one."""
    if size < CONFLUENT_SIZE or data[at] != 0:
        return False
    number = np.int64(np.int32(word(data, at + 1, 4)))
    if number <= 0:
        return False
    _add(table, state, part, _NUMBER, np.int64(0), number, offset)
    return True


@inlined
def _in_payload(
    data: Any, at: Any, size: Any, part: Any, offset: Any, table: Any, state: Any
) -> None:
    if _numbered(data, at, size, part, offset, table, state):
        return
    glue = size >= GLUE_SIZE and data[at] == GLUE
    if glue and (data[at + 1] == 0 or data[at + 1] == ZLIB):
        state[_GLUE] += 1


@inlined
def _in_header(
    data: Any, at: Any, size: Any, part: Any, offset: Any, table: Any, state: Any
) -> None:
    if size >= GUID_SIZE and data[at] == 1:
        high, low = word(data, at + 1, 8), word(data, at + 9, 8)
        _add(table, state, part, _GUID, high, low, offset)
    else:
        _numbered(data, at, size, part, offset, table, state)


@inlined
def _is(data: Any, at: Any, size: Any, name: Any) -> Any:
    return size == len(name) and same(data, at, name, 0, size)


@inlined
def _headers(data: Any, position: Any, count: Any, found: Any) -> None:
    """Find the last header for the schema of the key, and that of the value, if not null."""
    found[:] = -1
    end = np.int64(len(data))
    for _ in range(count):
        name_size, name_at, position = piece(data, position, end)
        size, at, position = piece(data, position, end)
        if _is(data, name_at, name_size, _KEY_NAME):
            found[_KEY, 0], found[_KEY, 1] = at if size >= 0 else -1, size
        elif _is(data, name_at, name_size, _VALUE_NAME):
            found[_VALUE, 0], found[_VALUE, 1] = at if size >= 0 else -1, size


@loop(f"void({READ_ONLY}, int64[:, ::1], int64[::1], int64[:, ::1], int64[::1])", allocates=True)
def _count(data: Any, rows: Any, bounds: Any, table: Any, state: Any) -> None:
    """Count what records name. `bounds` are first offset, end, one in how many, and seed."""
    first, end, one_in, seed = bounds[0], bounds[1], bounds[2], bounds[3]
    places = np.empty((2, 2), np.int64)
    for index in range(len(rows)):
        row = rows[index]
        offset = row[OFFSET]
        if offset < first or offset >= end or not _is_chosen(offset, one_in, seed):
            continue
        state[_LOOKED] += 1
        _headers(data, row[HEADERS_AT], row[HEADERS], places)
        for part in range(2):
            if places[part, 0] >= 0:
                _in_header(data, places[part, 0], places[part, 1], part, offset, table, state)
            elif part == _KEY:
                _in_payload(data, row[KEY_AT], row[KEY_SIZE], part, offset, table, state)
            else:
                _in_payload(data, row[VALUE_AT], row[VALUE_SIZE], part, offset, table, state)
