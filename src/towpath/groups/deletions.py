"""Deletion of groups and commits on the target that were deleted at the source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import Answers
from towpath.groups.model import GroupPosition, GroupReport
from towpath.groups.observe_groups import SourceView
from towpath.ledger.entries import SeenGroup, SeenPosition
from towpath.model.errors import ClusterError
from towpath.model.groups import ClientGroup, Commit, GroupKind
from towpath.model.nouns import TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.runtime.clock import now_ms
from towpath.settings import GroupsConfig

Commits = Mapping[TopicPartition, Commit]
Mirrors = Mapping[TopicPartition, TopicPartition]
"""The target partition of each source partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """The result for a group, or for some commits, that the source no longer has.

    Attributes:
        report: What is told.
        entry: What the ledger shall hold then, `None` for nothing at all.
    """

    report: GroupReport
    entry: SeenGroup | None


@dataclass(slots=True)
class Deletions:
    """Tracks deletions; a group or commit must be absent in two consecutive syncs.

    Args:
        config: Which groups the file asks for.
        source: The source.
        target: The target.
    """

    config: GroupsConfig
    source: Admin
    target: Admin
    _absent: frozenset[tuple[str, TopicPartition | None]] = field(default_factory=frozenset)

    def follow(
        self, known: Mapping[str, SeenGroup], view: SourceView, mirrors: Mirrors
    ) -> Iterator[Deleted]:
        """Delete what the source has deleted, unless clients changed it on the target.

        Args:
            known: What the ledger holds of groups.
            view: The source as it is now.
            mirrors: The target partition of each source partition that is mirrored.

        Raises:
            ClusterError: A cluster cannot be reached.
        """
        now = frozenset(self._missing(known, view))
        twice, self._absent = now & self._absent, now
        for name in sorted(name for name, tp in twice if tp is None):
            yield self._whole(known[name], mirrors)
        parts: dict[str, set[TopicPartition]] = {}
        for name, tp in twice:
            if tp is not None:
                parts.setdefault(name, set()).add(tp)
        for name, tps in sorted(parts.items()):
            yield self._some(known[name], tps, mirrors)

    def gone(self, known: Mapping[str, SeenGroup], view: SourceView) -> Iterator[str]:
        """Yield the groups that the source no longer has.

        Args:
            known: What the ledger holds of groups.
            view: The source as it is now.

        Raises:
            ClusterError: The source cannot be reached.
        """
        if view.unlisted:
            return
        wanted = {name: each for name, each in known.items() if self.config.matches(name)}
        absent = [each.client for name, each in wanted.items() if name not in view.listed]
        # A listing may lack a group whose coordinator has just moved; that coordinator is asked.
        said = self.source.groups.offsets(absent) if absent else Answers({}, {})
        yield from (client.name for client, commits in said.items() if not commits)

    def _missing(
        self, known: Mapping[str, SeenGroup], view: SourceView
    ) -> Iterator[tuple[str, TopicPartition | None]]:
        """Yield the groups and commits that the source no longer has."""
        if view.unlisted:
            return
        yield from ((name, None) for name in self.gone(known, view))
        wanted = {name: each for name, each in known.items() if self.config.matches(name)}
        there = {name: each for name, each in wanted.items() if _may_lack_some(each, view)}
        lacking = {
            name: entry.positions.keys()
            - (view.groups[name].commits if name in view.groups else {})
            for name, entry in there.items()
        }
        topics = {tp.topic for tps in lacking.values() for tp in tps}
        described = self.source.topics.describe(topics) if topics else {}
        for name, tps in lacking.items():
            for tp in tps:
                info = described.get(tp.topic)
                # The commits in a topic that was deleted went with it, on both sides.
                if info is not None and not info.error and info.id == there[name].ids.get(tp.topic):
                    yield name, tp

    def _whole(self, entry: SeenGroup, mirrors: Mirrors) -> Deleted:
        """Delete a group."""
        client = ClientGroup(entry.mirror_group, entry.of)
        reason, commits = self._state(client)
        ours = {mirrors[tp]: each for tp, each in entry.positions.items() if tp in mirrors}
        for tp, commit in commits.items():
            reason = reason or _touched(ours.get(tp), commit)
        if reason is None and commits:
            said = self.target.groups.delete([client])
            reason = said.failed[client].reason if client in said.failed else None
        report = _report(entry, entry.positions, mirrors, reason)
        return Deleted(report=report, entry=entry if reason is not None else None)

    def _some(self, entry: SeenGroup, tps: set[TopicPartition], mirrors: Mirrors) -> Deleted:
        """Delete commits of a group."""
        client = ClientGroup(entry.mirror_group, entry.of)
        reason, commits = self._state(client)
        theirs = {tp: each for tp, each in entry.positions.items() if tp in tps}
        there = {mirrors[tp]: each for tp, each in theirs.items() if mirrors.get(tp) in commits}
        for mirror, seen in there.items():
            reason = reason or _touched(seen, commits[mirror])
        if reason is None and there:
            try:
                failed = self.target.groups.delete_offsets(client, there).failed
                reason = next((error.reason for error in failed.values()), None)
            except ClusterError as error:
                reason = error.reason
        report = replace(_report(entry, theirs, mirrors, reason), deleted=False)
        return Deleted(report=report, entry=entry if reason is not None else _without(entry, tps))

    def _state(self, client: ClientGroup) -> tuple[Reason | None, Commits]:
        """Return why a mirror group cannot be changed, and where it stands."""
        listed = self.target.groups.listed()
        there = listed.groups.get(client.name)
        if there is not None and there.has_members:
            state = there.state
            reason = Reason.of(ReasonCode.GROUP_HAS_MEMBERS, group=client.name, state=state)
            return reason, {}
        said = self.target.groups.offsets([client])
        if client in said.failed:
            return said.failed[client].reason, {}
        return None, said[client]


def _may_lack_some(entry: SeenGroup, view: SourceView) -> bool:
    """Whether commits of a group that is there can be deleted one by one."""
    known = entry.group in view.listed and entry.client not in view.failed
    return known and entry.of is not GroupKind.SHARE


def _touched(seen: SeenPosition | None, commit: Commit) -> Reason | None:
    """Return that somebody else has committed, `None` if the commit is ours."""
    if seen is not None and seen.target == commit.offset:
        return None
    at = seen.target if seen is not None else -1
    return Reason.of(ReasonCode.GROUP_MOVED, offset=at, found=commit.offset)


def _report(
    entry: SeenGroup,
    positions: Mapping[TopicPartition, SeenPosition],
    mirrors: Mirrors,
    reason: Reason | None,
) -> GroupReport:
    """Return what is told of a deletion: its positions only where it was not done."""
    left = positions.items() if reason is not None else ()
    return GroupReport(
        group=entry.client,
        mirror_group=entry.mirror_group,
        source_state="",
        target_state="",
        at=now_ms(),
        positions=tuple(
            GroupPosition(
                group=entry.client,
                mirror_group=entry.mirror_group,
                tp=tp,
                mirror=mirrors.get(tp),
                source=each.source,
                metadata=each.metadata,
                answer=None,
                reason=reason,
            )
            for tp, each in left
        ),
        deleted=reason is None,
    )


def _without(entry: SeenGroup, tps: set[TopicPartition]) -> SeenGroup:
    topics = {
        topic: tuple(each for each in seen if TopicPartition(topic, each.partition) not in tps)
        for topic, seen in entry.topics.items()
    }
    kept = {topic: seen for topic, seen in topics.items() if seen}
    return replace(entry, topics=kept, at=now_ms())
