"""What a change makes of records, in plain Python: the twin of the compiled loops.

It follows docs/changes.md, and shares nothing with `towpath.wire` but the values.
"""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from towpath.model.changes import (
    AddedHeader,
    BadRecord,
    BytesMatch,
    DropRule,
    Encoding,
    Framing,
    HeaderContent,
    IdChange,
    Malformed,
    RecordChange,
    RecordOrigin,
)
from towpath.wire.plain import Header, Record

Id = int | UUID
Decisions = Mapping[Id, Id | None]

_NAMES = {"key": b"__key_schema_id", "value": b"__value_schema_id"}


class Bad(Exception):  # noqa: N818, it carries a code
    def __init__(self, code: BadRecord) -> None:
        self.code = code


class Unknown(Exception):  # noqa: N818, it carries an id
    def __init__(self, name: Id) -> None:
        self.name = name


class Stays(Exception):  # noqa: N818, it carries an id
    def __init__(self, name: Id) -> None:
        self.name = name


@dataclass
class Outcome:
    kept: list[Record] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    aside: list[tuple[int, BadRecord]] = field(default_factory=list)
    halt: tuple[int, BadRecord] | None = None
    unknown: set[tuple[str, Id]] = field(default_factory=set)


@dataclass(frozen=True)
class Twin:
    change: RecordChange
    origin: RecordOrigin
    key: Decisions
    value: Decisions
    left_out: frozenset[int] = frozenset()
    passing: Mapping[Id, str] = field(default_factory=dict)

    def apply(self, records: Iterable[Record]) -> Outcome:
        found = Outcome()
        for record in records:
            if record.offset in self.left_out:
                found.counts["refused"] += 1
                continue
            rule = next((r for r in self.change.drop if self._means(r, record)), None)
            if rule is not None:
                found.counts[f"dropped:{rule.name}"] += 1
                continue
            keep = self.change.keep
            if keep and not any(self._means(each, record) for each in keep):
                names = " or ".join(each.name for each in keep)
                found.counts[f"dropped:all but {names}"] += 1
                continue
            done = Counter[str]()
            try:
                made = self._with_headers(self._with_ids(record, found, done), done)
            except Bad as bad:
                assert self.change.ids
                if self.change.ids.malformed is Malformed.STOP:
                    found.halt = record.offset, bad.code
                    break
                found.aside.append((record.offset, bad.code))
                found.counts[f"quarantined:{bad.code}"] += 1
                continue
            found.counts += done
            found.kept.append(made)
        return found

    def _means(self, rule: DropRule, record: Record) -> bool:
        timed = rule.before is not None or rule.since is not None
        header = last(record.headers, (rule.header or "").encode())
        home = last(record.headers, (rule.provenance or "").encode())
        cluster = self.origin.target_cluster.encode()
        return all(
            [
                not rule.tombstone or record.value is None,
                not timed or record.timestamp != -1,
                rule.before is None or record.timestamp < rule.before,
                rule.since is None or record.timestamp >= rule.since,
                rule.key is None or matches(rule.key, record.key),
                rule.header is None or header is not None,
                rule.value is None or matches(rule.value, header and header[1]),
                rule.provenance is None
                or bool(home and home[1] and cluster and cluster in home[1].split(b",")),
            ]
        )

    def _with_ids(self, record: Record, found: Outcome, done: Counter[str]) -> Record:
        ids = self.change.ids
        if ids is None:
            return record
        for part, strategy, table in (
            ("key", ids.key, self.key),
            ("value", ids.value, self.value),
        ):
            if strategy is None:
                continue
            changed = record
            try:
                changed = _with_id(record, part, ids, table)
            except Unknown as unknown:
                found.unknown.add((part, unknown.name))
            except Stays as stays:
                if stays.name in self.passing:
                    done[f"unchanged_ids:{self.passing[stays.name]}"] += 1
            except Bad as bad:
                if ids.malformed is not Malformed.PASS:
                    raise
                done[f"bad_ids:{bad.code}"] += 1
            done["ids"] += changed is not record
            record = changed
        return record

    def _with_headers(self, record: Record, done: Counter[str]) -> Record:
        headers: list[Header] = [
            (name, b"REDACTED" if value and name.decode("latin1") in self.change.redact else value)
            for name, value in record.headers
        ]
        redact = self.change.redact
        done["redacted"] += sum(bool(v) and n.decode("latin1") in redact for n, v in record.headers)
        for added in self.change.headers:
            name = added.name.encode()
            places = [index for index, (each, _) in enumerate(headers) if each == name]
            old = headers[places[-1]][1] if places else None
            if added.content is HeaderContent.REDPANDA_PROVENANCE and old:
                continue
            done["headers"] += 1
            value = self._content(added, record, old)
            if places:
                headers[places[-1]] = name, value
            else:
                headers.append((name, value))
        return replace(record, headers=tuple(headers))

    def _content(self, added: AddedHeader, record: Record, old: bytes | None) -> bytes:
        cluster = self.origin.source_cluster.encode()
        chain = old + b"," + cluster if old else cluster
        return {
            HeaderContent.CONSTANT: added.text.encode(),
            HeaderContent.TOPIC: self.origin.topic.encode(),
            HeaderContent.PARTITION: str(self.origin.partition).encode(),
            HeaderContent.OFFSET: str(record.offset).encode(),
            HeaderContent.TIMESTAMP: str(record.timestamp).encode(),
            HeaderContent.REDPANDA_OFFSET: struct.pack(">q", record.offset),
            HeaderContent.CHAIN: chain,
        }.get(added.content, cluster)


def last(headers: Sequence[Header], name: bytes) -> Header | None:
    return next((header for header in reversed(headers) if header[0] == name), None)


def matches(match: BytesMatch, found: bytes | None) -> bool:
    def wanted(text: str) -> bytes:
        return bytes.fromhex(text) if match.encoding is Encoding.HEX else text.encode()

    if found is None:
        return False
    equal = found in [wanted(text) for text in match.equal]
    return equal or any(found.startswith(wanted(text)) for text in match.prefixes)


def _with_id(record: Record, part: str, ids: IdChange, table: Decisions) -> Record:
    header = last(record.headers, _NAMES[part]) if ids.framing is Framing.CONFLUENT else None
    if header is not None and header[1] is not None:
        value = _header(header[1], table) if ids.headers else None
        if value is None:
            return record
        place = max(i for i, (name, _) in enumerate(record.headers) if name == header[0])
        headers = list(record.headers)
        headers[place] = header[0], value
        return replace(record, headers=tuple(headers))
    old = record.key if part == "key" else record.value
    new = _framed(old, ids.framing, table) if old else None
    if new is None:
        return record
    return replace(record, key=new) if part == "key" else replace(record, value=new)


def _header(value: bytes, table: Decisions) -> bytes:
    if len(value) >= 17 and value[0] == 1:
        becomes = _decide(UUID(bytes=value[1:17]), table, UUID)
        return value[:1] + becomes + value[17:]
    if len(value) >= 5 and value[0] == 0 and struct.unpack(">i", value[1:5])[0] > 0:
        becomes = _decide(struct.unpack(">i", value[1:5])[0], table, int)
        return value[:1] + becomes + value[5:]
    raise Bad(BadRecord.HEADER_MALFORMED)


def _framed(data: bytes, framing: Framing, table: Decisions) -> bytes | None:
    if framing is Framing.FROM_GLUE:
        return _from_glue(data, table)
    if data[0] != 0:
        return None
    if len(data) < 5:
        raise Bad(BadRecord.ID_CUT)
    (number,) = struct.unpack(">i", data[1:5])
    if number <= 0:
        raise Bad(BadRecord.ID_ZERO)
    if framing is Framing.TO_GLUE:
        becomes = _decide(number, table, UUID)
        return b"\3\0" + becomes + data[5:]
    becomes = _decide(number, table, int)
    return b"\0" + becomes + data[5:]


def _from_glue(data: bytes, table: Decisions) -> bytes | None:
    if data[0] != 3:
        return None
    if len(data) < 18:
        raise Bad(BadRecord.ID_CUT)
    if data[1] not in {0, 5}:
        raise Bad(BadRecord.GLUE_MALFORMED)
    becomes = _decide(UUID(bytes=data[2:18]), table, int)
    return b"\0" + becomes + (_inflated(data[18:]) if data[1] == 5 else data[18:])


def _inflated(packed: bytes) -> bytes:
    stream = zlib.decompressobj()
    try:
        payload = stream.decompress(packed)
    except zlib.error:
        raise Bad(BadRecord.GLUE_DAMAGED) from None
    if not stream.eof or stream.unused_data:
        raise Bad(BadRecord.GLUE_DAMAGED)
    return payload


def _decide(name: Id, table: Decisions, kind: type) -> bytes:
    """Return the bytes of the new id."""
    if name not in table:
        raise Unknown(name)
    becomes = table[name]
    if becomes is None:
        raise Bad(BadRecord.ID_NONE)
    if becomes == name:
        raise Stays(name)
    if not isinstance(becomes, kind):
        raise Bad(BadRecord.ID_UNFIT)
    return becomes.bytes if isinstance(becomes, UUID) else struct.pack(">i", becomes)
