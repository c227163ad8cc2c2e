"""Lookup of many groups' offsets in few requests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kafka.protocol.consumer import OffsetFetchRequest

from towpath.cluster.admin.groups.brokers import ask_each
from towpath.cluster.admin.leaders import each_partition
from towpath.cluster.codes import UNSTABLE_OFFSET_COMMIT, UNSUPPORTED_VERSION, refused
from towpath.cluster.connect.control import Control
from towpath.cluster.messages import DescribeShareGroupOffsetsRequest
from towpath.cluster.metadata import Answers, Broker
from towpath.model.errors import ClusterError, RefusedError
from towpath.model.groups import ClientGroup, Commit, GroupKind
from towpath.model.nouns import TopicName, TopicPartition
from towpath.runtime.deadline import Deadline

ASKING = "asking for the offsets of consumer groups"
_TOPICS_BY_NAME = 9
"""The last OffsetFetch version with topics by name."""
_GROUPS = 100
"""Consumer groups that one request asks for."""

Commits = dict[TopicPartition, Commit]
Stable = Callable[[TopicPartition], bool]
_Ask = Callable[[Broker, Sequence[str], Deadline], Sequence[Any]]


class Asking:
    """Requests groups' offsets from their coordinators, concurrently.

    Args:
        control: The cluster.
        patience: Seconds for each request. A broker that does not answer one gets no more.
        stable: Tells of which partitions a group has failed if an open transaction may change its
            offset there (UNSTABLE_OFFSET_COMMIT). All other offsets are those from before the
            transaction (KIP-447).
        telling: Whether offsets that such a transaction may change are marked as pending, as they
            are with `stable`, too. Groups that have some are asked for once more; all others cost
            nothing.
    """

    def __init__(
        self,
        control: Control,
        patience: float,
        *,
        stable: Stable | None = None,
        telling: bool = False,
    ) -> None:
        self._control, self._patience = control, patience
        self._stable, self._telling = stable or _nowhere, telling or stable is not None
        self._known: dict[TopicPartition, TopicPartition] = {}
        self._found: dict[ClientGroup, Commits] = {}
        self._failed: dict[ClientGroup, ClusterError] = {}

    def all(self, groups: Mapping[ClientGroup, Broker]) -> Answers[ClientGroup, Commits]:
        """Return the offsets of groups, given their coordinators.

        Many groups go into one request from Kafka 3.0 on (KIP-709).
        """
        shares: dict[Broker, list[ClientGroup]] = defaultdict(list)
        for group, broker in groups.items():
            shares[broker].append(group)
        for broker, error in ask_each(
            shares, lambda broker: self._one(broker, shares[broker])
        ).items():
            silent = (each for each in shares[broker] if each not in self._found)
            self._failed |= {each: self._failed.get(each, error) for each in silent}
        return Answers(self._found, self._failed)

    def _one(self, broker: Broker, groups: Sequence[ClientGroup]) -> None:
        for shared, ask in ((False, self._offsets_of), (True, self._starts_of)):
            left = [group for group in groups if (group.kind is GroupKind.SHARE) is shared]
            open_ = self._each(ask, broker, left, shared=shared)
            if open_:
                self._each(self._before, broker, list(open_), pending=open_)

    def _each(
        self,
        ask: _Ask,
        broker: Broker,
        left: Sequence[ClientGroup],
        *,
        shared: bool = False,
        pending: Mapping[ClientGroup, frozenset[TopicPartition]] | None = None,
    ) -> dict[ClientGroup, frozenset[TopicPartition]]:
        """Take the answers about groups; return those to ask again, with what is pending there."""
        found: dict[ClientGroup, frozenset[TopicPartition]] = {}
        while left:
            said = self._asked(ask, broker, left[:_GROUPS])
            # A broker before Kafka 3.0 answers about the first group only.
            for group, answer in zip(left, said, strict=False):
                open_ = frozenset(() if shared or pending is not None else _pending(answer))
                if open_ and not any(map(self._stable, open_)):
                    found[group] = open_
                    continue
                self._take(group, answer, shared=shared)
                if pending is not None and group in self._found:
                    self._found[group] |= _marked(self._found[group], pending[group])
            left = left[len(said) or _GROUPS :]
        return found

    def _take(self, group: ClientGroup, answer: Any, *, shared: bool) -> None:
        if code := answer.error_code or (0 if shared else _unstable(answer)):
            acl = f"Describe on group {group.name}"
            self._failed[group] = refused(self._control.side, ASKING, code, acl=acl)
        else:
            rows = _starts_in(answer) if shared else _commits_in(answer)
            # All groups share the names of partitions: there may be a hundred thousand positions.
            self._found[group] = {self._known.setdefault(tp, tp): at for tp, at in rows}

    def _asked(self, ask: _Ask, broker: Broker, groups: Sequence[ClientGroup]) -> Sequence[Any]:
        """Ask a broker about groups; if it does not know the request, all of them have failed."""
        try:
            return ask(broker, [group.name for group in groups], Deadline.after(self._patience))
        except RefusedError as error:
            if error.error != UNSUPPORTED_VERSION:
                raise
            self._failed |= dict.fromkeys(groups, error)
            return []

    def _starts_of(self, broker: Broker, names: Sequence[str], deadline: Deadline) -> Sequence[Any]:
        """Return what a broker says of the start offsets of these share groups, in their order."""
        kind = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
        request = DescribeShareGroupOffsetsRequest(
            groups=[kind(group_id=name, topics=None) for name in names]
        )
        answer = self._control.ask(broker, request, deadline, "asking for share groups' offsets")
        return _in_order(answer.groups, names)

    def _offsets_of(
        self, broker: Broker, names: Sequence[str], deadline: Deadline
    ) -> Sequence[Any]:
        return self._fetched(broker, names, deadline, stable=self._telling)

    def _before(self, broker: Broker, names: Sequence[str], deadline: Deadline) -> Sequence[Any]:
        return self._fetched(broker, names, deadline, stable=False)

    def _fetched(
        self, broker: Broker, names: Sequence[str], deadline: Deadline, *, stable: bool
    ) -> Sequence[Any]:
        """Return what a broker says of these groups in their order, at least of the first one."""
        kind = OffsetFetchRequest.OffsetFetchRequestGroup
        request = OffsetFetchRequest(
            group_id=names[0],
            topics=None,
            groups=[kind(group_id=name, topics=None) for name in names],
            require_stable=stable,
        )
        answer = self._control.ask(broker, request, deadline, ASKING, newest=_TOPICS_BY_NAME)
        return _in_order(answer.groups, names) if answer.groups else [answer]


def _nowhere(_: TopicPartition) -> bool:
    return False


def _in_order(groups: Iterable[Any], names: Sequence[str]) -> Sequence[Any]:
    said = {group.group_id: group for group in groups}
    return [said[name] for name in names]


def _unstable(said: Any) -> int:
    """Return the error code of a partition in which an open transaction commits an offset, or 0."""
    return UNSTABLE_OFFSET_COMMIT if any(True for _ in _pending(said)) else 0


def _pending(said: Any) -> Iterator[TopicPartition]:
    for tp, code, _ in each_partition(said, _commit):
        if code == UNSTABLE_OFFSET_COMMIT:
            yield tp


def _marked(commits: Commits, pending: Iterable[TopicPartition]) -> Commits:
    return {tp: replace(commits.get(tp, Commit(-1)), pending=True) for tp in pending}


def _commits_in(said: Any) -> Iterator[tuple[TopicPartition, Commit]]:
    for tp, code, commit in each_partition(said, _commit):
        if not code and commit.offset >= 0:
            yield tp, commit


def _commit(said: Any) -> Commit:
    return Commit(int(said.committed_offset), said.metadata or "")


def _starts_in(said: Any) -> Iterator[tuple[TopicPartition, Commit]]:
    for topic in said.topics:
        for each in topic.partitions:
            if not each.error_code and each.start_offset >= 0:
                tp = TopicPartition(TopicName(topic.topic_name), each.partition_index)
                yield tp, Commit(each.start_offset, lag=-1 if each.lag is None else each.lag)


def refused_for_now(failed: Mapping[ClientGroup, ClusterError]) -> list[ClientGroup]:
    """Return the groups whose coordinator is moving or still loading."""
    return [
        group
        for group, error in failed.items()
        if isinstance(error, RefusedError) and error.retriable
    ]
