"""The reasons by which groups cannot be promoted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

from towpath.model.groups import ClientGroup, Commit, GroupKind
from towpath.model.nouns import TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode


def of_groups(reads: Mapping[ClientGroup, Set[TopicName]], topics: Set[TopicName]) -> list[Reason]:
    """Return the reasons by which groups cannot move.

    Args:
        reads: The topics that each group subscribes to or has offsets in.
        topics: The topics that move.
    """
    found = []
    for group in sorted(group for group, read in reads.items() if read & topics):
        if group.kind is GroupKind.SHARE:
            found.append(
                Reason.of(ReasonCode.PROMOTE_GROUP_KIND, group=str(group), kind=str(group.kind))
            )
            continue
        found += [
            Reason.of(ReasonCode.PROMOTE_TOGETHER, group=str(group), topic=topic)
            for topic in sorted(reads[group] - topics)
        ]
    return found


def of_streams(
    groups: Iterable[ClientGroup],
    inner: Mapping[ClientGroup, Set[TopicName]],
    topics: Set[TopicName],
    barred: Reason | None,
) -> Iterator[Reason]:
    """Yield the reasons by which Streams applications cannot move.

    Args:
        groups: All groups that would move.
        inner: The topics that Kafka Streams keeps for them.
        topics: The topics that move.
        barred: Why no Streams group can go on where they would, `None` where it can.
    """
    for group in groups:
        left = sorted(inner.get(group, frozenset()) - topics)
        if left:
            code = ReasonCode.PROMOTE_STREAMS_TOPICS
            yield Reason.of(code, group=str(group), topics=", ".join(left))
        if barred is not None and group.kind is GroupKind.STREAMS:
            code, kind = ReasonCode.PROMOTE_GROUP_KIND, str(group.kind)
            yield Reason.of(code, group=str(group), kind=kind, why=barred)


def of_commits(commits: Mapping[ClientGroup, Mapping[TopicPartition, Commit]]) -> Iterator[Reason]:
    """Yield a reason for each group with offsets in an open transaction."""
    for group, each in commits.items():
        if any(commit.pending for commit in each.values()):
            yield Reason.of(
                ReasonCode.PROMOTE_TRANSACTIONS, who=str(group), where="commits in transactions"
            )
