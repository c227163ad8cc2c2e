"""Adding, replacing and redacting of record headers, for compiled loops.

An added header takes the place of the last header of its name, else it comes behind all others, as
Redpanda's migrator writes them. A header of provenance that is there stays, unless it is empty.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from towpath.wire import framing, program, rows, translate, varint
from towpath.wire.copying import copied, same
from towpath.wire.loops import inlined
from towpath.wire.report import keep

INDEX, VALUE_AT, VALUE_SIZE, WRITTEN = range(4)
"""Columns of marks, one row for each name: the last header of that name, and how many bytes its
value takes with its length. An index of -1: none."""
MARK = 4
_COMMA = np.uint8(ord(","))
_MINUS = np.uint8(ord("-"))
_ZERO = np.uint8(ord("0"))
_REDACTED = len(program.REDACTED)


@inlined
def _which(data: Any, at: Any, size: Any, texts: Any, names: Any) -> Any:
    """Return the number of a name, or -1."""
    for index in range(len(names)):
        row = names[index]
        if row[program.SIZE] == size and same(data, at, texts, row[program.AT], size):
            return index
    return -1


@inlined
def mark_headers(data: Any, row: Any, texts: Any, names: Any, marks: Any) -> Any:
    """Mark headers to redact; return added bytes, and whether any header is redacted."""
    for index in range(len(marks)):
        marks[index, INDEX] = -1
    longer, redacted = np.int64(0), np.int64(0)
    position, end = row[rows.HEADERS_AT], np.int64(len(data))
    for index in range(row[rows.HEADERS]):
        size, at, position = rows.piece(data, position, end)
        value_size, value_at, after = rows.piece(data, position, end)
        name = _which(data, at, size, texts, names)
        if name >= 0:
            marks[name, INDEX], marks[name, VALUE_AT] = index, value_at
            marks[name, VALUE_SIZE], marks[name, WRITTEN] = value_size, after - position
            if names[name, program.REDACT] and value_size > 0:
                redacted += 1
                longer += varint.fast_size(np.int64(_REDACTED)) + _REDACTED - (after - position)
        position = after
    return longer, redacted


@inlined
def _digits(number: Any) -> Any:
    size, rest = np.int64(1), abs(number) // 10
    while rest > 0:
        size += 1
        rest //= 10
    return size + (1 if number < 0 else 0)


@inlined
def _put_digits(out: Any, at: Any, number: Any) -> Any:
    end = at + _digits(number)
    rest, position = abs(number), end
    if number < 0:
        out[at] = _MINUS
    for _ in range(end - at - (1 if number < 0 else 0)):
        position -= 1
        out[position] = _ZERO + np.uint8(rest % 10)
        rest //= 10
    return end


@inlined
def _stays(added: Any, mark: Any) -> Any:
    """Whether a header that is there is kept instead of the added one."""
    there = mark[INDEX] >= 0 and mark[VALUE_SIZE] > 0
    return there and added[program.CONTENT] == program.PROVENANCE


@inlined
def written_headers(added: Any, marks: Any) -> Any:
    """Return how many added headers a record gets."""
    count = np.int64(len(added))
    for index in range(len(added)):
        if _stays(added[index], marks[index]):
            count -= 1
    return count


@inlined
def _size(added: Any, mark: Any, place: Any) -> Any:
    """Return the size of the value of an added header."""
    content = added[program.CONTENT]
    if content == program.OFFSET_TEXT:
        return _digits(place[0])
    if content == program.TIME_TEXT:
        return _digits(place[1])
    if content == program.OFFSET_BYTES:
        return np.int64(8)
    if content == program.CHAIN and mark[INDEX] >= 0 and mark[VALUE_SIZE] > 0:
        return mark[VALUE_SIZE] + 1 + added[program.TEXT_SIZE]
    return added[program.TEXT_SIZE]


@inlined
def lengthening(names: Any, added: Any, marks: Any, place: Any) -> Any:
    """Return the number of bytes for added headers, and the number of appended headers.

    `place` is the offset and the timestamp of the record.
    """
    longer, behind = np.int64(0), np.int64(0)
    for index in range(len(added)):
        mark = marks[index]
        if _stays(added[index], mark):
            continue
        size = _size(added[index], mark, place)
        longer += varint.fast_size(size) + size
        if mark[INDEX] < 0:
            name = names[index, program.SIZE]
            longer += varint.fast_size(name) + name
            behind += 1
        else:
            longer -= mark[WRITTEN]
    return longer, behind


@inlined
def _put_value(data: Any, texts: Any, added: Any, mark: Any, place: Any, out: Any, at: Any) -> Any:
    """Write the value of an added header, with its length."""
    at = varint.fast_write(out, at, _size(added, mark, place))
    content = added[program.CONTENT]
    if content == program.OFFSET_TEXT:
        return _put_digits(out, at, place[0])
    if content == program.TIME_TEXT:
        return _put_digits(out, at, place[1])
    if content == program.OFFSET_BYTES:
        framing.put_word(out, at, 8, place[0])
        return at + 8
    if content == program.CHAIN and mark[INDEX] >= 0 and mark[VALUE_SIZE] > 0:
        at = copied(data, mark[VALUE_AT], mark[VALUE_SIZE], out, at)
        out[at] = _COMMA
        at += 1
    return copied(texts, added[program.TEXT_AT], added[program.TEXT_SIZE], out, at)


@inlined
def _put_marked(
    data: Any,
    before: Any,
    value: Any,
    after: Any,
    last: Any,
    name: Any,
    prog: Any,
    marks: Any,
    edits: Any,
    place: Any,
    out: Any,
    at: Any,
) -> Any:
    """Write the value of a header whose name matters; it stands between `before` and `after`."""
    texts, flags, names, added = prog[0], prog[1], prog[2], prog[3]
    if name < len(added) and last and not _stays(added[name], marks[name]):
        return _put_value(data, texts, added[name], marks[name], place, out, at)
    if names[name, program.REDACT] and value < after:
        at = varint.fast_write(out, at, np.int64(_REDACTED))
        return copied(texts, flags[program.MARK_AT], np.int64(_REDACTED), out, at)
    copied(data, before, after - before, out, at)
    part = names[name, program.PART]
    if part >= 0 and last and edits[2 + part, translate.FRAME]:
        put_header_id(out, at + value - before, edits[2 + part])
    return at + after - before


@inlined
def put_header_id(out: Any, at: Any, edit: Any) -> None:
    """Overwrite the schema id in a header, keeping the byte before it."""
    if edit[translate.FRAME] == framing.CONFLUENT_SIZE:
        framing.put_word(out, at + 1, 4, edit[translate.TO_LOW])
    else:
        framing.put_word(out, at + 1, 8, edit[translate.TO_HIGH])
        framing.put_word(out, at + 9, 8, edit[translate.TO_LOW])


@inlined
def put_headers(
    data: Any,
    row: Any,
    end: Any,
    touched: Any,
    prog: Any,
    marks: Any,
    edits: Any,
    place: Any,
    report: Any,
    out: Any,
    at: Any,
) -> Any:
    """Write a record's headers without their count; return the position after them."""
    texts, names, added = prog[0], prog[2], prog[3]
    position = done = row[rows.HEADERS_AT]
    for index in range(row[rows.HEADERS] if touched else 0):
        size, name_at, before = rows.piece(data, position, end)
        _, value, position = rows.piece(data, before, end)
        name = _which(data, name_at, size, texts, names)
        if name >= 0:
            at = copied(data, done, before - done, out, at)
            done = position
            last = marks[name, INDEX] == index
            at = _put_marked(
                data, before, value, position, last, name, prog, marks, edits, place, out, at
            )
    keep(report, done, at, end - done)
    at = copied(data, done, end - done, out, at)
    for index in range(len(added)):
        if marks[index, INDEX] < 0:
            at = _put_added(data, texts, names[index], added[index], marks[index], place, out, at)
    return at


@inlined
def _put_added(
    data: Any, texts: Any, name: Any, added: Any, mark: Any, place: Any, out: Any, at: Any
) -> Any:
    """Write a header behind all others."""
    if added[program.CONTENT] == program.CONSTANT:
        return copied(texts, added[program.PIECE_AT], added[program.PIECE_SIZE], out, at)
    at = varint.fast_write(out, at, name[program.SIZE])
    at = copied(texts, name[program.AT], name[program.SIZE], out, at)
    return _put_value(data, texts, added, mark, place, out, at)
