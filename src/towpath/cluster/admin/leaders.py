"""Requests about many partitions: one to each leader, repeated where a leader could not answer."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from towpath.cluster.codes import (
    LEADER_NOT_AVAILABLE,
    NOT_LEADER_OR_FOLLOWER,
    UNKNOWN_TOPIC_OR_PARTITION,
    refused,
)
from towpath.cluster.connect.connection import UnresolvedError
from towpath.cluster.connect.control import AGAIN, UNKNOWN_PATIENCE, Control, healable
from towpath.cluster.metadata import Answers, Broker, Metadata
from towpath.model.deadline import Deadline
from towpath.model.errors import ClusterError, RefusedError, UnreachableError
from towpath.model.nouns import TopicName, TopicPartition

T = TypeVar("T")

_ELECTION = 2.0
"""Seconds to wait for partitions without a leader once others have answered."""

KnownLeaders = dict[TopicPartition, Broker]
"""Leaders that answered, kept by callers who ask often. One that did not answer is removed."""


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """A request to the leaders of partitions.

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
    """Ask the leaders of `tps` until each has answered or time is over.

    Args:
        control: The cluster.
        question: What to ask.
        tps: The partitions.
        patience: Seconds for all leaders together, each of which is asked once: for callers who
            ask again later, so that one partition without a leader does not hold up the others.
            By default the request timeout, during which leaders are looked up again; once others
            have answered, partitions that have no leader are waited for two seconds only.
        leaders: Those known from the last time.

    Raises:
        ClusterError: No partition at all has an answer, and no `patience` was given.
    """
    left = set(tps)
    if not left:
        return Answers({}, {})
    done: dict[TopicPartition, T] = {}
    failed: dict[TopicPartition, ClusterError] = {}
    deadline = control.deadline() if patience is None else Deadline.after(patience)
    unknown_until, elected_until = Deadline.after(UNKNOWN_PATIENCE), Deadline.after(_ELECTION)
    for pause in AGAIN.pauses():
        for tp, said in _one_pass(control, question, left, deadline, leaders):
            if isinstance(said, ClusterError):
                failed[tp] = said
            else:
                done[tp] = said
                failed.pop(tp, None)
        left = {tp for tp, error in failed.items() if healable(error, unknown_until)}
        if done and unknown_until.over:
            # The other partitions need not wait until somebody corrects a host name.
            left = {tp for tp in left if not isinstance(failed[tp], UnresolvedError)}
        if done and elected_until.over:
            left = {tp for tp in left if not _has_no_leader(failed[tp])}
        if not left or patience is not None or deadline.left() <= pause:
            break
        time.sleep(pause)
    if not done and failed and patience is None:
        raise next(iter(failed.values()))
    return Answers(done, failed)


def leader_is_away(error: ClusterError) -> bool:
    """Whether a partition has no leader now, or its leader does not answer."""
    if isinstance(error, RefusedError):
        return error.error in {LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER}
    return isinstance(error, UnreachableError) and healable(error)


def _has_no_leader(error: ClusterError) -> bool:
    return isinstance(error, RefusedError) and error.error == LEADER_NOT_AVAILABLE


def _one_pass(
    control: Control,
    question: Question[T],
    tps: Iterable[TopicPartition],
    deadline: Deadline,
    known: KnownLeaders | None,
) -> Iterator[tuple[TopicPartition, T | ClusterError]]:
    by_leader: dict[Broker, list[TopicPartition]] = defaultdict(list)
    for tp, leader in _leaders(control, question, tps, deadline, known):
        if isinstance(leader, ClusterError):
            yield tp, leader
        else:
            by_leader[leader].append(tp)
    for position, (leader, theirs) in enumerate(by_leader.items()):
        # One that is silent must leave time for the others, and for its successor.
        share = deadline.share(len(by_leader) - position + 1)
        try:
            answer = control.ask(leader, question.request(theirs), share, question.what)
        except ClusterError as error:
            _note(known, theirs, None)
            yield from ((tp, error) for tp in theirs)
            continue
        for tp, number, said in question.read(answer):
            _note(known, [tp], None if number else leader)
            yield tp, question.refused(control.side, tp, number) if number else said


def _leaders(
    control: Control,
    question: Question[T],
    tps: Iterable[TopicPartition],
    deadline: Deadline,
    known: KnownLeaders | None,
) -> Iterator[tuple[TopicPartition, Broker | ClusterError]]:
    wanted = sorted(tps)
    unknown = [tp for tp in wanted if tp not in (known or {})]
    yield from ((tp, known[tp]) for tp in wanted if known and tp in known)
    if not unknown:
        return
    topics = {tp.topic for tp in unknown}
    found = control.retried(lambda left: control.metadata(left, topics), deadline)
    for tp in unknown:
        yield tp, found.leader(tp) or _without_leader(control.side, question, found, tp)


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
    """Return what `make` makes of each topic and its partitions, as requests are grouped."""
    grouped: dict[TopicName, list[int]] = defaultdict(list)
    for tp in tps:
        grouped[tp.topic].append(tp.partition)
    return [make(name, numbers) for name, numbers in grouped.items()]


def each_partition(
    answer: Any, read: Callable[[Any], T]
) -> Iterator[tuple[TopicPartition, int, T]]:
    """Take an answer apart that is grouped by topic: partition, error code, what was said."""
    for topic in answer.topics:
        for said in topic.partitions:
            tp = TopicPartition(TopicName(topic.name), said.partition_index)
            yield tp, said.error_code, read(said)
