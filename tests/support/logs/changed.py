"""Records that changes make a difference to, the changes, and what must come of both."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from tests.support.logs.batches import batch, numbered
from tests.support.logs.changing import Decisions, Twin
from towpath.model.changes import (
    NO_CHANGE,
    AddedHeader,
    BytesMatch,
    DropRule,
    Framing,
    HeaderContent,
    IdChange,
    Malformed,
    RecordChange,
    RecordOrigin,
    SubjectStrategy,
)
from towpath.records.change_services import Ready
from towpath.records.work import Assignment
from towpath.runtime.clock import now_ms
from towpath.wire.change import Aside, UnknownId
from towpath.wire.ids import IdTable
from towpath.wire.plain import Record

DAY_MS = 86_400_000
AGES_MS = (40 * DAY_MS, 25 * DAY_MS // 24, 0)
"""Records of 40 days ago, of 25 hours ago, and of now."""
NUMBERS: Decisions = {1: 11, 2: 12, 3: 3, 4: None}
UUIDS: Decisions = {UUID(int=n): UUID(int=n + 100) for n in range(1, 4)}
GLUE: Decisions = {UUID(int=n): n + 10 for n in range(1, 4)}
HOME = "home"


def _drop(name: str, rule: DropRule) -> tuple[str, RecordChange]:
    return name, RecordChange(drop=(rule,))


CHANGES: dict[str, RecordChange] = dict(
    [
        ("none", NO_CHANGE),
        ("ids", RecordChange(ids=IdChange(key=SubjectStrategy.TOPIC))),
        ("glue", RecordChange(ids=IdChange(framing=Framing.FROM_GLUE))),
        ("constant", RecordChange(headers=(AddedHeader(name="env", text="prod"),))),
        (
            "headers",
            RecordChange(
                headers=tuple(
                    AddedHeader(name=f"h-{content}", content=content, text="")
                    for content in HeaderContent
                    if content is not HeaderContent.CONSTANT
                )
            ),
        ),
        ("redact", RecordChange(redact=("secret",))),
        ("codec", RecordChange(codec="zstd")),
        _drop("key", DropRule(name="key", key=BytesMatch(prefixes=("tmp",)))),
        _drop("header", DropRule(name="header", header="skip")),
        _drop("old", DropRule(name="old", before=now_ms() - 30 * DAY_MS)),
        _drop("provenance", DropRule(name="provenance", provenance="prov")),
        _drop("tombstones", DropRule(name="tombstones", tombstone=True)),
        (
            "all",
            RecordChange(
                drop=(
                    DropRule(name="key", key=BytesMatch(prefixes=("tmp",))),
                    DropRule(name="tombstones", tombstone=True),
                ),
                ids=IdChange(),
                redact=("secret",),
                headers=(AddedHeader(name="from", content=HeaderContent.OFFSET),),
                codec="lz4",
            ),
        ),
        ("quarantine", RecordChange(ids=IdChange(malformed=Malformed.QUARANTINE))),
    ]
)
"""A change of each kind, by name, and none."""


def varied(
    rng: random.Random,
    count: int,
    base: int = 0,
    *,
    home: str = HOME,
    ages: Sequence[int] = AGES_MS,
) -> list[Record]:
    """Return records in whose keys, values, headers and times the changes find something.

    Args:
        rng: What draws them.
        count: How many.
        base: The number of the first, which stands in a header.
        home: The id of the target cluster.
        ages: How old they are, in ms.
    """
    return [_record(rng, base + n, home, rng.choice(ages)) for n in range(count)]


def _record(rng: random.Random, number: int, home: str, age: int) -> Record:
    text = b"%d|" % number + b"x" * rng.randrange(60)
    value = rng.choice(
        [
            None,
            text,
            b"\0" + struct.pack(">i", rng.choice((1, 2, 3))) + text,
            b"\0" + struct.pack(">i", rng.choice((0, 4))) + text,
            b"\3\0" + UUID(int=rng.randrange(1, 4)).bytes + text,
            b"\3\5" + UUID(int=rng.randrange(1, 4)).bytes + zlib.compress(text),
        ]
    )
    headers: list[tuple[bytes, bytes | None]] = [(b"n", b"%d" % number)]
    if rng.random() < 0.3:
        headers.append((b"__value_schema_id", b"\1" + UUID(int=rng.randrange(1, 4)).bytes))
    if rng.random() < 0.2:
        headers.append((b"secret", b"word"))
    if rng.random() < 0.2:
        headers.append((b"skip", None))
    if rng.random() < 0.2:
        headers.append((b"prov", rng.choice((home.encode(), b"there"))))
    return Record(rng.choice((b"k", b"tmp-1", None)), value, tuple(headers), now_ms() - age)


def batches(
    rng: random.Random, count: int, most: int, ages: Sequence[int] = AGES_MS
) -> list[bytearray]:
    """Return so many batches of varied records, each of at most `most`."""
    made: list[bytearray] = []
    base = 0
    for _ in range(count):
        records = numbered(varied(rng, rng.randrange(1, most + 1), base, ages=ages), base)
        made.append(batch(records, rng.choice((0, 0, 3, 4))))
        base += len(records)
    return made


def decisions(change: RecordChange) -> Decisions:
    """Return what becomes of the ids of all varied records."""
    glue = change.ids is not None and change.ids.framing is Framing.FROM_GLUE
    return {**NUMBERS, **(GLUE if glue else UUIDS)}


@dataclass
class ConstantIds:
    """Decisions that are all known from the beginning."""

    _tables: dict[bool, IdTable] = field(default_factory=dict)

    def table(self, _a: Assignment, change: RecordChange) -> IdTable:
        glue = change.ids is not None and change.ids.framing is Framing.FROM_GLUE
        if glue not in self._tables:
            known = decisions(change)
            self._tables[glue] = IdTable.of(known, known)
        return self._tables[glue]

    def want(self, a: Assignment, change: RecordChange, unknown: Sequence[UnknownId]) -> Ready:
        del change
        raise AssertionError(f"{a.source}: {unknown}")


@dataclass
class StandInQuarantine:
    """Keeps all records that it gets."""

    taken: list[int] = field(default_factory=list)

    def take(self, a: Assignment, records: Sequence[Aside]) -> Ready:
        del a

        def ready() -> bool:
            self.taken += [record.offset for record in records]
            return True

        return ready


def expected(
    records: Iterable[Record],
    history: Sequence[tuple[int, str]],
    origin: RecordOrigin,
    known: Iterable[RecordChange] = CHANGES.values(),
) -> list[Record]:
    """Return what the target must hold of source records.

    Args:
        records: The records, with their offsets.
        history: From which source offset on the change with a digest holds.
        origin: Where they come from.
        known: All changes.
    """
    by_digest = {change.digest: change for change in known}
    kept: list[Record] = []
    for record in records:
        digest = [digest for start, digest in history if start <= record.offset][-1]
        change = by_digest[digest]
        ids = decisions(change)
        kept += Twin(change, origin, ids, ids).apply([record]).kept
    return kept
