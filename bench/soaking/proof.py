"""The proof of a soak by a client of its own: each record on the target as it must be, and groups.

It reads both sides with librdkafka, changes the source's records as the link must have, and
compares counts and digests; nothing of Towpath takes part.
"""

from __future__ import annotations

import hashlib
import marshal
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from bench.soaking.kinds import Facts, Kind, Row
from bench.soaking.load import Place

CHUNK = 1000
"""Records of one digest; a difference is told by its chunk."""
PATIENCE = 60.0
_PLAIN = 0
"""Version of the marshal format whose bytes depend on nothing but the values."""
SOON = 0.1
"""Seconds for which one call waits for all the records that it asks for."""


@dataclass(slots=True)
class Seen:
    """What was read of one partition of one side.

    Attributes:
        records: Number of records that count.
        read: Number of all records.
        digests: Of each chunk of records.
        firsts: The offset of the first record of each chunk.
        before: How many of the records lie before some offsets.
    """

    offsets: Iterable[int]
    records: int = 0
    read: int = 0
    digests: list[bytes] = field(default_factory=list)
    firsts: list[int] = field(default_factory=list)
    before: dict[int, int] = field(default_factory=dict)

    def add(self, rows: Iterable[tuple[int, Row]]) -> None:
        """Take records, each with the offset that it has on this side."""
        self.before = dict.fromkeys(self.offsets, 0)
        digest = hashlib.blake2b(digest_size=16)
        for offset, row in rows:
            if self.records % CHUNK == 0:
                self.firsts.append(offset)
            told = (row.key, row.value, row.headers, row.timestamp, row.offset)
            digest.update(marshal.dumps(told, _PLAIN))
            self.records += 1
            if self.records % CHUNK == 0:
                self.digests.append(digest.digest())
                digest = hashlib.blake2b(digest_size=16)
            for limit in self.before:
                self.before[limit] += offset < limit
        if self.records % CHUNK:
            self.digests.append(digest.digest())


@dataclass(frozen=True, slots=True)
class Result:
    """What was found of a partition.

    Attributes:
        topic: Its topic.
        written: Records at the source.
        compared: Records of the target that were compared.
        kept: Records of earlier topics before them.
        problems: What is wrong.
    """

    topic: str
    written: int
    compared: int
    kept: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """What is known of a partition before it is compared.

    Attributes:
        place: Topic and partition, the same on both sides.
        kind: Its kind.
        facts: What its change depends on.
        kept: Records of an earlier topic with which the mirror topic begins.
        acked: Records that must be at the source.
        unknown: Records that may be there besides.
        stands: Offsets of groups at the source and on the target.
    """

    place: Place
    kind: Kind
    facts: Facts
    kept: int
    acked: int
    unknown: int
    stands: Mapping[str, tuple[int, int | None]]

    @property
    def identical(self) -> bool:
        """Whether offsets must be equal on both sides."""
        return not (self.kept or self.kind.mapped)

    def compare(self, source: Iterable[Row], target: Iterable[Row]) -> Result:
        """Compare the records of both sides."""
        here = Seen([stand for stand, _ in self.stands.values()])
        there = Seen([stand for _, stand in self.stands.values() if stand is not None])
        here.add(self._wanted(here, source))
        there.add(self._found(there, target))
        problems = [*self._source_problems(here), *self._problems(here, there)]
        problems += self._group_problems(here, there)
        name = f"{self.place[0]}-{self.place[1]}"
        told = tuple(f"{name}: {problem}" for problem in problems)
        return Result(self.place[0], here.read, there.records, self.kept, told)

    def _wanted(self, seen: Seen, rows: Iterable[Row]) -> Iterator[tuple[int, Row]]:
        for row in rows:
            seen.read += 1
            wanted = self.kind.wanted(row, self.facts)
            if wanted is not None:
                yield row.offset, self._comparable(wanted)

    def _found(self, seen: Seen, rows: Iterable[Row]) -> Iterator[tuple[int, Row]]:
        for row in rows:
            seen.read += 1
            if seen.read > self.kept:
                yield row.offset, self._comparable(row)

    def _comparable(self, row: Row) -> Row:
        offset = row.offset if self.identical else -1
        return Row(row.key, row.value, row.headers, offset, row.timestamp)

    def _source_problems(self, here: Seen) -> Iterator[str]:
        if not self.acked <= here.read <= self.acked + self.unknown:
            yield (
                f"the source has {here.read:,} records, and its producers know of {self.acked:,}"
                f" to {self.acked + self.unknown:,}"
            )

    def _problems(self, here: Seen, there: Seen) -> Iterator[str]:
        if here.records != there.records:
            more = there.records - here.records
            yield f"{abs(more):,} records {'doubled or foreign' if more > 0 else 'lost'}"
        pairs = zip(here.digests, there.digests, strict=False)
        first = next((n for n, (a, b) in enumerate(pairs) if a != b), None)
        if first is not None:
            yield (
                f"records differ among the {CHUNK:,} from offset {here.firsts[first]} at the"
                f" source and {there.firsts[first]} on the target"
            )

    def _group_problems(self, here: Seen, there: Seen) -> Iterator[str]:
        for group, (stand, mirrored) in self.stands.items():
            wanted = here.before[stand]
            if mirrored is None:
                if wanted:
                    yield f"group {group} stands at {stand} and nowhere on the target"
            elif there.before[mirrored] != wanted or (self.identical and stand != mirrored):
                yield (
                    f"group {group} stands at {stand} behind {wanted} records, on the target at"
                    f" {mirrored} behind {there.before[mirrored]}"
                )


def proven(proof: Proof, source: str, target: str) -> Result:
    """Read a partition on two clusters, and compare it."""
    return proof.compare(read(source, proof.place), read(target, proof.place))


def _headers(message: Message) -> Iterator[tuple[str, bytes | None]]:
    headers = message.headers() or []
    assert isinstance(headers, list)  # noqa: S101 - as consumers give them
    for name, value in headers:
        assert not isinstance(value, str), name  # noqa: S101 - consumers give bytes
        yield name, value


def read(bootstrap: str, place: Place) -> Iterator[Row]:
    """Yield the committed records of a partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "soak-proof",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "log_level": 0,
        }
    )
    at = TopicPartition(*place)
    at.offset = (consumer.get_watermark_offsets(at, PATIENCE) or (0, 0))[0]
    consumer.assign([at])
    deadline = time.monotonic() + PATIENCE
    try:
        while True:
            messages = consumer.consume(2000, SOON)
            if messages:
                deadline = time.monotonic() + PATIENCE
            elif time.monotonic() > deadline:
                raise TimeoutError(f"no record of {place} came within {PATIENCE:.0f} s")
            for message in messages:
                error = message.error()
                if error is None:
                    yield Row(
                        message.key(),
                        message.value(),
                        tuple(_headers(message)),
                        message.offset() or 0,
                        message.timestamp(),
                    )
                elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its own name
                    return
                else:
                    raise KafkaException(error)
    finally:
        consumer.close()
