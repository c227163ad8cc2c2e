"""A change of records as arrays for compiled loops."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from towpath.model.changes import (
    AddedHeader,
    BadRecord,
    BytesMatch,
    DropRule,
    Encoding,
    Framing,
    HeaderContent,
    Malformed,
    RecordChange,
    RecordOrigin,
)
from towpath.wire.batch import NO_END, Buffer, Table
from towpath.wire.framing import KEY_HEADER, VALUE_HEADER
from towpath.wire.opened import read_only
from towpath.wire.plain import write_varint

KEY, VALUE = range(2)
"""Parts of a record."""
PART_HEADERS = (KEY_HEADER, VALUE_HEADER)
"""Headers in which newer serializers of Confluent name the schema of key and value."""
REDACTED = b"REDACTED"

AT, SIZE = range(2)
"""First columns of names, matches and added headers: where in `texts` they stand."""
REDACT, PART = range(2, 4)
"""Columns of `names`: whether to redact headers of this name, and the part whose id they hold, -1
if none. The first names are those of the added headers, in their order."""
CONTENT, TEXT_AT, TEXT_SIZE, PIECE_AT, PIECE_SIZE = range(2, 7)
"""Columns of `added`: kind of content, text of it, and the whole of a constant header."""
PREFIX = 2
"""Column of `matches`: whether the text may go on."""
KEYS, KEYS_END, NAME_AT, NAME_SIZE, VALUES, VALUES_END = range(6)
BEFORE, SINCE, HOME_AT, HOME_SIZE, TOMBSTONE = range(6, 11)
"""Columns of `drops`. `SINCE`, ranges of `matches` and sizes of names are -1 where nothing is asked
for."""
FRAMING, KEYS_ON, VALUES_ON, POLICY, HOME, HOME_LENGTH, MARK_AT, HEADERS_ON, KEEPS = range(9)
"""Places of `flags`: what to do with ids, the target's cluster id, the text of redaction, and how
many of the last rules say what is kept."""

CONSTANT, OFFSET_TEXT, TIME_TEXT, CHAIN, OFFSET_BYTES, PROVENANCE = range(6)
CONFLUENT, FROM_GLUE, TO_GLUE = range(3)
PASS, QUARANTINE, STOP = range(3)
BAD = tuple(BadRecord)
"""Why records cannot be changed, by their number in the loops minus one."""
ID_CUT, ID_ZERO, ID_NONE, HEADER_MALFORMED, GLUE_MALFORMED, GLUE_DAMAGED, ID_UNFIT = range(1, 8)

_CONTENTS = {
    HeaderContent.OFFSET: OFFSET_TEXT,
    HeaderContent.TIMESTAMP: TIME_TEXT,
    HeaderContent.CHAIN: CHAIN,
    HeaderContent.REDPANDA_OFFSET: OFFSET_BYTES,
    HeaderContent.REDPANDA_PROVENANCE: PROVENANCE,
}
_FRAMINGS = {
    Framing.CONFLUENT: CONFLUENT, Framing.FROM_GLUE: FROM_GLUE, Framing.TO_GLUE: TO_GLUE
}  # fmt: skip
_POLICIES = {Malformed.PASS: PASS, Malformed.QUARANTINE: QUARANTINE, Malformed.STOP: STOP}
_LONGEST_NUMBER = 20
"""Bytes of the longest 64-bit number as a text."""
_AROUND = 20
"""Most bytes of the lengths of a header's name and value."""
_SLACK = 64
"""Most bytes by which the lengths of a record and the ids of its key and value can grow."""


@dataclass(frozen=True, slots=True)
class Program:
    """A change of records as arrays, which the compiled loops read.

    Attributes:
        texts: All names and texts.
        flags: Single numbers, by the places above.
        names: Names of headers that matter: those to add, to redact, or with ids.
        added: Headers to add.
        drops: Rules of records to leave out, then those of records to keep.
        matches: Texts of these rules.
        growth: Most bytes by which a record can become longer, beside redaction.
        stretch: By what the size of all records is multiplied at most, through redaction.
    """

    texts: Buffer
    flags: Table
    names: Table
    added: Table
    drops: Table
    matches: Table
    growth: int
    stretch: int

    @property
    def arrays(self) -> tuple[Buffer, Table, Table, Table, Table, Table]:
        """All arrays, in the order that the loops take them."""
        return self.texts, self.flags, self.names, self.added, self.drops, self.matches

    @classmethod
    def of(cls, change: RecordChange, origin: RecordOrigin) -> Program:
        """Return the arrays of a change.

        Raises:
            ValueError: Two added headers have the same name.
        """
        if len({header.name for header in change.headers}) < len(change.headers):
            raise ValueError("two added headers have the same name")
        return _Builder(change, origin).program()


class _Builder:
    def __init__(self, change: RecordChange, origin: RecordOrigin) -> None:
        self._change, self._origin = change, origin
        self._texts = bytearray()
        self._matches: list[list[int]] = []
        self._cluster = origin.source_cluster.encode()

    def program(self) -> Program:
        """Return the change, compiled to arrays for the loops that apply it to records."""
        added = [self._added(header) for header in self._change.headers]
        names = [self._name(name) for name in self._names()]
        drops = [self._drop(rule) for rule in (*self._change.drop, *self._change.keep)]
        flags = self._flags()
        return Program(
            texts=read_only(np.frombuffer(bytes(self._texts) or b"\0", np.uint8)),
            flags=flags,
            names=_table(names, PART + 1),
            added=_table(added, PIECE_SIZE + 1),
            drops=_table(drops, TOMBSTONE + 1),
            matches=_table(self._matches, PREFIX + 1),
            growth=self._growth(),
            # A header of three bytes, its value empty, becomes one of eleven.
            stretch=4 if self._change.redact else 1,
        )

    def _put(self, text: bytes) -> tuple[int, int]:
        at = len(self._texts)
        self._texts += text
        return at, len(text)

    def _names(self) -> Iterable[str]:
        named = [header.name for header in self._change.headers]
        ids = self._change.ids
        carried = (
            [name.decode() for name in PART_HEADERS]
            if ids and ids.framing is Framing.CONFLUENT
            else []
        )
        return dict.fromkeys((*named, *self._change.redact, *carried))

    def _name(self, name: str) -> list[int]:
        ids = self._change.ids
        part = -1
        if ids and ids.framing is Framing.CONFLUENT and name.encode() in PART_HEADERS:
            found = PART_HEADERS.index(name.encode())
            part = found if (ids.key, ids.value)[found] else -1
        return [
            *self._put(name.encode()),
            int(name in self._change.redact),
            part,
        ]

    def _added(self, header: AddedHeader) -> list[int]:
        content = _CONTENTS.get(header.content, CONSTANT)
        text = self._text(header)
        piece = bytearray()
        for part in (header.name.encode(), text):
            write_varint(piece, len(part))
            piece += part
        name = self._put(header.name.encode())
        return [*name, content, *self._put(text), *self._put(bytes(piece))]

    def _text(self, header: AddedHeader) -> bytes:
        match header.content:
            case HeaderContent.CONSTANT:
                return header.text.encode()
            case HeaderContent.TOPIC:
                return self._origin.topic.encode()
            case HeaderContent.PARTITION:
                return str(self._origin.partition).encode()
            case HeaderContent.OFFSET | HeaderContent.TIMESTAMP | HeaderContent.REDPANDA_OFFSET:
                return b""
            case _:
                return self._cluster

    def _drop(self, rule: DropRule) -> list[int]:
        return [
            *self._match(rule.key),
            *self._maybe(rule.header),
            *self._match(rule.value),
            NO_END if rule.before is None else rule.before,
            -1 if rule.since is None else max(rule.since, 0),
            *self._maybe(rule.provenance),
            int(rule.tombstone),
        ]

    def _maybe(self, name: str | None) -> tuple[int, int]:
        return (0, -1) if name is None else self._put(name.encode())

    def _match(self, match: BytesMatch | None) -> tuple[int, int]:
        if match is None:
            return -1, -1
        first = len(self._matches)
        for texts, prefix in ((match.equal, 0), (match.prefixes, 1)):
            self._matches += [[*self._put(_bytes(each, match.encoding)), prefix] for each in texts]
        return first, len(self._matches)

    def _flags(self) -> Table:
        ids = self._change.ids
        flags = np.zeros(KEEPS + 1, np.int64)
        if ids:
            flags[FRAMING] = _FRAMINGS[ids.framing]
            flags[KEYS_ON] = ids.key is not None
            flags[VALUES_ON] = ids.value is not None
            flags[POLICY] = _POLICIES[ids.malformed]
            flags[HEADERS_ON] = ids.in_headers
        flags[HOME : HOME_LENGTH + 1] = self._put(self._origin.target_cluster.encode())
        flags[MARK_AT] = self._put(REDACTED)[0]
        flags[KEEPS] = len(self._change.keep)
        return flags

    def _growth(self) -> int:
        longest = max(_LONGEST_NUMBER, len(self._cluster) + 1)
        return _SLACK + sum(
            _AROUND + len(header.name.encode()) + max(longest, len(self._text(header)))
            for header in self._change.headers
        )


def _bytes(text: str, encoding: Encoding) -> bytes:
    return bytes.fromhex(text) if encoding is Encoding.HEX else text.encode()


def _table(rows: list[list[int]], columns: int) -> Table:
    return np.array(rows, np.int64).reshape(len(rows), columns)
