"""Compiled loops that change records: one pass over batches, or ids in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from towpath.wire import framing, opened, program, rows, translate, varint
from towpath.wire.batch import CONTROL, LOG_APPEND_TIME
from towpath.wire.heading import VALUE_AT, put_header_id
from towpath.wire.judging import id_header, judge
from towpath.wire.loops import READ_ONLY, inlined, loop
from towpath.wire.report import AT, HALT_OFFSET, KEPT, keep_until
from towpath.wire.writing import put_record

FIRST, LAST, IN_PLACE = range(3)
"""Places of the bounds: first offset, offset behind the last one, whether no byte moves."""
REASONS = (
    "",
    "a control batch holds no records",
    "a record does not fit its batch",
    "a key, value or header does not fit its record",
    "bytes behind the last record",
)
_PROGRAM = (
    f"Tuple(({READ_ONLY}, int64[::1], int64[:, ::1], int64[:, ::1], int64[:, ::1], int64[:, ::1]))"
)
_TABLES = f"Tuple((int64[:, ::1], int64[:, ::1], int64[::1], int64[:, ::1], {READ_ONLY}))"
_SCRATCH = "Tuple((int64[::1], int64[:, ::1], int64[:, ::1], int64[::1], int64[::1]))"
_REPORT = "Tuple((int64[::1], int64[:, ::1], int64[:, ::1], int64[:, ::1], int64[:, ::1]))"


@inlined
def _read(data: Any, position: Any, stop: Any, batch: Any, scratch: Any) -> Any:
    """Fill row and place of a record. Returns its end, or minus the number of what is wrong."""
    row, place = scratch[0], scratch[4]
    length, head = varint.fast_read(data, position, stop)
    if head < 0 or length < 1 or length > stop - head:
        return np.int64(-2)
    if not rows.parse_record(data, head, head + length, row):
        return np.int64(-3)
    place[2], place[3], place[6] = row[rows.TIME], row[rows.OFFSET], data[head]
    place[7] = head
    row[rows.TIME] += batch[opened.FIRST_TIME]
    if batch[opened.ATTRIBUTES] & LOG_APPEND_TIME:
        row[rows.TIME] = batch[opened.MAX_TIME]
    place[0], place[1] = row[rows.OFFSET] + batch[opened.BASE], row[rows.TIME]
    return head + length


@inlined
def _patch(prog: Any, scratch: Any, report: Any, out: Any) -> None:
    """Write the new ids of a record over the old ones, in the order of their places."""
    row, marks, edits = scratch[0], scratch[1], scratch[2]
    for part in range(2):
        if edits[part, translate.FRAME]:
            at = row[rows.KEY_AT] if part == program.KEY else row[rows.VALUE_AT]
            framing.put_word(out, at + 1, 4, edits[part, translate.TO_LOW])
            keep_until(report, at + 1, 4)
    if not (edits[2, translate.FRAME] or edits[3, translate.FRAME]):
        return
    key, value = id_header(prog[2], program.KEY), id_header(prog[2], program.VALUE)
    swapped = key >= 0 and value >= 0 and marks[value, VALUE_AT] < marks[key, VALUE_AT]
    for turn in range(2):
        part = 1 - turn if swapped else turn
        if edits[2 + part, translate.FRAME]:
            at = marks[key if part == program.KEY else value, VALUE_AT]
            put_header_id(out, at, edits[2 + part])
            keep_until(report, at + 1, edits[2 + part, translate.FRAME] - 1)


@inlined
def _change_batch(
    data: Any,
    batch: Any,
    bounds: Any,
    prog: Any,
    tables: Any,
    scratch: Any,
    report: Any,
    out: Any,
    made: Any,
) -> Any:
    """Change the records of one batch. Returns the number of what is wrong, or 0."""
    state, place = report[0], scratch[4]
    position, stop = batch[opened.START], batch[opened.END]
    made[opened.START], made[opened.COUNT] = state[AT], 0
    for _ in range(batch[opened.COUNT]):
        start = position
        position = _read(data, start, stop, batch, scratch)
        if position < 0:
            return -position
        if place[0] < bounds[FIRST]:
            continue
        if place[0] >= bounds[LAST] or state[HALT_OFFSET] >= 0:
            position = stop
            break
        if not judge(data, start, position, prog, tables, scratch, report):
            continue
        if bounds[IN_PLACE]:
            _patch(prog, scratch, report, out)
        else:
            state[AT] = put_record(
                data, start, position, prog, tables, scratch, report, out, state[AT]
            )
        made[opened.COUNT] += 1
        state[KEPT] += 1
    if bounds[IN_PLACE]:
        keep_until(report, stop, 0)
    made[opened.END] = state[AT]
    return 0 if position == stop else 4


@loop(
    f"UniTuple(int64, 2)({READ_ONLY}, int64[:, ::1], int64[::1], {_PROGRAM}, {_TABLES}, {_SCRATCH},"
    f" {_REPORT}, uint8[::1], int64[:, ::1])",
)
def change_records(
    data: Any,
    batches: Any,
    bounds: Any,
    prog: Any,
    tables: Any,
    scratch: Any,
    report: Any,
    out: Any,
    made: Any,
) -> Any:
    """Write changed records to `out`, and their batches to `made`; return an error if any.

    In place, `out` is a copy of `data` in which only ids are overwritten: all records must be kept
    then, and no size may change. Returns the bad source batch and the number of the reason, or -1
    and 0.
    """
    for b in range(len(batches)):
        if batches[b, opened.ATTRIBUTES] & CONTROL:
            return b, 1
        reason = _change_batch(
            data, batches[b], bounds, prog, tables, scratch, report, out, made[b]
        )
        if reason:
            return b, reason
    return -1, 0


@loop(f"int64({READ_ONLY}, int64[:, ::1], boolean, boolean, int64[::1], int64[:, ::1])")
def find_packed(data: Any, batches: Any, keys: Any, values: Any, row: Any, found: Any) -> Any:
    """Locate payloads that Glue's serializer compressed: position and size of each part.

    Damaged records are left to the loop that changes them. Returns how many are found.
    """
    count = 0
    for b in range(len(batches)):
        position, stop = batches[b, opened.START], batches[b, opened.END]
        for _ in range(batches[b, opened.COUNT]):
            length, head = varint.fast_read(data, position, stop)
            if head < 0 or length < 1 or length > stop - head:
                break
            position = head + length
            if not rows.parse_record(data, head, position, row):
                break
            for part in range(2):
                at = row[rows.KEY_AT] if part == program.KEY else row[rows.VALUE_AT]
                size = row[rows.KEY_SIZE] if part == program.KEY else row[rows.VALUE_SIZE]
                if not (keys if part == program.KEY else values) or size < framing.GLUE_SIZE:
                    continue
                if data[at] == framing.GLUE and data[at + 1] == framing.ZLIB:
                    found[count, 0], found[count, 1] = at, size
                    count += 1
    return count
