"""The sync of groups at the cutover of a link whose records go through a query."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from towpath.cluster.data.client import Client
from towpath.cluster.metadata import every_partition
from towpath.groups.at_cut import (
    CutTopic,
    KnownGroup,
    at_cut,
    remembered,
    unread_at_source,
)
from towpath.groups.decide import TranslatedGroup, decide, mirror_client, placed
from towpath.groups.model import GroupPosition, SyncReport
from towpath.groups.observe_groups import SourceGroup, SourceView, TargetView, source_now
from towpath.groups.reading import Log
from towpath.groups.sync import Decide, GroupSync
from towpath.groups.unread import Found, PassedOver, by_client, count_records, unread_text
from towpath.ledger.link import OpenLink
from towpath.model.groups import ClientGroup
from towpath.model.nouns import Side, TargetOffset, TopicName, TopicPartition
from towpath.settings import GroupsConfig


class CutSync(GroupSync):
    """Lets groups that have read everything go on at the end of mirror topics; for one thread.

    Args:
        link: The link. Nothing else reads by its ledger.
        config: Which groups; by default what the file says, or all where it says nothing.
        may_skip: Names of the groups that are meant to pass over what they have not read.
        others: By mirror topic, whose records it may have that groups have not read at the source.

    Attributes:
        passed_over: What groups of `may_skip` have not read, as of the last look.
        among_others: Groups of `may_skip` with the mirror topics that have records of others.
    """

    def __init__(
        self,
        link: OpenLink,
        config: GroupsConfig | None = None,
        *,
        may_skip: Collection[str] = (),
        others: Mapping[TopicName, str] | None = None,
    ) -> None:
        super().__init__(link, config)
        self._may_skip, self._others = may_skip, others or {}
        self._here: dict[str, TranslatedGroup] = {}
        self.passed_over: tuple[PassedOver, ...] = ()
        self.among_others: tuple[tuple[ClientGroup, CutTopic], ...] = ()
        self._mirror_ends: dict[TopicName, CutTopic | None] = {}

    def unread(self) -> tuple[PassedOver, ...]:
        """Return what groups have not read at the source, also where that is meant.

        Raises:
            ClusterError: A cluster cannot be reached.
            LedgerError: The ledger is of no use.
        """
        self.read()
        source = self._meant(source_now(self._config, self._link.source))
        return self._unread(source, [placed(each) for each in self._named(source)])

    def _mirrors(self, groups: Iterable[TranslatedGroup]) -> Iterable[TopicPartition]:
        topics = self._topics(groups)
        names, _ = self._link.config.topics.target_names(topics)
        found = self._link.target.topics.describe(names.values())
        tps = every_partition({name: i for name, i in found.items() if i.error is None})
        self._mirror_ends = dict.fromkeys(topics)
        for topic, name in names.items():
            numbers = [tp.partition for tp in tps if tp.topic == name]
            if numbers:
                self._mirror_ends[topic] = CutTopic(
                    mirror=name,
                    ends=dict.fromkeys(numbers, TargetOffset(0)),
                    was_cut=self._was_cut(topic),
                    others=self._others.get(name, ""),
                )
        return tps

    def _decisions(
        self,
        source: SourceView,
        groups: Iterable[TranslatedGroup],
        target: TargetView,
        *,
        renew: bool,
        ending: bool,
    ) -> tuple[TargetView, Decide]:
        given = list(groups)
        self._here = {each.group.group.name: each for each in given}
        for topic, each in self._mirror_ends.items():
            self._mirror_ends[topic] = None if each is None else each.ending(target.ends)
        found = self._unread(source, given)
        self.passed_over = tuple(each for each in found if each.group.name in self._may_skip)
        self.among_others = tuple(self._among_others(given, source))
        unread = by_client(each for each in found if each.group.name not in self._may_skip)

        def decided(view: TargetView) -> list[GroupPosition]:
            return [
                position
                for each in given
                for position in self._decided_group(
                    each, source, view, unread.get(each.group.group, ()), renew=renew, ending=ending
                )
            ]

        return target, decided

    def _decided_group(
        self,
        group: TranslatedGroup,
        source: SourceView,
        target: TargetView,
        unread: Collection[PassedOver],
        *,
        renew: bool,
        ending: bool,
    ) -> Iterable[GroupPosition]:
        name = group.group.group.name
        rows = {
            topic: [each for each in unread if each.tp.topic == topic]
            for topic in {each.tp.topic for each in unread}
        }
        known = replace(
            self._known(name, source),
            there=target.commits.get(mirror_client(group), {}),
            unread={topic: unread_text(theirs) for topic, theirs in rows.items()},
            may_skip=name in self._may_skip,
        )
        made = at_cut(group, self._mirror_ends, known)
        return decide(self._config, made.group, made.places, target, renew=renew, ending=ending)

    def _known(self, name: str, source: SourceView) -> KnownGroup:
        return KnownGroup(last=self._memory.of(name), ids=source.ids)

    def _among_others(
        self, groups: Iterable[TranslatedGroup], source: SourceView
    ) -> Iterator[tuple[ClientGroup, CutTopic]]:
        for each in groups:
            if each.group.group.name in self._may_skip:
                here = {tp.topic for tp in self._reading_here(each, source).commits}
                for topic in sorted(here & self._mirror_ends.keys()):
                    mirror = self._mirror_ends[topic]
                    if mirror is not None and mirror.others:
                        yield each.group.group, mirror

    def _to_remember(self, report: SyncReport) -> SyncReport:
        groups = (
            remembered(each, self._here[each.group.name].group.commits, self._mirror_ends)
            for each in report.groups
        )
        return replace(report, groups=tuple(groups))

    def _topics(self, groups: Iterable[TranslatedGroup]) -> set[TopicName]:
        """Return the topics of the link that groups read."""
        topics = self._link.config.topics
        read = {tp.topic for each in groups for tp in each.group.commits}
        return {each for each in read if topics.matches(each)}

    def _was_cut(self, topic: TopicName) -> bool:
        known = self._link.books.partitions
        return any(tp.topic == topic and each.cut is not None for tp, each in known.items())

    def _unread(
        self, source: SourceView, groups: Collection[TranslatedGroup]
    ) -> tuple[PassedOver, ...]:
        """Return what groups have not read, except those that go on on the target."""
        link = self._link
        listed = link.source.topics.describe(self._topics(groups))
        tps = every_partition({name: i for name, i in listed.items() if i.error is None})
        starts = link.source.offsets.earliest(tps)
        ends = link.source.offsets.latest(tps, committed=True)
        logs = {tp: (starts.sure(tp), ends.sure(tp)) for tp in tps}
        here = [self._reading_here(each, source) for each in groups]
        with Client(link.config.source, Side.SOURCE, link.source) as client:

            def counting(tp: TopicPartition, first: int, end: int) -> Found:
                return count_records(Log(link.source, client, tp), first, end)

            return tuple(unread_at_source(here, logs, counting))

    def _reading_here(self, group: TranslatedGroup, source: SourceView) -> SourceGroup:
        """Return a group with its offsets in topics that it still reads at the source."""
        commits = group.group.commits
        known = self._known(group.group.group.name, source)
        over = {
            topic
            for topic in self._topics([group])
            if self._was_cut(topic)
            and known.went_over(topic, {tp: at for tp, at in commits.items() if tp.topic == topic})
        }
        return group.group.only(lambda tp: tp.topic not in over)
