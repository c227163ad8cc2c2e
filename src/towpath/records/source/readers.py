"""The check whether all consumer groups of a partition have read up to an offset.

Programs that read without a group cannot be seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from towpath.cluster.admin import Admin
from towpath.cluster.admin.groups.listing import GroupState
from towpath.model.acl import Operation
from towpath.model.amounts import shortened
from towpath.model.errors import ClusterError, RefusedError, UnreachableError
from towpath.model.groups import ClientGroup, Commit, GroupKind
from towpath.model.nouns import TopicName, TopicPartition

_NAMED = 5
"""So many groups are named at most."""


@dataclass(frozen=True, slots=True)
class Unread:
    """The finding that some group may still want to read deleted records.

    Attributes:
        why: `NONE`: no group has a commit. `BEHIND`: the group has committed an earlier offset.
            `UNCOMMITTED`: it reads the topic and has no commit in the partition. `UNKNOWN`: what it
            reads is not known. `HIDDEN`: not all groups can be seen.
        group: The group.
        committed: Its commit, -1 if it has none.
    """

    why: str
    group: str = ""
    committed: int = -1


def read_by(source: Admin, tp: TopicPartition, end: int) -> str | Unread:
    """Return the groups that have read a partition up to an offset, or why some may not have.

    Raises:
        ClusterError: The cluster cannot be asked.
    """
    rights = source.cluster.rights()
    listing = source.groups.listed()
    _again(listing.failed.values())
    # Brokers leave out groups that the login may not describe, unless it may describe the cluster.
    if rights is None or Operation.DESCRIBE not in rights or not listing.whole:
        return Unread("HIDDEN")
    states = {each.group: each for each in listing.groups.values()}
    commits = source.groups.offsets(states, {g: each.coordinator for g, each in states.items()})
    _again(commits.failed.values())
    if commits.failed:
        return Unread("HIDDEN")
    live = [each for each in states.values() if _may_begin(each, commits.get(each.group, {}), tp)]
    reads = source.groups.subscriptions(live)
    return judged(tp, end, commits, {each.group: reads.get(each.group) for each in live})


def may_pass(error: ClusterError) -> bool:
    """Return whether a retry may bring an answer, as with an unreachable broker."""
    return isinstance(error, UnreachableError) or (
        isinstance(error, RefusedError) and error.retriable
    )


def _again(errors: Iterable[ClusterError]) -> None:
    """Raise an error that may pass, so that the source is asked again."""
    for error in errors:
        if may_pass(error):
            raise error


def _may_begin(
    state: GroupState, commits: Mapping[TopicPartition, Commit], tp: TopicPartition
) -> bool:
    """Whether members of a group may read the topic without having committed anything in it.

    A share group has a start offset in each topic that it reads, if only -1.
    """
    if not state.has_members or state.group.kind is GroupKind.SHARE:
        return False
    return all(each.topic != tp.topic for each in commits)


def judged(
    tp: TopicPartition,
    end: int,
    commits: Mapping[ClientGroup, Mapping[TopicPartition, Commit]],
    reads: Mapping[ClientGroup, frozenset[TopicName] | None],
) -> str | Unread:
    """Decide from offsets and subscriptions whether all groups have read up to an offset.

    Args:
        tp: The partition.
        end: The offset.
        commits: Where each group stands.
        reads: Topics that groups with members but without a commit in the topic read; `None` if
            that is not known.
    """
    for group, topics in sorted(reads.items()):
        if topics is not None and tp.topic in topics:
            return Unread("UNCOMMITTED", str(group))
    readers = {g: at for g, at in commits.items() if any(each.topic == tp.topic for each in at)}
    for group, at in sorted(readers.items()):
        if tp not in at or at[tp].offset < 0:
            return Unread("UNCOMMITTED", str(group))
        if at[tp].offset < end:
            return Unread("BEHIND", str(group), at[tp].offset)
    for group, topics in sorted(reads.items()):  # behind those of which it is known
        if topics is None and not _is_of_another(group, tp.topic):
            return Unread("UNKNOWN", str(group))
    return _names(sorted(readers)) if readers else Unread("NONE")


def _is_of_another(group: ClientGroup, topic: TopicName) -> bool:
    """Whether a topic is an internal one of another Streams application than that of the group."""
    internal = topic.endswith("-repartition")
    return (
        internal and group.kind is not GroupKind.CONSUMER and not topic.startswith(f"{group.name}-")
    )


def _names(groups: Iterable[ClientGroup]) -> str:
    return shortened([each.name for each in groups], _NAMED)
