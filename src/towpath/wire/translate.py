"""Translation of schema ids in keys, values and headers, in compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from towpath.wire import ids, program
from towpath.wire.framing import (
    CONFLUENT_SIZE,
    GLUE,
    GLUE_SIZE,
    GUID_SIZE,
    ZLIB,
    put_word,
    word,
)
from towpath.wire.loops import inlined
from towpath.wire.tally import WAIVED

FRAME, SKIPPED, TO_HIGH, TO_LOW, SIDE_AT, SIDE_SIZE, KIND, HIGH, LOW, STAYS = range(10)
"""Columns of an edit: size of the new frame or 0, size of the old one, the new id, where the
decompressed payload is, the id as it was, and why it stays so (`tally.py`) or 0. The edit of a
header has no frame but its id."""
EDIT = 10

ABSENT, FOUND, UNKNOWN = 0, -1, -2
"""What is said of an id; codes above 0 are those of `program.BAD`."""
POSITION, START, LENGTH = range(3)
"""Columns of decompressed payloads: position of the compressed part, where the payload is, and how
long, -1 if it is damaged."""


@inlined
def _number(data: Any, at: Any, edit: Any) -> Any:
    edit[KIND], edit[HIGH] = ids.NUMBER, 0
    edit[LOW] = np.int64(np.int32(word(data, at, 4)))
    return FOUND if edit[LOW] > 0 else program.ID_ZERO


@inlined
def _uuid(data: Any, at: Any, edit: Any) -> Any:
    edit[KIND] = ids.UUID_
    edit[HIGH], edit[LOW] = word(data, at, 8), word(data, at + 8, 8)
    return FOUND


@inlined
def _framed(data: Any, at: Any, size: Any, framing: Any, edit: Any) -> Any:
    """Read the id before a payload."""
    if framing == program.FROM_GLUE:
        if size < 1 or data[at] != GLUE:
            return ABSENT
        if size < GLUE_SIZE:
            return program.ID_CUT
        if data[at + 1] != 0 and data[at + 1] != ZLIB:
            return program.GLUE_MALFORMED
        return _uuid(data, at + 2, edit)
    if size < 1 or data[at] != 0:
        return ABSENT
    return _number(data, at + 1, edit) if size >= CONFLUENT_SIZE else program.ID_CUT


@inlined
def _decide(table: Any, wanted: Any, hints: Any, part: Any, edit: Any) -> Any:
    """Look an id up. `FOUND` means that another one takes its place, `ABSENT` that it stays."""
    found = ids.find(table, edit[KIND], edit[HIGH], edit[LOW], hints[part])
    if found < 0:
        return UNKNOWN
    hints[part] = found
    row = table[found]
    if row[ids.DECISION] == ids.NONE:
        return program.ID_NONE
    if row[ids.DECISION] == ids.PASSES:
        edit[STAYS] = WAIVED + row[ids.CAUSE] if row[ids.CAUSE] > 0 else 0
        return ABSENT
    if row[ids.DECISION] != wanted:
        return program.ID_UNFIT
    edit[TO_HIGH], edit[TO_LOW] = row[ids.TO_HIGH], row[ids.TO_LOW]
    return FOUND


@inlined
def translate_part(
    data: Any, at: Any, size: Any, framing: Any, table: Any, hints: Any, part: Any, edit: Any
) -> Any:
    """Fill the edit of a key or value; return the verdict on its schema id."""
    edit[FRAME], edit[SKIPPED], edit[SIDE_SIZE] = 0, 0, -1
    said = _framed(data, at, size, framing, edit)
    if said != FOUND:
        return said
    wanted = ids.BECOMES_UUID if framing == program.TO_GLUE else ids.BECOMES_NUMBER
    said = _decide(table, wanted, hints, part, edit)
    if said == FOUND:
        edit[FRAME] = GLUE_SIZE if framing == program.TO_GLUE else CONFLUENT_SIZE
        edit[SKIPPED] = GLUE_SIZE if framing == program.FROM_GLUE else CONFLUENT_SIZE
    return said


@inlined
def translate_header(
    data: Any, at: Any, size: Any, table: Any, hints: Any, part: Any, edit: Any
) -> Any:
    """Fill the edit of a header with a schema id; return the verdict on the id."""
    edit[FRAME] = 0
    said = program.HEADER_MALFORMED
    if size >= GUID_SIZE and data[at] == 1:
        said = _uuid(data, at + 1, edit)
    elif size >= CONFLUENT_SIZE and data[at] == 0:
        said = _number(data, at + 1, edit)
    if said != FOUND:
        return program.HEADER_MALFORMED
    wanted = ids.BECOMES_UUID if edit[KIND] == ids.UUID_ else ids.BECOMES_NUMBER
    said = _decide(table, wanted, hints, part, edit)
    if said == FOUND:
        edit[FRAME] = GUID_SIZE if edit[KIND] == ids.UUID_ else CONFLUENT_SIZE
    return said


@inlined
def put_id(out: Any, at: Any, edit: Any) -> None:
    """Write an edit's schema id after the leading byte of a frame, or Glue's two bytes."""
    if edit[FRAME] == CONFLUENT_SIZE:
        out[at] = 0
        put_word(out, at + 1, 4, edit[TO_LOW])
        return
    if edit[FRAME] == GLUE_SIZE:
        out[at], out[at + 1] = GLUE, 0
        at += 1
    put_word(out, at + 1, 8, edit[TO_HIGH])
    put_word(out, at + 9, 8, edit[TO_LOW])


@inlined
def unpacked(data: Any, at: Any, framing: Any, packed: Any, hints: Any, edit: Any) -> Any:
    """Replace an edit's compressed payload by the decompressed one.

    `packed` has a row for each compressed part, in the order of the records, and `hints[2]` is the
    next of them. Returns a code if the payload is damaged, else 0.
    """
    if framing != program.FROM_GLUE or data[at + 1] != ZLIB:
        return 0
    while hints[2] < len(packed) and packed[hints[2], POSITION] < at:
        hints[2] += 1
    if hints[2] >= len(packed) or packed[hints[2], LENGTH] < 0:
        return program.GLUE_DAMAGED
    edit[SIDE_AT], edit[SIDE_SIZE] = packed[hints[2], START], packed[hints[2], LENGTH]
    return 0
