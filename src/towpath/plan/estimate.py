"""Estimate of a plan's bytes, time, network traffic and disk space. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from towpath.model.amounts import counted, size, span, time_left
from towpath.model.nouns import TopicName
from towpath.plan.plan_shapes import CopyEstimateJson

GUESS_FROM = "2026-11-21-mirror"
"""The committed result under `bench/results/` that the guess comes from."""
GUESS = 200.0 * (1 << 20)
"""Bytes per second that a machine with two cores copied there, compressed as on the network (its
set `keyed`)."""


class RateOrigin(StrEnum):
    """The origin of a copy rate: named, measured, or guessed."""

    SAID = "said"
    """The user said it."""
    MEASURED = "measured"
    """The link copied at this rate so far."""
    LIMIT = "limit"
    """A limit (`run.max_rate`, `towpath rate`) is lower than what would be told otherwise."""
    GUESS = "guess"
    """Nothing is known of this link; a benchmark had this rate."""


@dataclass(frozen=True, slots=True)
class CopyRate:
    """An assumed rate of copying in bytes per second, and its origin.

    Attributes:
        bytes_per_second: Compressed bytes per second.
        origin: Where the number comes from.
    """

    bytes_per_second: float = GUESS
    origin: RateOrigin = RateOrigin.GUESS

    def __str__(self) -> str:
        told = {
            RateOrigin.SAID: "as --rate says",
            RateOrigin.MEASURED: "the rate of this link so far",
            RateOrigin.LIMIT: "the limit of the link (`towpath rate` tells who set it)",
            RateOrigin.GUESS: (
                f"a guess: the rate of two cores in bench/results/{GUESS_FROM}.md; name that of"
                " your network or disks with --rate"
            ),
        }
        return f"{size(self.bytes_per_second)}/s, {told[self.origin]}"


@dataclass(frozen=True, slots=True)
class TopicBytes:
    """Compressed bytes of a source topic in the logs of its leaders.

    Attributes:
        topic: The source topic.
        bytes: What is still to be copied.
        held: What the topic holds altogether.
        replicas: Number of replicas of the mirror topic.
    """

    topic: TopicName
    bytes: int
    held: int
    replicas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyEstimate:
    """The bytes, time and disk space that a link still needs.

    Attributes:
        topics: The topics, those with the most bytes to copy first.
        rate: The rate that the time is for.
        unknown: Number of partitions whose bytes are not known.
        free: Free bytes on the target's disks; `None` if they are not known.
    """

    topics: tuple[TopicBytes, ...]
    rate: CopyRate
    unknown: int = 0
    free: int | None = None

    @property
    def bytes(self) -> int:
        """Bytes to read from the source, and to send to the target, each once."""
        return sum(each.bytes for each in self.topics)

    @property
    def held(self) -> int:
        """Bytes that the topics hold at the source."""
        return sum(each.held for each in self.topics)

    @property
    def stored(self) -> int:
        """Bytes that the target's disks take, with all replicas."""
        return sum(each.bytes * each.replicas for each in self.topics)

    @property
    def replicated(self) -> int:
        """Bytes that the target's brokers replicate among each other."""
        return self.stored - self.bytes

    @property
    def seconds(self) -> float:
        """The estimated copying time in seconds."""
        return time_left(self.bytes, self.rate.bytes_per_second) or 0.0

    def as_data(self) -> CopyEstimateJson:
        """Return the estimate for JSON, with the sums."""
        return {
            "topics": [
                {
                    "topic": each.topic,
                    "bytes": each.bytes,
                    "held": each.held,
                    "replicas": each.replicas,
                }
                for each in self.topics
            ],
            "rate": {
                "bytes_per_second": self.rate.bytes_per_second,
                "origin": str(self.rate.origin),
            },
            "unknown": self.unknown,
            "free": self.free,
            "bytes": self.bytes,
            "held": self.held,
            "seconds": round(self.seconds, 1),
            "network": {
                "from_source": self.bytes,
                "to_target": self.bytes,
                "inside_target": self.replicated,
            },
            "stored": self.stored,
        }

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield a few lines for people, each with a label."""
        topics = f"{size(self.held)} in {counted(len(self.topics), 'topic')}"
        if self.unknown and not self.held:
            where = f"{counted(self.unknown, 'partition')} in {counted(len(self.topics), 'topic')}"
            yield "to copy", f"unknown of {where}"
            return
        more = f"; unknown of {counted(self.unknown, 'partition')}" if self.unknown else ""
        if not self.bytes:
            yield "to copy", f"nothing of {topics}{more}"
            return
        yield (
            "to copy",
            f"{size(self.bytes)} of {topics}, compressed as on the source's disks{more}",
        )
        yield "time", f"about {span(self.seconds)} at {self.rate}"
        sent = size(self.bytes)
        yield (
            "network",
            f"{sent} from the source, {sent} to the target, {size(self.replicated)} between its"
            " brokers",
        )
        free = f", which have {size(self.free)} free" if self.free is not None else ""
        yield "disks", f"{size(self.stored)} on the target's disks{free}"
