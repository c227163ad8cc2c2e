"""Requests to the leaders of many partitions, repeated where a leader fails."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Generic, TypeVar

from towpath.cluster.codes import (
    LEADER_NOT_AVAILABLE,
    NOT_LEADER_OR_FOLLOWER,
    UNKNOWN_TOPIC_OR_PARTITION,
    refused,
)
from towpath.cluster.connect.connection import UnresolvedError
from towpath.cluster.connect.control import AGAIN, UNKNOWN_PATIENCE, Control, healable
from towpath.cluster.connect.retrying import polled
from towpath.cluster.metadata import Answers, Broker, Metadata
from towpath.model.errors import ClusterError, RefusedError, UnreachableError
from towpath.model.nouns import TopicName, TopicPartition
from towpath.runtime.deadline import Deadline

T = TypeVar("T")

_BY_NAME = attrgetter("topic", "partition")
_FEW = 5000
"""Partitions that get no more patience than one."""
_ELECTION = 2.0
"""Seconds to wait for partitions without a leader once others have answered."""

KnownLeaders = dict[TopicPartition, Broker]
"""Leaders that answered, kept by callers who ask often. One that did not answer is removed."""


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """A kind of request to partition leaders.

    Attributes:
        what: For errors; a partition's name is put behind it.
        request: Makes the message for the partitions of one leader.
        read: Takes its answer apart: partition, error code, what was said.
        acl: The permission that this needs, on the topic.
        of_cluster: The permission is needed on the cluster instead.
    """

    what: str
    request: Callable[[Sequence[TopicPartition]], Any]
    read: Callable[[Any], Iterable[tuple[TopicPartition, int, T]]]
    acl: str
    of_cluster: bool = False

    def refused(self, side: str, tp: TopicPartition, number: int) -> RefusedError:
        """Return the error for one partition."""
        resource = "the cluster" if self.of_cluster else f"topic {tp.topic}"
        return refused(side, f"{self.what} {tp}", number, acl=f"{self.acl} on {resource}")


def ask_leaders(
    control: Control,
    question: Question[T],
    tps: Iterable[TopicPartition],
    patience: float | None = None,
    leaders: KnownLeaders | None = None,
) -> Answers[TopicPartition, T]:
    """Send requests to the leaders of `tps` until all answer or time is over.

    Args:
        control: The cluster.
        question: What to ask.
        tps: The partitions.
        patience: Seconds for all leaders together, each of which is asked once: for callers who
            ask again later, so that one partition without a leader does not hold up the others.
            Many partitions get more; see `patience_for`.
            By default the request timeout, during which leaders are looked up again; once others
            have answered, partitions that have no leader are waited for two seconds only.
        leaders: Those known from the last time.

    Raises:
        ClusterError: No partition at all has an answer, and no `patience` was given.
    """
    wanted, deadline = set(tps), control.deadline()
    if patience is not None:
        deadline = Deadline.after(patience_for(len(wanted), patience, deadline.left()))
    asking = _Asking(control, question, wanted, deadline, leaders)
    if patience is not None:
        asking.ask()
    else:
        polled(asking.ask, deadline, AGAIN, enough=lambda left: not left)
        asking.require_one()
    return Answers(asking.done, asking.failed)


def patience_for(partitions: int, patience: float, most: float) -> float:
    """Return a timeout in seconds that grows with the number of partitions.

    Args:
        partitions: How many are asked about.
        patience: Seconds for up to 5,000 partitions.
        most: Seconds that more partitions get at most.
    """
    return max(patience, min(most, patience * partitions / _FEW))


class _Asking(Generic[T]):
    """Asks leaders again and again, each time about the partitions that are left."""

    def __init__(
        self,
        control: Control,
        question: Question[T],
        tps: AbstractSet[TopicPartition],
        deadline: Deadline,
        leaders: KnownLeaders | None,
    ) -> None:
        self._control, self._question = control, question
        self._deadline, self._leaders = deadline, leaders
        self._unknown_until = Deadline.after(UNKNOWN_PATIENCE)
        self._elected_until = Deadline.after(_ELECTION)
        self._left = set(tps)
        self.done: dict[TopicPartition, T] = {}
        self.failed: dict[TopicPartition, ClusterError] = {}

    def ask(self) -> bool:
        """Ask each leader once; return whether some partitions still lack an answer."""
        for tp, said in self._pass():
            if isinstance(said, ClusterError):
                self.failed[tp] = said
            else:
                self.done[tp] = said
                self.failed.pop(tp, None)
        self._left = {tp for tp, error in self.failed.items() if self._may_pass(error)}
        return bool(self._left)

    def require_one(self) -> None:
        """Raise an error if no partition has an answer."""
        if self.failed and not self.done:
            raise next(iter(self.failed.values()))

    def _may_pass(self, error: ClusterError) -> bool:
        if self.done and self._unknown_until.over and isinstance(error, UnresolvedError):
            return False  # the others need not wait until somebody corrects a host name
        if self.done and self._elected_until.over and _has_no_leader(error):
            return False
        return healable(error, self._unknown_until)

    def _pass(self) -> Iterator[tuple[TopicPartition, T | ClusterError]]:
        if not self._left:
            return
        by_leader: dict[Broker, list[TopicPartition]] = defaultdict(list)
        for tp, leader in self._find():
            if isinstance(leader, ClusterError):
                yield tp, leader
            else:
                by_leader[leader].append(tp)
        for position, (leader, theirs) in enumerate(by_leader.items()):
            # One that is silent must leave time for the others, and for its successor.
            yield from self._one(
                leader, theirs, self._deadline.share(len(by_leader) - position + 1)
            )

    def _one(
        self, leader: Broker, tps: Sequence[TopicPartition], deadline: Deadline
    ) -> Iterator[tuple[TopicPartition, T | ClusterError]]:
        question = self._question
        try:
            answer = self._control.ask(leader, question.request(tps), deadline, question.what)
        except ClusterError as error:
            _note(self._leaders, tps, None)
            yield from ((tp, error) for tp in tps)
            return
        for tp, number, said in question.read(answer):
            _note(self._leaders, [tp], None if number else leader)
            yield tp, question.refused(self._control.side, tp, number) if number else said

    def _find(self) -> Iterator[tuple[TopicPartition, Broker | ClusterError]]:
        # By a key, as comparing thousands of partitions with each other takes as long as asking.
        wanted, known = sorted(self._left, key=_BY_NAME), self._leaders or {}
        yield from ((tp, known[tp]) for tp in wanted if tp in known)
        unknown = [tp for tp in wanted if tp not in known]
        if not unknown:
            return
        control, topics = self._control, {tp.topic for tp in unknown}
        found = control.retried(lambda left: control.metadata(left, topics), self._deadline)
        for tp in unknown:
            yield tp, found.leader(tp) or _without_leader(control.side, self._question, found, tp)


def leader_is_away(error: ClusterError) -> bool:
    """Return whether a partition has no leader now, or its leader does not answer."""
    if isinstance(error, RefusedError):
        return error.error in {LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER}
    return isinstance(error, UnreachableError) and healable(error)


def _has_no_leader(error: ClusterError) -> bool:
    return isinstance(error, RefusedError) and error.error == LEADER_NOT_AVAILABLE


def _note(known: KnownLeaders | None, tps: Iterable[TopicPartition], leader: Broker | None) -> None:
    if known is None:
        return
    for tp in tps:
        if leader is None:
            known.pop(tp, None)
        else:
            known[tp] = leader


def _without_leader(
    side: str, question: Question[T], found: Metadata, tp: TopicPartition
) -> ClusterError:
    topic = found.topics.get(tp.topic)
    if topic is not None and topic.error:
        return topic.error
    number = LEADER_NOT_AVAILABLE if found.partition(tp) else UNKNOWN_TOPIC_OR_PARTITION
    return question.refused(side, tp, number)


def by_topic(
    tps: Iterable[TopicPartition], make: Callable[[TopicName, Sequence[int]], T]
) -> list[T]:
    """Return `make(topic, partitions)` for each topic, as requests are grouped."""
    grouped: dict[TopicName, list[int]] = defaultdict(list)
    for tp in tps:
        grouped[tp.topic].append(tp.partition)
    return [make(name, numbers) for name, numbers in grouped.items()]


def each_partition(
    answer: Any, read: Callable[[Any], T]
) -> Iterator[tuple[TopicPartition, int, T]]:
    """Yield partition, error code and body from an answer grouped by topic."""
    for topic in answer.topics:
        for said in topic.partitions:
            tp = TopicPartition(TopicName(topic.name), said.partition_index)
            yield tp, said.error_code, read(said)
