"""Where groups go on at the cutover of a link whose records go through a query. Pure.

No offset of the target belongs to one at the source there. But a group that has read everything at
the source goes on where the link ended on the target: at the end of each mirror partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from towpath.groups.decide import MirrorPlace, TranslatedGroup
from towpath.groups.model import GroupPosition, GroupReport, PositionOutcome
from towpath.groups.observe_groups import SourceGroup
from towpath.groups.unread import Counting, Found, PassedOver
from towpath.ledger.entries import SeenGroup, SeenPosition
from towpath.ledger.offsets import NOWHERE, Exactness, TranslatedOffset
from towpath.model.groups import Commit
from towpath.model.nouns import SourceOffset, TargetOffset, TopicId, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode

Commits = Mapping[TopicPartition, Commit]
_UNWANTED = Reason.of(ReasonCode.TOPIC_NOT_MIRRORED)
_NOT_YET = Reason.of(ReasonCode.NOT_MIRRORED_YET)


@dataclass(frozen=True, slots=True, kw_only=True)
class CutTopic:
    """A mirror topic, as far as its groups need it.

    Attributes:
        mirror: Its name.
        ends: The log end of each of its partitions.
        was_cut: Whether the link was cut over before.
        others: Whose records it may have that a group has not read at the source, "" for nobody's.
    """

    mirror: TopicName
    ends: Mapping[int, TargetOffset]
    was_cut: bool = False
    others: str = ""

    def ending(self, ends: Mapping[TopicPartition, int]) -> CutTopic | None:
        """Return the topic with these log ends; one that is unknown leaves it without places."""
        places = {number: TopicPartition(self.mirror, number) for number in self.ends}
        if not ends.keys() >= {*places.values()}:
            return None
        known = {number: TargetOffset(ends[at]) for number, at in places.items()}
        return replace(self, ends=known)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownGroup:
    """What is known of a group besides its offsets at the source.

    Attributes:
        last: What the ledger remembers of it.
        ids: The ids of the source topics now.
        there: Its offsets on the target.
        unread: What it has not read, by topic; nothing of what is meant to be passed over.
        may_skip: Whether it is meant to pass over what it has not read.
    """

    last: SeenGroup | None = None
    ids: Mapping[TopicName, TopicId] = field(default_factory=dict)
    there: Commits = field(default_factory=dict)
    unread: Mapping[TopicName, str] = field(default_factory=dict)
    may_skip: bool = False

    def seen(self, topic: TopicName) -> dict[TopicPartition, SeenPosition]:
        """Return what the ledger remembers of its positions in a topic."""
        if self.last is None or self.last.ids.get(topic) != self.ids.get(topic):
            return {}
        return {tp: each for tp, each in self.last.positions.items() if tp.topic == topic}

    def went_over(self, topic: TopicName, here: Commits) -> bool:
        """Return whether it got a place on the target, and has not moved at the source since."""
        seen = self.seen(topic)
        return (
            any(each.target != NOWHERE for each in seen.values())
            and here.keys() <= seen.keys()
            and all(each.base == _offset(here.get(tp)) for tp, each in seen.items())
        )


@dataclass(frozen=True, slots=True)
class PlacedGroup:
    """A group with a position for each mirror partition instead of each source partition.

    A position has the number of the mirror partition. Its source offset is that of the source
    partition of this number, `NOWHERE` where there is none.
    """

    group: TranslatedGroup
    places: Mapping[TopicPartition, MirrorPlace]


def at_cut(
    group: TranslatedGroup, mirrors: Mapping[TopicName, CutTopic | None], known: KnownGroup
) -> PlacedGroup:
    """Return where a group goes on, and why it has no place in some topics.

    Args:
        group: The group, with its positions at the source.
        mirrors: Mirror topics of the topics of the link; `None` for one that is not there yet.
        known: What else is known of it.
    """
    commits: dict[TopicPartition, Commit] = {}
    places: dict[TopicPartition, MirrorPlace] = {}
    answers: dict[TopicPartition, TranslatedOffset[TargetOffset]] = {}
    for topic in sorted({tp.topic for tp in group.group.commits}):
        here = {tp: each for tp, each in group.group.commits.items() if tp.topic == topic}
        mirror = mirrors.get(topic)
        if mirror is None:
            commits |= here
            absent = _NOT_YET if topic in mirrors else _UNWANTED
            places |= dict.fromkeys(here, MirrorPlace(mirror=None, reason=absent))
            continue
        over = mirror.was_cut and known.went_over(topic, here)
        reason = None if over else _why_not(group, topic, mirror, known)
        for number, end in mirror.ends.items():
            tp = TopicPartition(topic, number)
            to = TopicPartition(mirror.mirror, number)
            commits[tp], why = here.get(tp, Commit(NOWHERE)), reason
            if over and to in known.there:
                why = Reason.of(ReasonCode.GROUP_GOES_ON, known=known.there[to].offset)
            places[tp] = MirrorPlace(mirror=to, reason=why)
            if why is None:
                # What came to a mirror topic behind a cutover is the clients' from its begin on.
                last = known.seen(topic).get(tp)
                before = max(last.target, 0) if last is not None else 0
                at = TargetOffset(before) if over else end
                answers[tp] = TranslatedOffset(at, Exactness.EXACT)
    whole = replace(group.group, commits=commits)
    return PlacedGroup(replace(group, group=whole, answers=answers, again={}), places)


def _why_not(
    group: TranslatedGroup, topic: TopicName, mirror: CutTopic, known: KnownGroup
) -> Reason | None:
    """Return why a group has no place at the end of a mirror topic, `None` if it has."""
    if topic in known.unread:
        return Reason.of(ReasonCode.GROUP_UNREAD, what=known.unread[topic])
    if mirror.others and not known.may_skip:
        code = ReasonCode.GROUP_AMONG_OTHERS
        return Reason.of(code, topic=mirror.mirror, whose=mirror.others)
    seen = known.seen(topic)
    for number, end in mirror.ends.items():
        to = TopicPartition(mirror.mirror, number)
        last = seen.get(TopicPartition(topic, number))
        ours = last.target if last is not None else NOWHERE
        if to in known.there and known.there[to].offset not in {end, ours}:
            code, at = ReasonCode.GROUP_STANDS, known.there[to].offset
            return Reason.of(code, group=group.mirror_group, place=str(to), known=at)
    return None


def unread_at_source(
    groups: Iterable[SourceGroup],
    logs: Mapping[TopicPartition, tuple[int, int]],
    counting: Counting,
) -> Iterator[PassedOver]:
    """Yield what groups have not read of the topics in which they have an offset.

    That is all of a partition in which a group has none.

    Args:
        groups: The groups.
        logs: Where the log of each partition of these topics begins and ends.
        counting: Counts the records between two offsets.
    """
    known: dict[tuple[TopicPartition, int, int], Found] = {}
    for group in groups:
        topics = {tp.topic for tp in group.commits}
        for tp, (start, end) in sorted(logs.items()):
            at = tp, max(_offset(group.commits.get(tp)), start), end
            if tp.topic not in topics or at[1] >= end:
                continue
            if at not in known:  # many groups stand at the same place
                known[at] = counting(*at)
            first, records, exact = known[at]
            if records:
                yield PassedOver(
                    group=group.group, tp=tp, first=first, end=end, records=records, counted=exact
                )


def remembered(
    report: GroupReport, commits: Commits, mirrors: Mapping[TopicName, CutTopic | None]
) -> GroupReport:
    """Return a report for the ledger, which also has source partitions without a mirror partition.

    So a later cutover knows whether the group has moved at the source since.

    Args:
        report: What became of the group.
        commits: Its positions at the source.
        mirrors: The mirror topics.
    """
    settled = {each.tp.topic for each in report.positions if each.settled}
    settled -= {each.tp.topic for each in report.positions if not each.settled}
    beyond = (
        GroupPosition(
            group=report.group,
            mirror_group=report.mirror_group,
            tp=tp,
            mirror=None,
            source=SourceOffset(each.offset),
            metadata=each.metadata,
            answer=TranslatedOffset(TargetOffset(NOWHERE), Exactness.EXACT),
            outcome=PositionOutcome.CONFIRMED,
        )
        for tp, each in sorted(commits.items())
        if tp.topic in settled and (mirror := mirrors.get(tp.topic)) is not None
        if tp.partition not in mirror.ends
    )
    return replace(report, positions=(*report.positions, *beyond))


def _offset(commit: Commit | None) -> int:
    return commit.offset if commit is not None else NOWHERE
