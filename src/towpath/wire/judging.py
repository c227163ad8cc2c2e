"""The verdict on one record: kept with edits, left out, or set aside; in compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from towpath.wire import program, rows, tally, translate
from towpath.wire.dropping import dropping
from towpath.wire.heading import INDEX, VALUE_AT, VALUE_SIZE, mark_headers, written_headers
from towpath.wire.loops import inlined
from towpath.wire.report import ASIDE, HALT_CODE, HALT_OFFSET, NOTED, UNKNOWN

PLACE = 8
"""Size of the place of a record: offset, timestamp, both deltas, by how much redaction lengthens
it, how many headers are redacted, attributes, where it begins behind its length."""
OFFSET, CODE, TIME, FROM, TO = range(5)
"""Columns of records set aside: where they stand in the decompressed source, length included."""
ASIDE_COLUMNS = 5
UNKNOWN_COLUMNS = 4
MOST_UNKNOWN = 64
"""Upper bound of the number of unknown ids that one pass names."""


@inlined
def _listed(offsets: Any, offset: Any) -> Any:
    """Whether a sorted array has an offset."""
    first, last = 0, len(offsets)
    while first < last:
        middle = (first + last) >> 1
        if offsets[middle] < offset:
            first = middle + 1
        else:
            last = middle
    return first < len(offsets) and offsets[first] == offset


@inlined
def _note_unknown(unknown: Any, state: Any, part: Any, edit: Any) -> None:
    """Add an id to those that have no decision, once."""
    count = state[UNKNOWN]
    for index in range(count):
        row = unknown[index]
        same = row[1] == edit[translate.KIND] and row[2] == edit[translate.HIGH]
        if row[0] == part and same and row[3] == edit[translate.LOW]:
            return
    if count < len(unknown):
        unknown[count, 0], unknown[count, 1] = part, edit[translate.KIND]
        unknown[count, 2], unknown[count, 3] = edit[translate.HIGH], edit[translate.LOW]
        state[UNKNOWN] += 1


@inlined
def _settled(said: Any, part: Any, edit: Any, flags: Any, report: Any) -> Any:
    """Count what is said of an id. Returns the code if the record cannot be kept for it, else 0."""
    if said == translate.UNKNOWN:
        _note_unknown(report[2], report[0], part, edit)
    elif said > 0:
        if flags[program.POLICY] != program.PASS:
            return said
        edit[translate.STAYS] = said
    if said != translate.FOUND:
        edit[translate.FRAME] = edit[translate.SKIPPED] = 0
    return 0


@inlined
def _part_ids(
    data: Any, row: Any, part: Any, prog: Any, tables: Any, scratch: Any, report: Any
) -> Any:
    """Fill the edits of a key or value and of its header. Returns a code, or 0."""
    flags = prog[1]
    marks, edits, hints = scratch[1], scratch[2], scratch[3]
    table = tables[0] if part == program.KEY else tables[1]
    number = id_header(prog[2], part)
    if number >= 0 and marks[number, INDEX] >= 0 and marks[number, VALUE_SIZE] >= 0:
        if not flags[program.HEADERS_ON]:
            return 0
        at, size = marks[number, VALUE_AT], marks[number, VALUE_SIZE]
        said = translate.translate_header(data, at, size, table, hints, part, edits[2 + part])
        return _settled(said, part, edits[2 + part], flags, report)
    at, size = row[rows.KEY_AT], row[rows.KEY_SIZE]
    if part == program.VALUE:
        at, size = row[rows.VALUE_AT], row[rows.VALUE_SIZE]
    framing = flags[program.FRAMING]
    edit = edits[part]
    said = translate.translate_part(data, at, size, framing, table, hints, part, edit)
    if said == translate.FOUND:
        damaged = translate.unpacked(data, at, framing, tables[3], hints, edit)
        said = damaged if damaged else said
    return _settled(said, part, edit, flags, report)


@inlined
def id_header(names: Any, part: Any) -> Any:
    """Return the number of the header name that carries a part's schema id, or -1."""
    for index in range(len(names)):
        if names[index, program.PART] == part:
            return index
    return -1


@inlined
def _ids(data: Any, row: Any, prog: Any, tables: Any, scratch: Any, report: Any) -> Any:
    """Fill all edits of a record. Returns a code, or 0."""
    flags, edits = prog[1], scratch[2]
    for index in range(4):
        edits[index, translate.FRAME] = 0
        edits[index, translate.SKIPPED] = 0
        edits[index, translate.STAYS] = 0
    for part in range(2):
        if flags[program.KEYS_ON + part]:
            code = _part_ids(data, row, part, prog, tables, scratch, report)
            if code:
                return code
    return 0


@inlined
def _note(report: Any, offset: Any, fate: Any, code: Any) -> None:
    """Note what became of a record that is not kept."""
    state, done = report[0], report[3]
    state[NOTED] = tally.note(done, state[NOTED], offset, fate, code, 0, 0, 0, 0)


@inlined
def _note_kept(prog: Any, scratch: Any, report: Any) -> None:
    """Note what is done to a record that is kept."""
    marks, edits, place = scratch[1], scratch[2], scratch[4]
    state, done = report[0], report[3]
    ids = np.int64(0)
    for index in range(4):
        ids += edits[index, translate.FRAME] > 0
    key = max(edits[0, translate.STAYS], edits[2, translate.STAYS])
    value = max(edits[1, translate.STAYS], edits[3, translate.STAYS])
    headers = written_headers(prog[3], marks)
    if ids + key + value + headers + place[5] > 0:
        state[NOTED] = tally.note(
            done, state[NOTED], place[0], tally.KEPT, key, value, ids, headers, place[5]
        )


@inlined
def judge(
    data: Any, start: Any, end: Any, prog: Any, tables: Any, scratch: Any, report: Any
) -> Any:
    """Return whether a record is kept, and fill in its edits."""
    row, marks, place = scratch[0], scratch[1], scratch[4]
    state, aside = report[0], report[1]
    if len(tables[2]) and _listed(tables[2], place[0]):
        _note(report, place[0], tally.LEFT_OUT, 0)
        return False
    rule = dropping(data, row, prog[0], prog[1], prog[4], prog[5])
    if rule >= 0:
        _note(report, place[0], tally.DROPPED + rule, 0)
        return False
    place[4], place[5] = 0, 0
    if len(prog[2]):
        place[4], place[5] = mark_headers(data, row, prog[0], prog[2], marks)
    code = _ids(data, row, prog, tables, scratch, report)
    if code == 0:
        _note_kept(prog, scratch, report)
        return True
    if prog[1][program.POLICY] == program.STOP:
        state[HALT_OFFSET], state[HALT_CODE] = place[0], code
        return False
    _note(report, place[0], tally.ASIDE, code)
    found = aside[state[ASIDE]]
    found[OFFSET], found[CODE], found[TIME] = place[0], code, place[1]
    found[FROM], found[TO] = start, end
    state[ASIDE] += 1
    return False
