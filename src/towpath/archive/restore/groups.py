"""Restored consumer groups: their archived offsets are committed on the target.

What is written, and what is not, is decided as for a mirror: never under members, never backwards,
never beyond what is restored. A position is given to a group once; afterwards it is its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from towpath.archive.config import RestoreConfig
from towpath.archive.restore.model import RestoreScope
from towpath.groups.decide import MirrorPlace, TranslatedGroup, decide, mirror_client
from towpath.groups.group_snapshots import group_entry, is_news
from towpath.groups.model import GroupPosition, GroupReport, PositionOutcome
from towpath.groups.naming import with_target_names
from towpath.groups.observe_groups import SourceGroup, SourceView, TargetView, surely, target_now
from towpath.groups.offset_maps import Positions
from towpath.groups.sync_reports import reports
from towpath.groups.target_offsets import place, with_target_offsets
from towpath.groups.write import client_of, write
from towpath.ledger.entries import SeenPosition
from towpath.ledger.link import OpenTarget
from towpath.model.errors import ConfigError
from towpath.model.groups import ClientGroup, Commit
from towpath.model.nouns import TopicPartition
from towpath.settings import GroupsConfig

_DECISIONS = GroupsConfig()


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenPositions:
    """The result of restoring consumer group offsets.

    Attributes:
        groups: The groups, by name.
        beyond: How many positions were behind the end of what is archived. Records between are
            gone, and the group goes on at the end.
    """

    groups: tuple[GroupReport, ...] = ()
    beyond: int = 0

    @property
    def given(self) -> int:
        """Number of offsets that are committed on the target."""
        return sum(each.settled for group in self.groups for each in group.positions)

    @property
    def left(self) -> Iterator[tuple[str, GroupPosition]]:
        """The offsets that could not be committed, or are unconfirmed, with their groups' names.

        A group that stands further on the target has read there since.
        """
        for group in self.groups:
            for each in group.positions:
                if not (each.settled or _is_further(each)):
                    yield group.group.name, each


def _is_further(position: GroupPosition) -> bool:
    answer, known = position.answer, position.known
    is_sure = position.outcome is not PositionOutcome.UNKNOWN
    return is_sure and answer is not None and known is not None and known >= answer.offset


class GroupRestorer:
    """Commits archived group offsets on the target.

    Args:
        to: The target and the ledger.
        scope: What is restored.
        rules: What the file says of it.
    """

    def __init__(self, to: OpenTarget, scope: RestoreScope, rules: RestoreConfig) -> None:
        self._to, self._scope, self._rules = to, scope, rules
        self._positions = Positions(to.books)
        self._ends = {
            tp: part.end
            for topic in scope.topics.values()
            if topic.layout is None
            for tp, part in topic.by_partition.items()
        }

    def once(self) -> GivenPositions:
        """Commit each offset that is due, read it back, and record it in the ledger.

        Raises:
            ClusterError: The target cannot be reached, or the ledger refuses an entry.
            LedgerError: The ledger is of no use.
        """
        if not self._scope.groups:
            return GivenPositions()
        self._to.read()
        self._to.ledger.read_groups(self._to.books)
        self._to.ledger.read_runs(self._to.books)
        beyond, source = self._source()
        done = self._given(source)
        self._remember(done, source)
        return GivenPositions(groups=done, beyond=beyond)

    def _source(self) -> tuple[int, SourceView]:
        """Return the groups as the archive saw them, and how many positions it has no record at."""
        beyond, groups = 0, {}
        for name, capture in sorted(self._scope.groups.items()):
            commits = {}
            for each in capture.offsets:
                tp = TopicPartition(each.topic, each.partition)
                end = self._ends.get(tp)
                if end is not None and each.offset > end:
                    beyond += 1
                at = each.offset if end is None else min(each.offset, end)
                commits[tp] = Commit(at, each.metadata)
            groups[name] = SourceGroup(
                group=capture.group,
                state="",
                has_members=False,
                at=self._scope.at,
                commits=commits,
            )
        ids = {topic.topic.name: topic.topic.id for topic in self._scope.topics.values()}
        return beyond, SourceView(groups=groups, ids=ids, listed=frozenset(groups))

    def _given(self, source: SourceView) -> tuple[GroupReport, ...]:
        names = self._rules.groups.target_name
        translated = [
            *with_target_names(source.groups, names, lambda name: self._last(name, source))
        ]
        tps = {tp for each in translated for tp in each.group.commits}
        mirrors = {tp: self._positions.mirror_of(tp) for tp in tps}
        clients = {mirror_client(each) for each in translated if each.reason is None}
        target = target_now(self._to.target, clients, filter(None, mirrors.values()))
        self._positions.begin(target.starts)
        topics = self._rules.topics
        spots = {tp: place(topics, tp, self._to.books.of(tp).opened, source, target) for tp in tps}
        told = [with_target_offsets(each, spots, self._positions.answer) for each in translated]
        positions = _decided(told, spots, target)
        due = Counter(each.group for each in positions if each.due)
        sure = surely(self._to.target, target, {client_of(each) for each in positions if each.due})
        if sure is not target:
            positions = _decided(told, spots, sure)
        written = write(self._to.target, sure.groups, positions)
        return tuple(reports(translated, written, sure, due))

    def _last(self, name: str, source: SourceView) -> Mapping[TopicPartition, SeenPosition]:
        """Return what a group got before in these topics."""
        known = self._to.books.groups.get(name)
        if known is None:
            return {}
        return {
            tp: each
            for tp, each in known.positions.items()
            if known.ids.get(tp.topic) == source.ids.get(tp.topic)
        }

    def _remember(self, done: Iterable[GroupReport], source: SourceView) -> None:
        known = self._to.books.groups
        entries = [
            group_entry(self._to.books.link, each, source.ids, known.get(each.group.name))
            for each in done
        ]
        news = [each for each in entries if is_news(each, known.get(each.group))]
        if news:
            self._to.ledger.append(news)
        for entry in news:
            self._to.books.take(entry)


def _decided(
    groups: Iterable[TranslatedGroup],
    places: Mapping[TopicPartition, MirrorPlace],
    target: TargetView,
) -> list[GroupPosition]:
    return [
        _once(each, group.last.get(each.tp))
        for group in groups
        for each in decide(_DECISIONS, group, places, target)
    ]


def _once(position: GroupPosition, last: SeenPosition | None) -> GroupPosition:
    """Leave a position alone that the group got before: it may have been set back since."""
    if last is None or last.base != position.source or position.answer is None:
        return position
    if last.target != position.answer.offset:
        return position
    return replace(position, outcome=PositionOutcome.UNCHANGED, reason=None)


def client_names(scope: RestoreScope, rules: RestoreConfig) -> dict[str, ClientGroup]:
    """Return the group names on the target, by archived name."""
    found = {}
    for name, each in scope.groups.items():
        try:
            found[name] = ClientGroup(rules.groups.target_name(name), each.group.kind)
        except ConfigError:
            continue  # told when positions are given
    return found
