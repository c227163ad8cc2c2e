"""The writing of one record with its edits and headers, for compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from towpath.wire import rows, translate, varint
from towpath.wire.copying import copied
from towpath.wire.heading import lengthening, put_headers
from towpath.wire.loops import inlined
from towpath.wire.report import keep


@inlined
def _new_size(size: Any, edit: Any) -> Any:
    """Return the size of a key or value after its edit."""
    if edit[translate.FRAME] and edit[translate.SIDE_SIZE] >= 0:
        return edit[translate.FRAME] + edit[translate.SIDE_SIZE]
    return size + edit[translate.FRAME] - edit[translate.SKIPPED]


@inlined
def _put_part(data: Any, start: Any, size: Any, edit: Any, side: Any, out: Any, at: Any) -> Any:
    """Write a key or value, with its length."""
    at = varint.fast_write(out, at, _new_size(size, edit))
    if edit[translate.FRAME]:
        translate.put_id(out, at, edit)
        at += edit[translate.FRAME]
    if edit[translate.FRAME] and edit[translate.SIDE_SIZE] >= 0:
        return copied(side, edit[translate.SIDE_AT], edit[translate.SIDE_SIZE], out, at)
    skipped = edit[translate.SKIPPED]
    return copied(data, start + skipped, size - skipped, out, at)


@inlined
def _put_parts(data: Any, row: Any, edits: Any, side: Any, out: Any, at: Any) -> Any:
    """Write key and value, each with its length."""
    at = _put_part(data, row[rows.KEY_AT], row[rows.KEY_SIZE], edits[0], side, out, at)
    return _put_part(data, row[rows.VALUE_AT], row[rows.VALUE_SIZE], edits[1], side, out, at)


@inlined
def _parts_size(row: Any, edits: Any) -> Any:
    """Return how many bytes key and value take, with their lengths."""
    key = _new_size(row[rows.KEY_SIZE], edits[0])
    value = _new_size(row[rows.VALUE_SIZE], edits[1])
    return varint.fast_size(key) + max(key, 0) + varint.fast_size(value) + max(value, 0)


@inlined
def _keep_before_headers(row: Any, place: Any, edits: Any, report: Any, at: Any) -> None:
    """Note the bytes between a record's length and the number of its headers.

    They stay if the source wrote all numbers in the shortest way.
    """
    size = 1 + varint.fast_size(place[2]) + varint.fast_size(place[3]) + _parts_size(row, edits)
    if place[7] + size + varint.fast_size(row[rows.HEADERS]) == row[rows.HEADERS_AT]:
        keep(report, place[7], at, size)


@inlined
def put_record(
    data: Any, start: Any, end: Any, prog: Any, tables: Any, scratch: Any, report: Any, out: Any,
    at: Any,
) -> Any:  # fmt: skip
    """Write a kept record; return the position after it."""
    row, marks, edits, place = scratch[0], scratch[1], scratch[2], scratch[4]
    longer, behind = place[4], np.int64(0)
    touched = place[5] > 0 or edits[2, translate.FRAME] > 0 or edits[3, translate.FRAME] > 0
    if len(prog[3]):
        more, behind = lengthening(prog[2], prog[3], marks, place)
        longer += more
        touched = touched or behind < len(prog[3])
    framed = edits[0, translate.FRAME] > 0 or edits[1, translate.FRAME] > 0
    if not touched and not framed and behind == 0:
        keep(report, start, at, end - start)
        return copied(data, start, end - start, out, at)
    count = row[rows.HEADERS] + behind
    body = 1 + varint.fast_size(place[2]) + varint.fast_size(place[3]) + varint.fast_size(count)
    body += _parts_size(row, edits) + end - row[rows.HEADERS_AT] + longer
    at = varint.fast_write(out, at, body)
    if not framed:
        _keep_before_headers(row, place, edits, report, at)
    out[at] = place[6]
    at = varint.fast_write(out, at + 1, place[2])
    at = varint.fast_write(out, at, place[3])
    at = _put_parts(data, row, edits, tables[4], out, at)
    at = varint.fast_write(out, at, count)
    return put_headers(data, row, end, touched, prog, marks, edits, place, report, out, at)
