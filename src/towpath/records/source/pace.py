"""Rate limits of a slice: bytes that may be fetched now (`run.max_rate`).

Bytes are those of whole record batches, as they come from the source. What is fetched is written,
so nothing heaps up between source and target: a request to a broker waits for the limit of the
link, and a partition is not asked for while it waits for the limit of its topic.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from towpath.model.nouns import TopicName, TopicPartition
from towpath.model.rates import RateLimits
from towpath.records.source.budget import PARTITION_BYTES

_GRAIN, _MOST_GRAIN = 0.05, 1 << 20
"""Seconds of the rate, and bytes at most, from which on it is worthwhile to fetch."""
_DEPTH = 0.5
"""Seconds of the rate that are saved up at most: also a far source is fetched at the whole rate."""
_LEAST = 16 << 10
"""Fewest bytes of a partition to ask for."""


class Clockwork(Protocol):
    """Protocol of a timer that calls back later."""

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call a function once, `seconds` from now."""


class Bucket:
    """Token bucket of bytes; pure, as the caller passes the time in seconds.

    A batch comes whole even if it is larger (KIP-74). The bucket is overdrawn then, and the next
    request waits for longer, so the rate holds in the long run.

    Args:
        rate: Bytes per second.
        now: The time.
    """

    def __init__(self, rate: float, now: float) -> None:
        self.rate, self._at = rate, now
        self._left = self.grain

    @property
    def grain(self) -> float:
        """Least number of bytes worth a fetch."""
        return min(_MOST_GRAIN, self.rate * _GRAIN)

    def change(self, rate: float, now: float) -> None:
        """Change the rate of the bucket."""
        self.left(now)
        self.rate = rate

    def left(self, now: float) -> float:
        """Return the bytes that may be fetched, negative if overdrawn."""
        most = max(self.rate * _DEPTH, self.grain)
        self._left = min(most, self._left + (now - self._at) * self.rate)
        self._at = now
        return self._left

    def wait(self, now: float) -> float:
        """Return the seconds until a fetch is allowed, 0 if it is now."""
        lacking = self.grain - self.left(now)
        return lacking / self.rate if lacking >= 1 else 0.0

    def take(self, size: float) -> None:
        """Take bytes out of the bucket; a negative number gives them back."""
        self._left -= size


@dataclass(slots=True)
class Gate:
    """A token bucket, and the readers that wait for its bytes.

    Attributes:
        used: Bytes that were fetched so far.
        waited: Seconds for which something waited so far.
    """

    bucket: Bucket
    used: int = 0
    waited: float = 0.0
    alarm: int = 0
    """The number of the alarm that is set, 0 for none."""
    rings: float = 0.0
    """When that alarm rings."""


class Pace:
    """The rate limits of one slice; without limits only `on` is used.

    Args:
        reactor: Everything happens in its thread.
        clock: Tells the time in seconds.

    Attributes:
        on: Whether there is a limit.
    """

    def __init__(self, reactor: Clockwork, clock: Callable[[], float] = time.monotonic) -> None:
        self._reactor, self._clock = reactor, clock
        self.on = False
        self._link: Gate | None = None
        self._topics: dict[TopicName, Gate] = {}
        self._readers: dict[TopicName, set[TopicPartition]] = {}
        """The partitions of topics with a limit that were asked for."""
        self._listeners: list[Callable[[TopicName], None]] = []
        self._alarms = 0

    def listen(self, due: Callable[[TopicName], None]) -> None:
        """Set the callback for topics whose waiting readers may be fetched for again."""
        self._listeners.append(due)

    def follow(self, rates: RateLimits) -> None:
        """Replace the rate limits."""
        now, before = self._clock(), self._topics
        self._link = self._gate(self._link, rates.link, now)
        found = {
            name: self._gate(before.get(name), rate, now) for name, rate in rates.topics.items()
        }
        self._topics = {name: gate for name, gate in found.items() if gate is not None}
        self.on = bool(rates)
        for name in before.keys() - self._topics.keys():
            self._readers.pop(name, None)
        for name in [*before]:
            self._tell(name)

    def _gate(self, gate: Gate | None, rate: float | None, now: float) -> Gate | None:
        """Return the gate with another rate; whatever waits at it looks again."""
        if rate is None:
            return None
        if gate is None:
            return Gate(Bucket(rate, now))
        gate.bucket.change(rate, now)
        if gate.alarm:
            gate.waited -= max(0.0, gate.rings - now)
            gate.alarm = 0
        return gate

    # The limit of the link

    def ask(self, size: int, nodes: int) -> int:
        """Return how many bytes a request may ask for, 0 if it has to wait.

        They count as fetched until the answer is there.

        Args:
            size: The most bytes that are wanted.
            nodes: Number of brokers that are asked.
        """
        gate = self._link
        if gate is None:
            return size
        now = self._clock()
        wait = gate.bucket.wait(now)
        if wait:
            self._set_alarm(gate, wait, now)
            return 0
        share = gate.bucket.left(now) / max(1, nodes)
        granted = max(1, round(min(size, max(gate.bucket.grain, share))))
        gate.bucket.take(granted)
        return granted

    def give_back(self, granted: int) -> None:
        """Record that a request for so many bytes got no response."""
        if self._link is not None:
            self._link.bucket.take(-granted)

    def came(self, granted: int, sizes: Iterable[tuple[TopicName, int]]) -> None:
        """Record the response to a request for `granted` bytes, with its bytes by topic."""
        self.give_back(granted)
        for topic, size in sizes:
            for gate in (self._link, self._topics.get(topic)):
                if gate is not None:
                    gate.used += size
                    gate.bucket.take(size)

    # The limits of topics

    def share(self, tp: TopicPartition) -> int:
        """Return how many bytes of a partition to ask for, 0 if it has to wait."""
        gate = self._topics.get(tp.topic)
        if gate is None:
            return PARTITION_BYTES
        now = self._clock()
        wait = gate.bucket.wait(now)
        if wait:
            self._set_alarm(gate, wait, now, tp.topic)
            return 0
        readers = self._readers.setdefault(tp.topic, set())
        readers.add(tp)
        share = gate.bucket.left(now) / len(readers)
        return round(min(PARTITION_BYTES, max(_LEAST, share)))

    def left(self, topic: TopicName) -> float:
        """Return the bytes of a topic that may be fetched now."""
        gate = self._topics.get(topic)
        return float("inf") if gate is None else gate.bucket.left(self._clock())

    def wait(self, topics: Iterable[TopicName]) -> float:
        """Return the seconds until one of these topics may be fetched."""
        gates = [gate for name in topics if (gate := self._topics.get(name)) is not None]
        now = self._clock()
        return min((gate.bucket.wait(now) for gate in gates), default=0.0)

    def remind(self, topic: TopicName) -> None:
        """Call the listeners again for a topic whose readers still wait."""
        gate = self._topics.get(topic)
        if gate is not None:
            wait = max(gate.bucket.wait(self._clock()), _GRAIN)
            self._set_alarm(gate, wait, self._clock(), topic)

    def forget(self, tp: TopicPartition) -> None:
        """Stop counting a partition among those of its topic."""
        if tp.topic in self._readers:
            self._readers[tp.topic].discard(tp)

    # What waited

    @property
    def link(self) -> Gate | None:
        """Bytes fetched and seconds waited under the link's limit; `None` without a limit."""
        return self._link

    @property
    def topics(self) -> Mapping[TopicName, Gate]:
        """Bytes fetched and seconds waited, by topic with a limit."""
        return self._topics

    def _set_alarm(
        self, gate: Gate, wait: float, now: float, topic: TopicName | None = None
    ) -> None:
        if gate.alarm:
            return
        self._alarms += 1
        gate.alarm, gate.rings = self._alarms, now + wait
        gate.waited += wait
        self._reactor.later(wait, partial(self._ring, gate, gate.alarm, topic))

    def _ring(self, gate: Gate, alarm: int, topic: TopicName | None) -> None:
        """Let what waits look again; requests that wait do so after each turn of the reactor."""
        if gate.alarm == alarm:
            gate.alarm = 0
            if topic is not None:
                self._tell(topic)

    def _tell(self, topic: TopicName) -> None:
        for due in self._listeners:
            due(topic)


def whole_batches(data: memoryview) -> Iterator[int]:
    """Yield the size of each whole batch, in any message format."""
    at = 0
    while at + _HEAD <= len(data):
        size = _HEAD + int.from_bytes(data[at + 8 : at + _HEAD], "big")
        if at + size > len(data):
            return
        yield size
        at += size


_HEAD = 12
"""Bytes of the base offset and the length, with which batches of all formats begin."""
