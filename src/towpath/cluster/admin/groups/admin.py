"""Queries about groups of all kinds, and changes of their offsets."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from kafka.protocol.consumer import OffsetFetchRequest

from towpath.cluster.admin.groups.asking import Asking, Commits, Stable, refused_for_now
from towpath.cluster.admin.groups.changing import (
    Changing,
    Wanted,
    Written,
    delete_groups,
    delete_offsets,
)
from towpath.cluster.admin.groups.leaving import leave
from towpath.cluster.admin.groups.listing import (
    GroupListing,
    GroupState,
    connect_groups,
    coordinators,
    listed,
)
from towpath.cluster.admin.groups.making import assignors, make_groups
from towpath.cluster.admin.groups.members import Members, members
from towpath.cluster.admin.groups.rights import unwritable
from towpath.cluster.admin.groups.share_marks import Marks, share_marks
from towpath.cluster.admin.groups.subscriptions import Subscriptions, subscriptions
from towpath.cluster.admin.leaders import by_topic, each_partition
from towpath.cluster.codes import refused
from towpath.cluster.connect.control import AGAIN, Control
from towpath.cluster.connect.retrying import polled
from towpath.cluster.metadata import Answers, Broker
from towpath.model.errors import ClusterError
from towpath.model.groups import ClientGroup, GroupKind
from towpath.model.nouns import TopicPartition
from towpath.runtime.deadline import Deadline

_PATIENCE = 10.0
"""Upper bound on the seconds of a request about many groups."""
_MOVE = 3.0
"""Seconds to wait for coordinators that move."""
_GROUP_BY_NAME = 7
"""The last OffsetFetch version with one group and topics by name."""


class GroupAdmin:
    """Lists groups of all kinds, and reads and changes their offsets."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def names(self) -> tuple[str, ...]:
        """Return the names of all groups that commit offsets and that the login may describe.

        Brokers silently leave out groups on which the login lacks Describe.

        Raises:
            ClusterError: A broker does not list its groups.
        """
        groups = self._control.retried(self._sure).groups
        kinds = {name: each.group.kind for name, each in groups.items()}
        return tuple(sorted(name for name, kind in kinds.items() if kind is not GroupKind.SHARE))

    def listed(self) -> GroupListing:
        """Return the groups that the login may describe, and brokers that did not answer.

        Raises:
            ClusterError: No broker can be asked.
        """
        return self._control.retried(
            lambda deadline: listed(self._control, deadline), self._deadline()
        )

    def unwritable(self, groups: Iterable[ClientGroup]) -> dict[ClientGroup, ClusterError]:
        """Return the groups whose offsets the login may not write, and why; they need not exist.

        Raises:
            ClusterError: No broker can be asked.
        """
        wanted, deadline = {each.name: each for each in groups}, self._deadline()
        if not wanted:
            return {}
        there = coordinators(self._control, wanted, deadline)
        hidden = {wanted[name]: error for name, error in _hidden(there.failed).items()}
        known = {wanted[name]: broker for name, broker in there.items()}
        return hidden | unwritable(self._control, known, deadline)

    def hidden(self, names: Iterable[str]) -> dict[str, ClusterError]:
        """Return the groups that the login may not describe, and why; they need not exist.

        Raises:
            ClusterError: No broker can be asked.
        """
        wanted = {*names}
        if not wanted:
            return {}
        return _hidden(coordinators(self._control, wanted, self._deadline()).failed)

    def subscriptions(self, groups: Iterable[GroupState]) -> Subscriptions:
        """Return the topics that members of groups subscribe to."""
        return subscriptions(self._control, groups, self._deadline())

    def share_marks(self, known: Mapping[ClientGroup, Broker]) -> Marks:
        """Return marks of share groups, given their coordinators; see `share_marks`."""
        return share_marks(self._control, known, self._deadline()) if known else {}

    def members(self, groups: Iterable[GroupState]) -> Members:
        """Return the members of groups of any type."""
        return members(self._control, groups, self._deadline())

    def members_of(self, names: Container[str]) -> Members:
        """Return the members of those of these groups that have any.

        Raises:
            ClusterError: No broker can be asked.
        """
        listing = self.listed().groups
        return self.members(
            [each for name, each in listing.items() if name in names and each.has_members]
        )

    def leave(
        self, members: Mapping[GroupState, Iterable[str]]
    ) -> Answers[ClientGroup, ClientGroup]:
        """Let members leave their groups, by their ids; those that are gone count as left."""
        return leave(self._control, members, self._deadline())

    def connect(self) -> dict[str, str]:
        """Return the states of Kafka Connect's worker groups, such as MirrorMaker 2's.

        Raises:
            ClusterError: A broker does not list its groups.
        """
        return self._control.retried(lambda deadline: connect_groups(self._control, deadline))

    def commits(self) -> Answers[ClientGroup, dict[TopicPartition, int]]:
        """Return all offsets of the consumer and share groups that the login may describe.

        Those of a share group are its start offsets; those of others are committed. Groups without
        offsets are absent.

        Raises:
            ClusterError: A broker does not list its groups.
        """
        return self._control.retried(self._commits)

    def offsets(
        self,
        groups: Iterable[ClientGroup],
        known: Mapping[ClientGroup, Broker] | None = None,
        *,
        stable: Stable | None = None,
        telling: bool = False,
    ) -> Answers[ClientGroup, Commits]:
        """Return the offsets of groups: commits, or start offsets of share groups.

        Groups without offsets, and those that do not exist, have an empty answer.

        Args:
            groups: The groups.
            known: Their coordinators, as far as they were listed.
            stable: Tells of which partitions a group fails if an open transaction may change its
                offset there; elsewhere such offsets are pending.
            telling: Whether such offsets are pending instead; those of before may be -1.

        Raises:
            ClusterError: No broker can be asked for the coordinators.
        """
        wanted, known = tuple(groups), known or {}
        there = {group: known[group] for group in wanted if group in known}
        left = [group for group in wanted if group not in known]
        found: dict[ClientGroup, Commits] = {}
        failed: dict[ClientGroup, ClusterError] = {}

        def ask() -> bool:
            nonlocal there, left
            lost: dict[ClientGroup, ClusterError] = {}
            there |= self._coordinators(left, lost)
            asking = Asking(self._control, self._patience, stable=stable, telling=telling)
            said = asking.all(there)
            found.update(said)
            failed.update({**lost, **said.failed})
            # Coordinators move, and a new one loads its groups first.
            there, left = {}, refused_for_now(said.failed)
            return bool(left)

        if ask():
            polled(ask, Deadline.after(_MOVE), AGAIN, enough=lambda more: not more)
        return Answers(found, {group: failed[group] for group in failed.keys() - found.keys()})

    def write(
        self, wanted: Wanted, known: Mapping[ClientGroup, Broker] | None = None
    ) -> dict[ClientGroup, Written]:
        """Commit offsets of groups without members, or set the start offsets of share groups.

        A coordinator that moves or loads its groups is asked again for a moment. Where an answer
        was lost nothing is sent again: an `UnreachableError` stands in `failed`, and the offset may
        have been written.

        Args:
            wanted: The offsets.
            known: The coordinators, as far as they are known.

        Raises:
            ClusterError: No broker can be asked for the coordinators.
        """
        known = known or {}
        there = {group: known[group] for group in wanted if group in known}
        left = [group for group in wanted if group not in known]
        done: dict[ClientGroup, Written] = {}

        def ask() -> bool:
            nonlocal there, left
            lost: dict[ClientGroup, ClusterError] = {}
            there |= self._coordinators(left, lost)
            told = {group: wanted[group] for group in there}
            done.update(Changing(self._control, self._patience).all(told, there))
            for group, error in lost.items():
                done[group] = Answers({}, dict.fromkeys(wanted[group], error))
            first = {
                group: next(iter(done[group].failed.values()))
                for group in there
                if done[group].failed
            }
            there, left = {}, refused_for_now(first)
            return bool(left)

        if ask():
            polled(ask, Deadline.after(_MOVE), AGAIN, enough=lambda more: not more)
        return done

    def delete(self, groups: Iterable[ClientGroup]) -> Answers[ClientGroup, ClientGroup]:
        """Delete groups without members, with all their offsets.

        Raises:
            ClusterError: No broker can be asked for the coordinators.
        """
        lost: dict[ClientGroup, ClusterError] = {}
        there = self._coordinators(groups, lost)
        done = delete_groups(self._control, there, self._deadline())
        return Answers(done, {**lost, **done.failed})

    def make(self, groups: Iterable[ClientGroup]) -> Answers[ClientGroup, ClientGroup]:
        """Create groups of the consumer protocol (KIP-848), or convert Empty classic ones.

        Raises:
            ClusterError: No broker can be asked for the coordinators.
        """
        lost: dict[ClientGroup, ClusterError] = {}
        there = self._coordinators(groups, lost)
        done = make_groups(self._control, there, self._deadline())
        return Answers(done, {**lost, **done.failed})

    def assignors(self, groups: Iterable[ClientGroup]) -> Answers[ClientGroup, str]:
        """Return the assignors of classic groups with members; Kafka Streams uses `stream`.

        Raises:
            ClusterError: No broker can be asked for the coordinators.
        """
        lost: dict[ClientGroup, ClusterError] = {}
        there = self._coordinators(groups, lost)
        said = assignors(self._control, there, self._deadline())
        return Answers(said, {**lost, **said.failed})

    def delete_offsets(self, group: ClientGroup, tps: Iterable[TopicPartition]) -> Written:
        """Delete commits of a consumer group without members.

        Raises:
            ClusterError: The coordinator refuses the group, or cannot be reached.
        """
        lost: dict[ClientGroup, ClusterError] = {}
        there = self._coordinators([group], lost)
        if group in lost:
            raise lost[group]
        return delete_offsets(self._control, group, there[group], tps, self._deadline())

    def committed(self, group: str, tps: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the committed offsets of a consumer group; partitions without one are absent."""
        wanted = tuple(tps)
        return self._control.retried(lambda deadline: self._committed(group, wanted, deadline))

    def _deadline(self) -> Deadline:
        """Return the deadline of a request about many groups: one broker must not hold up all."""
        return Deadline.after(self._patience)

    @property
    def _patience(self) -> float:
        return min(_PATIENCE, self._control.timeout_ms / 1000)

    def _coordinators(
        self,
        groups: Iterable[ClientGroup],
        lost: dict[ClientGroup, ClusterError],
    ) -> dict[ClientGroup, Broker]:
        """Return the coordinators of groups; what has none now is put into `lost`."""
        by_name = {group.name: group for group in groups}
        if not by_name:
            return {}
        said = coordinators(self._control, by_name, self._deadline())
        lost |= {by_name[name]: error for name, error in said.failed.items()}
        return {by_name[name]: broker for name, broker in said.items()}

    def _sure(self, deadline: Deadline) -> GroupListing:
        found = listed(self._control, deadline)
        for error in found.failed.values():
            raise error
        return found

    def _commits(self, deadline: Deadline) -> Answers[ClientGroup, dict[TopicPartition, int]]:
        groups = self._sure(deadline).groups.values()
        there = {each.group: each.coordinator for each in groups}
        said = Asking(self._control, self._patience).all(there)
        found = {
            group: {tp: commit.offset for tp, commit in commits.items()}
            for group, commits in said.items()
            if commits
        }
        return Answers(found, said.failed)

    def _committed(
        self, group: str, tps: Iterable[TopicPartition], deadline: Deadline
    ) -> dict[TopicPartition, int]:
        what = f"asking for the offsets of group {group}"
        acl = f"Describe on group {group} and on its topics"
        kind = OffsetFetchRequest.OffsetFetchRequestTopic
        topics = by_topic(tps, lambda name, p: kind(name=name, partition_indexes=p))
        request = OffsetFetchRequest(group_id=group, topics=topics, require_stable=True)
        coordinator = self._control.coordinator(group, deadline)
        answer = self._control.ask(coordinator, request, deadline, what, newest=_GROUP_BY_NAME)
        if answer.error_code:
            raise refused(self._control.side, what, answer.error_code, acl=acl)
        found = {}
        for tp, number, offset in each_partition(answer, lambda said: int(said.committed_offset)):
            if number:
                raise refused(self._control.side, f"{what} in {tp}", number, acl=acl)
            if offset >= 0:
                found[tp] = offset
        return found


def _hidden(failed: Mapping[str, ClusterError]) -> dict[str, ClusterError]:
    """Return what the login may not describe, of what has failed."""
    return {name: error for name, error in failed.items() if error.forbidden}
