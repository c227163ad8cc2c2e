"""One sync of groups: observe both clusters, translate, decide, write and read back."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from towpath.groups.before_mirror import BeforeMirror
from towpath.groups.decide import MirrorPlace, TranslatedGroup, decide, mirror_client, placed
from towpath.groups.deletions import Deletions
from towpath.groups.earlier import EarlierLinks
from towpath.groups.foreign_topics import ForeignTopics, was_mirrored_before
from towpath.groups.keeping import Keeper
from towpath.groups.left_behind import gone_at_source, with_left_out
from towpath.groups.model import GroupPosition, GroupReport, SyncReport
from towpath.groups.naming import with_target_names
from towpath.groups.observe_groups import (
    SourceView,
    TargetView,
    source_known,
    source_now,
    surely,
    target_now,
    with_blocked_groups,
)
from towpath.groups.offset_maps import Answer, Positions
from towpath.groups.remembered import all_remembered, with_remembered
from towpath.groups.sync_reports import failed_groups, reports, with_open_transaction
from towpath.groups.sync_state import GroupMemory
from towpath.groups.target_offsets import place, with_target_offsets
from towpath.groups.write import client_of, under_members, write
from towpath.ledger.entries import SeenPosition
from towpath.ledger.link import OpenLink
from towpath.ledger.offsets import Exactness
from towpath.model.errors import ClusterError
from towpath.model.groups import ClientGroup
from towpath.model.nouns import SourceOffset, TopicName, TopicPartition
from towpath.runtime.clock import now_ms
from towpath.settings import Following, GroupsConfig

Decide = Callable[[TargetView], list[GroupPosition]]


class GroupSync:
    """Syncs the groups of a link, repeatedly; for one thread.

    Args:
        link: The link. Nothing else reads by its ledger.
        config: Which groups; by default what the file says, or all where it says nothing.
        only: Tells whether positions in a source topic are meant; by default in those that are
            copied, and not in those that are sealed or failed over.

    Attributes:
        elsewhere: By group, the topics that it reads too and that are not meant, as of the last
            look.
    """

    def __init__(
        self,
        link: OpenLink,
        config: GroupsConfig | None = None,
        only: Callable[[TopicName], bool] | None = None,
    ) -> None:
        self._only = only or (lambda topic: link.books.closed(topic) is None)
        self._link, self._config = link, config or link.config.groups or GroupsConfig()
        self._runs = link.ledger.another()
        self._positions = Positions(link.books)
        self._foreign = ForeignTopics(link, self._config)
        self._earlier, self._fronts = EarlierLinks(link), BeforeMirror(link)
        self._deletions = Deletions(self._config, link.source, link.target)
        self._memory, self._keeper = GroupMemory(link), Keeper(link.target)
        self._checked = False
        self.elsewhere: Mapping[str, frozenset[TopicName]] = {}

    def once(
        self,
        *,
        write: bool = True,
        last: bool = False,
        gone: bool = False,
        renew: bool = False,
        ending: bool = False,
    ) -> SyncReport:
        """Sync the groups once.

        Args:
            write: Write what is due; else this is a preview, and `due` positions are those that a
                sync would write.
            last: Remember also what moved less than a minute ago.
            gone: The source is gone: take what the ledger knows of its groups.
            renew: Commit also what the target has already, so that all of it expires later. Clients
                may go on there next, so a group has failed whose offsets in the link's topics an
                open transaction may change, except in a failover (`ending`), whose source may never
                end it.
            ending: Nothing more will be mirrored, so no position waits for that. Where the source
                does not tell of a group, or lost a topic, the ledger counts.

        Raises:
            ClusterError: A cluster cannot be reached, or the ledger refuses an entry.
            LedgerError: The ledger is of no use.
        """
        self.read()
        self._check(gone=gone or ending)
        source = self._meant(self._source(gone=gone, stable=renew, ending=ending))
        report = self._brought(source, really=write, renew=renew, ending=ending)
        if write:
            self._memory.take(self._to_remember(report), source.ids)
            if self._config.deletions is Following.FOLLOW and not gone:
                report = self._deleted(source, report)
            if last:
                self.flush()
        # Somebody waits for that answer; the syncs of a run need not look at all topics each time.
        told = (renew or not write) and not (gone or ending)
        return self._with_left(source, report) if told else report

    def _source(self, *, gone: bool, stable: bool, ending: bool) -> SourceView:
        """Return the groups at the source, as far as it is asked and answers."""
        config, books, source = self._config, self._link.books, self._link.source
        if gone:
            return source_known(config, books)
        if not ending:
            return source_now(config, source, stable=self._is_meant if stable else None)
        try:
            return with_remembered(source_now(config, source), config, books, source)
        except ClusterError as error:
            return all_remembered(config, books, error)

    def _with_left(self, source: SourceView, report: SyncReport) -> SyncReport:
        """Return the report with what does not move with groups, and groups that went."""
        listed = self._link.source.topics.describe()
        left_out = [each for each in listed if not self._reads_mirrored([TopicPartition(each, 0)])]
        groups = with_left_out(report.groups, left_out)
        return replace(report, groups=(*groups, *self._gone(source, report)))

    def _gone(self, source: SourceView, report: SyncReport) -> Iterator[GroupReport]:
        """Yield the groups that the source had before, and of which the target has offsets.

        Behind a cutover, that is as it should be.
        """
        here = {each.mirror_group for each in report.groups} | {""}
        known = {
            name: each
            for name, each in self._memory.all.items()
            if each.mirror_group not in here
            and any(self._is_meant(tp) and not self._link.books.of(tp).cut for tp in each.positions)
        }
        went = {
            ClientGroup(known[name].mirror_group, known[name].of): known[name]
            for name in sorted(self._deletions.gone(known, source))
        }
        said = self._link.target.groups.offsets(went) if went else {}
        yield from (gone_at_source(went[each], said[each], now_ms()) for each in said if said[each])

    def _is_meant(self, tp: TopicPartition) -> bool:
        """Whether positions in a source partition are brought over."""
        return self._only(tp.topic) and self._reads_mirrored((tp,))

    def _meant(self, source: SourceView) -> SourceView:
        """Return the groups with their positions in the topics that are meant."""
        read = {tp.topic for each in source.groups.values() for tp in each.reads}
        left_out = {topic for topic in read if not self._only(topic)}
        self.elsewhere = {
            name: topics
            for name, each in source.groups.items()
            if (topics := frozenset(tp.topic for tp in each.reads) & left_out)
        }
        moved = self._link.books.moved_groups
        if not left_out and moved.keys().isdisjoint(source.groups):
            return source
        groups = {
            name: each.only(lambda tp: tp.topic not in left_out)
            for name, each in source.groups.items()
            if name not in moved
        }
        return replace(source, groups={name: each for name, each in groups.items() if each.reads})

    def flush(self) -> None:
        """Write pending entries about groups that keep moving to the ledger.

        Raises:
            ClusterError: The ledger refuses an entry, or the target cannot be reached.
        """
        self._memory.flush()

    def _check(self, *, gone: bool) -> None:
        """Raise if the link joins other clusters than at first: offsets mean nothing there."""
        known = self._link.books.identity
        if self._checked or known is None:
            return
        source = known.source_cluster if gone else self._link.source.cluster.id()
        self._link.books.check_clusters(source, self._link.target.cluster.id())
        self._checked = not gone

    def read(self) -> None:
        """Read new ledger entries: facts, offset maps and groups.

        Raises:
            ClusterError: The target cannot be reached.
            LedgerError: The ledger is of no use.
        """
        link = self._link
        if not link.ledger.usable():
            return
        link.read()
        link.ledger.read_groups(link.books)
        if link.books.runs_read:
            for entry in self._runs.stream_runs(link.config.link):
                link.books.take(entry)
        else:
            link.ledger.read_runs(link.books)

    def _brought(
        self, source: SourceView, *, really: bool, renew: bool, ending: bool
    ) -> SyncReport:
        translated = list(map(placed, self._named(source)))
        clients = {mirror_client(each) for each in translated if each.reason is None}
        target = target_now(self._link.target, clients, self._mirrors(translated))
        looked = time.monotonic()
        target, decided = self._decisions(source, translated, target, renew=renew, ending=ending)
        target, positions = self._surely(decided, target, really=really, renew=renew)
        due = Counter(position.group for position in positions if position.due)
        began = time.monotonic()
        if really:
            types = {mirror_client(each): each.group.type for each in translated}
            self._keeper.prepare(types, positions, target, renew=renew)
            positions = write(self._link.target, target.groups, positions)
        done = reports(translated, positions, target, due)
        return SyncReport(
            at=now_ms(),
            groups=tuple(
                with_open_transaction(
                    self._kept(each, target), source.groups[each.group.name].only(self._is_meant)
                )
                for each in done
            ),
            failed={**source.failed, **failed_groups(translated, target)},
            unlisted=source.unlisted + target.unlisted,
            remembered=source.remembered,
            written=really,
            translating=began - looked,
            writing=time.monotonic() - began,
            retention=self._keeper.retention,
        )

    def _mirrors(self, groups: Iterable[TranslatedGroup]) -> Iterable[TopicPartition]:
        """Return the mirror partitions in which groups stand."""
        read = {tp for each in groups for tp in each.group.commits}
        found = (self._positions.mirror_of(tp) or self._foreign.mirror_of(tp) for tp in read)
        return filter(None, found)

    def _decisions(
        self,
        source: SourceView,
        groups: Iterable[TranslatedGroup],
        target: TargetView,
        *,
        renew: bool,
        ending: bool,
    ) -> tuple[TargetView, Decide]:
        """Return the target as groups see it, and what decides where they go on there."""
        self._positions.begin(target.starts)
        self._earlier.begin(target.starts)
        read = {tp for each in groups for tp in each.group.commits}
        spots = {tp: self._place(tp, source, target) for tp in read}
        with self._foreign.open():
            told = [with_target_offsets(each, spots, self._answer) for each in groups]
        target = self._fronts.seen(told, spots, target)
        return target, partial(self._decided, told, spots, renew=renew, ending=ending)

    def _to_remember(self, report: SyncReport) -> SyncReport:
        """Return what the ledger keeps of a sync."""
        return report

    def _surely(
        self,
        decided: Decide,
        target: TargetView,
        *,
        really: bool,
        renew: bool,
    ) -> tuple[TargetView, list[GroupPosition]]:
        """Decide; look again at groups for which a closer look may change the decision."""
        positions = decided(target)
        seen = target
        if renew or not really:
            # Somebody waits for the answer, and is to know whether the members go by themselves.
            busy = {client_of(each) for each in positions if under_members(each)}
            seen = with_blocked_groups(self._link.target, seen, busy)
        if really:
            due_groups = {client_of(each) for each in positions if each.due}
            seen = surely(self._link.target, seen, due_groups)
        if seen is not target:
            positions = decided(seen)
        return seen, positions

    def _kept(self, report: GroupReport, target: TargetView) -> GroupReport:
        """Return a report with how long the target keeps the group."""
        known = self._memory.of(report.group.name)
        since = report.at if report.all_committed else known.committed if known is not None else 0
        return self._keeper.told(replace(report, committed=since), target, now_ms())

    def _place(self, tp: TopicPartition, source: SourceView, target: TargetView) -> MirrorPlace:
        if self._foreign.holds(tp):
            return self._foreign.place(tp, source, target)
        opened = self._link.books.of(tp).opened
        return place(self._link.config.topics, tp, opened, source, target)

    def _reads_mirrored(self, tps: Iterable[TopicPartition]) -> bool:
        topics = self._link.config.topics
        return any(topics.matches(tp.topic) or self._foreign.holds(tp) for tp in tps)

    def _decided(
        self,
        groups: Iterable[TranslatedGroup],
        places: Mapping[TopicPartition, MirrorPlace],
        target: TargetView,
        *,
        renew: bool,
        ending: bool,
    ) -> list[GroupPosition]:
        return [
            position
            for each in groups
            for position in decide(self._config, each, places, target, renew=renew, ending=ending)
        ]

    def _named(self, source: SourceView) -> Iterator[TranslatedGroup]:
        """Yield the groups that read mirrored topics, with their names on the target."""
        read = {
            name: group
            for name, group in sorted(source.groups.items())
            if self._reads_mirrored(group.reads)
        }
        for each in with_target_names(read, self._config.target_name, self._last):
            known = self._memory.of(each.group.group.name)
            yield replace(each, last_mark=known.mark if known is not None else "")

    def _last(self, name: str) -> Mapping[TopicPartition, SeenPosition]:
        known = self._memory.of(name)
        return known.positions if known is not None else {}

    def _answer(self, tp: TopicPartition, offset: SourceOffset) -> Answer:
        if self._foreign.holds(tp):
            return self._foreign.answer(tp, offset)
        answer, opened = self._positions.answer(tp, offset), self._link.books.of(tp).opened
        if answer.exactness is not Exactness.BEFORE_START or opened is None:
            return answer
        answer = self._earlier.answer(opened, offset, answer)
        if answer.exactness is Exactness.BEFORE_START and was_mirrored_before(opened):
            # A consumer that began where this link did would skip what the other tool mirrored.
            return self._foreign.before(opened, offset)
        return answer

    def _deleted(self, source: SourceView, report: SyncReport) -> SyncReport:
        """Delete what the source has deleted; return the report with that."""
        books = self._link.books
        known = {tp: each.opened for tp, each in books.partitions.items()}
        mirrors = {tp: opened.target for tp, opened in known.items() if opened is not None}
        told = []
        moved = self._link.books.moved_groups
        mine = {name: each for name, each in self._memory.all.items() if name not in moved}
        for each in self._deletions.follow(mine, source, mirrors):
            told.append(each.report)
            self._memory.forget(each.report.group.name, each.entry)
        return replace(report, groups=report.groups + tuple(told))
