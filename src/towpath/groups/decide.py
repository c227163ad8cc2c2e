"""The decision for each group and partition which offset to write, or why none. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from towpath.cluster.admin.groups import GroupState
from towpath.groups.model import GroupPosition, PositionOutcome
from towpath.groups.observe_groups import SourceGroup, TargetView
from towpath.groups.shares import bounded
from towpath.ledger.entries import SeenPosition
from towpath.ledger.offsets import NOWHERE, Exactness, TranslatedOffset
from towpath.model.errors import ClusterError
from towpath.model.groups import ClientGroup, Commit, GroupKind
from towpath.model.nouns import SourceOffset, TargetOffset, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.settings import Following, GroupsConfig, GroupStates

_WAITS = frozenset({Exactness.NOT_YET})
"""Answers that are not written: the position is still to come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorPlace:
    """A source partition and its mirror partition, as far as groups need them.

    Attributes:
        mirror: The target partition, `None` where the topic is not mirrored.
        reason: Why no position in it can be translated, `None` where they can.
    """

    mirror: TopicPartition | None
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslatedGroup:
    """A group of the source with its translated offsets.

    Attributes:
        group: The group at the source.
        mirror_group: Its name on the target, "" where it can have none.
        reason: Why nothing of it can be written, `None` where it can.
        answers: The target offset of each commit, where there is one.
        last: What the ledger remembers of the group.
        last_mark: The mark that a share group had then; "" for unknown.
        again: How many records that a share group has accepted come again, by partition; -1 where
            no broker tells it.
    """

    group: SourceGroup
    mirror_group: str
    reason: Reason | None = None
    answers: Mapping[TopicPartition, TranslatedOffset[TargetOffset]] = field(default_factory=dict)
    last: Mapping[TopicPartition, SeenPosition] = field(default_factory=dict)
    last_mark: str = ""
    again: Mapping[TopicPartition, int] = field(default_factory=dict)


def decide(
    config: GroupsConfig,
    group: TranslatedGroup,
    places: Mapping[TopicPartition, MirrorPlace],
    target: TargetView,
    *,
    renew: bool = False,
    ending: bool = False,
) -> Iterator[GroupPosition]:
    """Yield a group's offset in each partition; those marked `due` are to be written.

    Args:
        config: What the file asks for.
        group: The group.
        places: All partitions that it stands in.
        target: The target as it is now.
        renew: Commit also what the target has already, so that it expires later.
        ending: Nothing more will be mirrored: a group that stands further goes on where the copy
            ends, so that it reads all that clients write there.
    """
    renew &= group.group.group.kind is not GroupKind.SHARE  # start offsets do not expire
    client = mirror_client(group)
    hindrance = group.reason or _hindrance(config, group, client, target)
    commits = target.commits.get(client, {})
    looked = client in target.commits
    for tp, commit in sorted(group.group.commits.items()):
        place, answer = places[tp], group.answers.get(tp)
        found = commits.get(place.mirror) if place.mirror is not None else None
        known = None if found is None else TargetOffset(found.offset)
        outcome, reason = PositionOutcome.NOT_ATTEMPTED, place.reason
        if reason is None and answer is not None and place.mirror is not None:
            at = _Here(SourceOffset(commit.offset), answer, known, group.last.get(tp))
            at = at.as_written(target.starts.get(place.mirror)).at_end(ending=ending)
            answer = at.answer
            outcome, reason = at.judge(config, hindrance, target, place.mirror)
            if reason is not None and reason.code is ReasonCode.POSITION_NOT_THERE:
                answer = replace(answer, exactness=Exactness.LOST, why=str(reason))
            anew = renew or found is None or found.metadata != commit.metadata
            if outcome is PositionOutcome.UNCHANGED and anew and hindrance is None:
                outcome, reason = PositionOutcome.NOT_ATTEMPTED, None
        again = group.again.get(tp, 0)
        yield GroupPosition(
            group=group.group.group,
            mirror_group=group.mirror_group,
            tp=tp,
            mirror=place.mirror,
            source=SourceOffset(commit.offset),
            metadata=commit.metadata,
            answer=answer if answer is None else _sure(answer, commit, again),
            known=known,
            outcome=outcome,
            reason=reason,
            lag=commit.lag,
            target_lag=-1 if found is None else found.lag,
            again=again,
            gone=_gone(group.last.get(tp)) if looked and found is None and answer else None,
        )


def _sure(
    answer: TranslatedOffset[TargetOffset], commit: Commit, again: int
) -> TranslatedOffset[TargetOffset]:
    """Return an answer that is exact only where no transaction and no broker may change it."""
    if commit.pending and answer.exactness is Exactness.EXACT:
        why = (
            "an open transaction of the group commits another offset here; this is the one from"
            " before it"
        )
        return replace(answer, exactness=Exactness.BOUNDED, why=why)
    return bounded(answer, again)


def placed(group: TranslatedGroup) -> TranslatedGroup:
    """Return a share group's position, which may lie after its start offset.

    What it had accepted in the last look counts only under the same mark: else it may have been set
    back since, and have accepted as many records as before, but others.
    """
    stands = group.group.stands
    if not stands:
        return group
    commits, again = dict(group.group.commits), {}
    known = group.last if group.group.mark and group.group.mark == group.last_mark else {}
    for tp, stand in stands.items():
        last = known.get(tp)
        offset, again[tp] = stand.place(last.source if last is not None else -1)
        commits[tp] = Commit(offset, lag=stand.lag)
    return replace(group, group=replace(group.group, commits=commits), again=again)


def _gone(last: SeenPosition | None) -> TargetOffset | None:
    """Return what the target got for a position that it does not have now."""
    return last.target if last is not None and last.target >= 0 else None


def mirror_client(group: TranslatedGroup) -> ClientGroup:
    """Return the group's name and kind on the target."""
    return ClientGroup(group.mirror_group, group.group.group.kind)


@dataclass(frozen=True, slots=True)
class _Here:
    """One position: its offset at the source, on the target, what is there, and what was."""

    source: SourceOffset
    answer: TranslatedOffset[TargetOffset]
    known: TargetOffset | None
    last: SeenPosition | None
    ending: bool = False

    def judge(
        self,
        config: GroupsConfig,
        hindrance: Reason | None,
        target: TargetView,
        mirror: TopicPartition,
    ) -> tuple[PositionOutcome, Reason | None]:
        """Return the outcome for the offset; without a reason it is to be written."""
        offset, waits = self.answer.offset, self._waits()
        if self.known == offset and waits is None and not 0 <= target.ends.get(mirror, -1) < offset:
            return PositionOutcome.UNCHANGED, None
        return PositionOutcome.NOT_ATTEMPTED, (
            waits
            or hindrance
            or _unseen(target, mirror, offset)
            or self._jumps(target.starts.get(mirror))
            or self._backwards(config, target.ends.get(mirror, -1))
        )

    def as_written(self, log_start: int | None) -> _Here:
        """Return the offset as it was written once, if a translation is impossible now.

        On a way back, that is so while the ledger of the source cannot be read.
        """
        known, last = self.known, self.last
        if known is None or last is None or (last.base, last.target) != (self.source, known):
            return self
        if self._jumps(log_start) is None or log_start is None or known < log_start:
            return self
        return replace(self, answer=replace(self.answer, offset=known, resumes=NOWHERE))

    def at_end(self, *, ending: bool) -> _Here:
        """Return the decision for a position when nothing more will be mirrored."""
        return replace(self, ending=True) if ending else self

    def _waits(self) -> Reason | None:
        """Return that the position waits until more is mirrored: it never jumps there."""
        if self.ending or self.answer.exactness not in _WAITS:
            return None
        end = self.answer.offset
        return Reason.of(ReasonCode.POSITION_AHEAD, offset=self.source, end=end)

    def _jumps(self, log_start: int | None) -> Reason | None:
        """Return that the first mirrored record lies behind records that no link has copied.

        Another tool may have mirrored them, and the group may have read none of these yet.
        """
        answer = self.answer
        if answer.exactness is not Exactness.BEFORE_START:
            return None
        if log_start is not None and answer.offset <= log_start:
            return None
        code = ReasonCode.POSITION_BEFORE_MIRROR
        return Reason.of(code, offset=self.source, target=answer.offset, why=answer.why)

    def _backwards(self, config: GroupsConfig, end: int) -> Reason | None:
        """Return that clients have read on there.

        Nobody has read behind the end of the log. A group that stayed there would pass over what
        comes there next, or be reset by its clients to the end.
        """
        known, offset = self.known, self.answer.offset
        if known is None or known <= offset or known > end >= 0:
            return None
        if config.rewinds is Following.FOLLOW and self._was_rewound():
            return None
        return Reason.of(ReasonCode.GROUP_AHEAD, known=known, offset=offset)

    def _was_rewound(self) -> bool:
        """Whether the source was set back since the last sync, and nobody moved the target."""
        last = self.last
        return last is not None and last.target == self.known and self.source < last.base


def _unseen(target: TargetView, mirror: TopicPartition, offset: TargetOffset) -> Reason | None:
    """Return why it is not sure that the target has a log that reaches to the offset."""
    if mirror in target.silent:
        return target.silent[mirror].reason
    end = target.ends.get(mirror, -1)
    if end < offset:
        return Reason.of(ReasonCode.POSITION_NOT_THERE, offset=offset, end=end)
    return None


def _hindrance(
    config: GroupsConfig, group: TranslatedGroup, client: ClientGroup, target: TargetView
) -> Reason | None:
    """Return why nothing of a group can be written, `None` if it can."""
    source = group.group
    if config.states is GroupStates.EMPTY and source.has_members:
        return Reason.of(ReasonCode.GROUP_NOT_EMPTY, state=source.state)
    taken = _taken(client, target)
    if taken is not None:
        return taken
    if client in target.failed:
        return target.failed[client].reason
    if client not in target.commits:
        return next((error.reason for error in target.unlisted), None)
    return None


def _taken(client: ClientGroup, target: TargetView) -> Reason | None:
    """Return why the target's own groups, or its brokers, do not let a group be written."""
    there = target.groups.get(client.name)
    if there is not None and not _alike(there.group.kind, client.kind):
        owner = f"a {there.group.kind} group of the target"
        return Reason.of(ReasonCode.GROUP_NAME_TAKEN, name=client.name, owner=owner)
    if client.kind is GroupKind.SHARE and client.kind in target.unable:
        return target.unable[client.kind]
    if there is not None and there.has_members:
        if client in target.held:
            return Reason.of(ReasonCode.GROUP_HELD, group=client.name)
        return _members(client, there, target.untold.get(client))
    return None


def _members(client: ClientGroup, there: GroupState, untold: ClusterError | None) -> Reason:
    code = ReasonCode.GROUP_HAS_MEMBERS
    if untold is None:
        return Reason.of(code, group=client.name, state=there.state)
    return Reason.of(code, group=client.name, state=there.state, why=untold.reason)


def _alike(there: GroupKind, here: GroupKind) -> bool:
    """Whether a group may hold offsets of the other kind: share groups have others."""
    return (there is GroupKind.SHARE) is (here is GroupKind.SHARE)
