"""The decision about each checkpoint: the offset to write, or why none. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from towpath.cluster.admin.groups import ClientGroup, Commit, GroupKind, GroupState
from towpath.groups.model import GroupPosition, PositionOutcome
from towpath.ledger.offsets import Exactness, TranslatedOffset
from towpath.mirror.mm2.checkpoints import Seen
from towpath.mirror.mm2.others import Looked, StrangeRecords
from towpath.mirror.mm2.policy import Policy
from towpath.model.nouns import TargetOffset, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode

_SOME = 5
"""Partitions that a sentence names."""


@dataclass(frozen=True, slots=True)
class LogRange:
    """The offset range of a target partition: of its first record, and after its last one."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The user's options for applying checkpoints.

    Attributes:
        alias: MirrorMaker 2's alias of the source.
        policy: Its replication policy.
        rewinds: Whether a group may be set back.
        over_others: Whether a group may skip records that MirrorMaker 2 did not write.
    """

    alias: str
    policy: Policy
    rewinds: bool = False
    over_others: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointedTarget:
    """The observed state of the target.

    Attributes:
        partitions: How many partitions each mirror topic has.
        logs: The partitions that it has.
        states: The groups that it has, by name.
        commits: Where groups stand there; those that could not be asked about are absent.
        looked: Who wrote to partitions, as far as that was looked at.
    """

    partitions: Mapping[TopicName, int]
    logs: Mapping[TopicPartition, LogRange]
    states: Mapping[str, GroupState]
    commits: Mapping[ClientGroup, Mapping[TopicPartition, Commit]]
    looked: Mapping[TopicPartition, Looked] = field(default_factory=dict)

    def commit(self, group: str, tp: TopicPartition) -> int | None:
        """Return the committed offset of a group, `None` if there is none."""
        known = self.commits.get(ClientGroup(group), {}).get(tp)
        return known.offset if known is not None else None


def decide(seen: Seen, view: CheckpointedTarget, terms: Terms) -> GroupPosition:
    """Return the decision about a checkpoint: the offset to write, or why there is none."""
    checkpoint = seen.checkpoint
    group, tp = checkpoint.group, checkpoint.tp
    upstream = terms.policy.original(terms.alias, tp.topic)
    known = view.commit(group, tp)
    position = GroupPosition(
        group=ClientGroup(group),
        mirror_group=group,
        tp=TopicPartition(upstream or tp.topic, tp.partition),
        mirror=tp,
        source=checkpoint.source,
        metadata=checkpoint.metadata,
        answer=None,
        known=None if known is None else TargetOffset(known),
    )
    log = view.logs.get(tp)
    if upstream is None:
        return _left(position, ReasonCode.NO_MIRROR_TOPIC, topic=tp.topic, alias=terms.alias)
    if log is None:
        return _left(position, ReasonCode.MIRROR_PARTITION_GONE, partition=str(tp))
    position = replace(position, answer=clamped(checkpoint.target, log))
    return _against_group(position, log, view, terms)


def clamped(offset: int, log: LogRange) -> TranslatedOffset[TargetOffset]:
    """Return an offset within a log, and why it differs from the checkpoint's."""
    if offset < log.start:
        why = f"records from offset {offset} to {log.start - 1} were deleted on the target"
        return TranslatedOffset(TargetOffset(log.start), Exactness.LOST, why)
    if offset > log.end:
        why = (
            f"the checkpoint is at offset {offset}, and the log ends at {log.end}: the target lost"
            " records, or the mirror topic was made again"
        )
        return TranslatedOffset(TargetOffset(log.end), Exactness.LOST, why)
    return TranslatedOffset(TargetOffset(offset), Exactness.BOUNDED)


def _against_group(
    position: GroupPosition, log: LogRange, view: CheckpointedTarget, terms: Terms
) -> GroupPosition:
    """Compare with the group of this name on the target."""
    assert position.answer is not None  # noqa: S101  # the caller has just set it
    wanted, known = position.answer.offset, position.known
    refusal = _refusal(position, view)
    if refusal is not None:
        return replace(position, reason=refusal)
    if known == wanted:
        return replace(position, outcome=PositionOutcome.UNCHANGED)
    if known is not None and known > wanted and not terms.rewinds:
        return _left(position, ReasonCode.GROUP_AHEAD, known=known, offset=wanted)
    skipped = _skipped(position, wanted, log, view)
    if skipped and not terms.over_others:
        return _left(position, ReasonCode.OTHER_RECORDS, **_told(skipped))
    return position


def _refusal(position: GroupPosition, view: CheckpointedTarget) -> Reason | None:
    """Return why nothing may be written for the group, `None` if something may."""
    name = position.mirror_group
    state = view.states.get(name)
    if state is not None and state.group.kind is not GroupKind.CONSUMER:
        owner = f"a {state.group.kind} group of the target"
        return Reason.of(ReasonCode.GROUP_NAME_TAKEN, name=name, owner=owner)
    if state is not None and state.has_members:
        return Reason.of(ReasonCode.GROUP_HAS_MEMBERS, group=name, state=state.state)
    if position.group not in view.commits:
        return Reason.of(ReasonCode.GROUP_NOT_SEEN, group=name)
    return None


def _skipped(
    position: GroupPosition, wanted: int, log: LogRange, view: CheckpointedTarget
) -> tuple[StrangeRecords, ...]:
    """Return the records of others that the group would not read."""
    assert position.mirror is not None  # noqa: S101  # checkpoints have one
    looked = view.looked.get(position.mirror)
    begin = log.start if position.known is None else max(log.start, position.known)
    return looked.within(begin, wanted) if looked is not None else ()


def _told(skipped: tuple[StrangeRecords, ...]) -> dict[str, int]:
    return {
        "records": sum(each.records for each in skipped),
        "first": skipped[0].first,
        "last": skipped[-1].end - 1,
        "sure": int(any(each.sure for each in skipped)),
    }


def _left(position: GroupPosition, code: ReasonCode, **values: int | str) -> GroupPosition:
    return replace(position, reason=Reason.of(code, **values))


def resets(positions: Iterable[GroupPosition], view: CheckpointedTarget) -> Iterator[str]:
    """Yield a sentence for each group whose consumers depend on auto.offset.reset."""
    topics: dict[str, set[TopicName]] = {}
    given: dict[str, set[TopicPartition]] = {}
    for each in positions:
        if each.mirror is not None:
            topics.setdefault(each.mirror_group, set()).add(each.mirror.topic)
            if each.settled or each.due or each.known is not None:
                given.setdefault(each.mirror_group, set()).add(each.mirror)
    for group, names in topics.items():
        every = {
            TopicPartition(name, number)
            for name in names
            for number in range(view.partitions.get(name, 0))
        }
        commits = view.commits.get(ClientGroup(group), {})
        without = sorted(every - given.get(group, set()) - commits.keys())
        if without:
            some = ", ".join(map(str, without[:_SOME])) + ", ..." * (len(without) > _SOME)
            yield (
                f"group {group} has no offset for {some}: auto.offset.reset of its consumers"
                " decides where they begin there; with earliest they skip nothing"
            )
