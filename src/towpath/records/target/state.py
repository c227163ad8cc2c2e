"""The state of target partitions from their leaders: log ends and producers. Blocking."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

from towpath.cluster.admin import Admin
from towpath.cluster.admin.leaders import KnownLeaders
from towpath.cluster.data.leaders import Leader
from towpath.cluster.metadata import Answers, ProducerState
from towpath.model.errors import ClusterError, TargetReplacedError, TowpathError
from towpath.model.nouns import ProducerId, TargetOffset, TopicId, TopicPartition
from towpath.records.work import Assignment

T = TypeVar("T")
Failed = dict[TopicPartition, TowpathError]
"""Why the state is not known, by source partition."""
ANY_NODE = -1
_PATIENCE = 2.0
"""Seconds for each question to all leaders; partitions without a leader are asked about later."""


@dataclass(frozen=True, slots=True)
class TargetState:
    """The state of one target partition, reported by its leader.

    Attributes:
        node: The leader.
        earliest: The log start offset.
        log_end: The log end offset; the high watermark may be lower.
        producers: Producer state, by producer id.
        asked: When the leader was asked, by the monotonic clock.
        leader: The leader with its address, if it answered without being looked up again.
        fenced_at: The last sequence of the generation that was fenced just now, because a fence
            hides it; `None` if the leader had no producer state.
    """

    node: int
    earliest: TargetOffset
    log_end: TargetOffset
    producers: Mapping[ProducerId, ProducerState]
    asked: float = field(default_factory=time.monotonic)
    leader: Leader | None = None
    fenced_at: int | None = None

    def last_sequence(self, producer: ProducerId) -> int | None:
        """Return the last sequence of a producer id, `None` if the leader does not know the id."""
        known = self.producers.get(producer)
        return None if known is None or self.is_fenced(producer) else known.last_sequence

    def is_fenced(self, producer: ProducerId) -> bool:
        """Return whether the leader refuses batches of a producer id with epoch 0."""
        known = self.producers.get(producer)
        return known is not None and known.epoch > 0


@dataclass(frozen=True, slots=True)
class _Led:
    """Who leads partitions: the node or `ANY_NODE`, its address, topic id, and leader epoch."""

    nodes: dict[TopicPartition, int] = field(default_factory=dict)
    known: KnownLeaders = field(default_factory=dict)
    ids: dict[TopicPartition, TopicId] = field(default_factory=dict)
    epochs: dict[TopicPartition, int] = field(default_factory=dict)

    def leader(self, tp: TopicPartition) -> Leader | None:
        """Return the leader of a partition, unless the leader failed to answer."""
        return Leader(self.known[tp], self.ids[tp]) if tp in self.known else None


class Ask(Protocol[T]):
    """Protocol of a function that sends a request to the leaders of partitions."""

    def __call__(
        self, tps: Iterable[TopicPartition], *, patience: float | None = None
    ) -> Answers[TopicPartition, T]:
        """Ask; see `towpath.cluster.admin.leaders.ask_leaders`."""


def observed(
    admin: Admin, wanted: Sequence[Assignment]
) -> tuple[dict[TopicPartition, TargetState], Failed]:
    """Return the state of each target partition, and the failures; all leaders are asked."""
    if not wanted:
        return {}, {}
    asked = time.monotonic()
    led, replaced = _leaders(admin, wanted)
    left = list(led.nodes)
    failed: dict[TopicPartition, ClusterError] = {}

    def ask(question: Ask[T]) -> Answers[TopicPartition, T]:
        """Send a question to the leaders that have answered all questions so far."""
        found = question(left, patience=_PATIENCE)
        failed.update(found.failed)
        left[:] = [tp for tp in left if tp in found]
        return found

    earliest = ask(partial(admin.offsets.earliest, leaders=led.known))
    ends = ask(partial(admin.offsets.log_ends, leaders=led.known, epochs=led.epochs))
    producers = ask(partial(admin.producers.states, leaders=led.known))
    states = {
        tp: TargetState(
            led.nodes[tp],
            TargetOffset(earliest[tp]),
            TargetOffset(ends[tp]),
            {p.id: p for p in producers[tp]},
            asked,
            led.leader(tp),
        )
        for tp in left
    }
    return states, replaced | {a.source: failed[a.target] for a in wanted if a.target in failed}


def _leaders(admin: Admin, wanted: Sequence[Assignment]) -> tuple[_Led, Failed]:
    """Return who leads the target partitions whose topics are still those to be written."""
    told = admin.topics.with_brokers(a.target.topic for a in wanted)
    led, replaced = _Led(), Failed()
    for a in wanted:
        topic, tp = told.topics.get(a.target.topic), a.target
        if topic is not None and not topic.error and topic.id != a.target_id:
            replaced[a.source] = TargetReplacedError(tp.topic)
            continue
        info = told.partition(tp)
        led.nodes[tp] = ANY_NODE if info is None else info.leader
        if topic is not None and info is not None and info.leader in told.brokers:
            led.known[tp], led.epochs[tp] = told.brokers[info.leader], info.epoch
            led.ids[tp] = topic.id
    return led, replaced
