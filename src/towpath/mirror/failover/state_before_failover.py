"""The state of a link before a failover, read from the target, and the source if possible."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from towpath.cluster.metadata import Answers, ProducerState, TopicInfo
from towpath.groups.model import SyncReport
from towpath.groups.sync import GroupSync
from towpath.groups.write import client_of
from towpath.ledger.alive import RunLife, is_gone
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.ledger.entries import WHOLE_LINK, Cut, LinkLease, Session
from towpath.ledger.link import OpenLink
from towpath.ledger.moves import halfway
from towpath.ledger.producers import of_generation
from towpath.mirror.failover.beyond import ahead_of, committed_beyond
from towpath.mirror.failover.cuts import cut_of
from towpath.mirror.failover.failover_plan import FailoverPlan
from towpath.mirror.failover.group_positions import split_groups, without_rights
from towpath.mirror.failover.partitions import (
    UNKNOWN,
    PartitionPlan,
    partition_plan,
    standing_cut,
    with_known,
)
from towpath.mirror.failover.source_ends import SourceEnds, source_ends
from towpath.model.errors import ClusterError, RefusedError, UnreachableError
from towpath.model.nouns import (
    Mode,
    ProducerId,
    SourceOffset,
    TargetOffset,
    TopicName,
    TopicPartition,
)
from towpath.model.reasons import Reason, ReasonCode
from towpath.plan.lease import last_signs
from towpath.records.target.fences import EPOCH, unfenceable
from towpath.runtime.clock import now_ms
from towpath.settings import GroupsConfig

_SIGN = 10.0
"""Seconds after the last sign of a lease's holder until which it counts as alive."""
PATIENCE = 5.0
"""Seconds that a cluster gets which may be gone, and each leader of the other one."""


@dataclass(frozen=True, slots=True)
class FailoverScope:
    """The topics and groups of a link that are to fail over.

    Attributes:
        topics: The source topics; none for all of them.
        groups: The groups by their names at the source; none for all that the file asks for.
    """

    topics: tuple[TopicName, ...] = ()
    groups: tuple[str, ...] = ()

    def takes(self, books: LinkBooks, topic: TopicName) -> bool:
        """Whether a topic is part of the failover, and has not failed over already.

        Those that are only halfway go on with the whole link.
        """
        if self.topics:
            return topic in self.topics
        own = books.states.get(topic)
        return own is None or not own.is_closed or topic in halfway(books)

    def moved(self, books: LinkBooks) -> tuple[TopicName, ...]:
        """Return the topics whose states change, or the whole link as one of them."""
        return self.topics or (WHOLE_LINK, *sorted(halfway(books)))

    def config(self, known: GroupsConfig | None) -> GroupsConfig | None:
        """Return the filter of the groups that fail over, `None` for no groups."""
        if not self.groups:
            return known
        names = tuple(re.escape(each) for each in self.groups)
        return (known or GroupsConfig()).model_copy(update={"include": names})


@dataclass(slots=True)
class Looker:
    """Reads the state of a link before a failover, as often as needed.

    Attributes:
        link: The link, whose ledger was read.
        scope: What of it is meant.
        gone: Why the source does not answer, "" if it does, `None` if it was not asked yet.
    """

    link: OpenLink
    scope: FailoverScope
    gone: str | None = None

    @property
    def opened(self) -> dict[TopicPartition, PartitionBooks]:
        """The partitions in the scope, with the ledger's state of each."""
        books, topics = self.link.books, self.link.config.topics
        return {
            tp: each
            for tp, each in sorted(books.partitions.items())
            if each.opened is not None
            and topics.matches(tp.topic)
            and self.scope.takes(books, tp.topic)
        }

    def ask_source(self) -> str:
        """Return why the source does not answer, "" if it does.

        Raises:
            LedgerError: It is another cluster than the one that was mirrored.
        """
        if self.gone is None:
            link = self.link
            try:
                link.source.cluster.pulse(PATIENCE)
                cluster = link.source.cluster.id()
            except ClusterError as error:
                self.gone = str(error)
            else:
                link.books.check_clusters(cluster, link.target.cluster.id())
                self.gone = ""
        return self.gone

    def plan(self) -> FailoverPlan:
        """Return the plan of the failover: lost records, and records that groups read twice.

        Raises:
            ClusterError: The target cannot be reached.
            LedgerError: The ledger is of no use, or the link joins other clusters.
        """
        link, gone = self.link, self.ask_source()
        sync = self.sync()
        sync.read()
        session, lease = last_signs(link.ledger.another(), link.name)
        partitions = self.partitions()
        with self._as_if_cut(partitions):
            report = self._groups(sync)
        partitions = with_known(partitions, report)
        return FailoverPlan(
            link=link.name,
            at=now_ms(),
            topics=self.scope.topics,
            partitions=partitions,
            groups=report,
            state=link.books.state_of(*self.scope.topics[:1]),
            run=self._life(session),
            source_gone=gone,
            unfenced=self._unfenced(),
            unfenceable=unfenceable(link.target, link.name, self.opened, PATIENCE),
            held_by="" if self.scope.topics else held_by(lease),
            split=tuple(split_groups(report, sync.elsewhere)),
            held=tuple(link.books.held_topics({each.target.topic for each in partitions})),
            stopped=() if self.scope.topics else tuple(sorted(link.books.stopped)),
            paused=tuple(filter(link.books.pause_of, sorted({each.topic for each in self.opened}))),
        )

    @contextmanager
    def _as_if_cut(self, partitions: Iterable[PartitionPlan]) -> Iterator[None]:
        """Let the books know for a moment where partitions would be cut, as groups go by that."""
        books, kept = self.link.books, dict[TopicPartition, dict[ProducerId, Cut]]()
        for each in partitions:
            if each.cut is None and each.trouble is None:
                known = books.of(each.tp)
                kept[each.tp] = dict(known.cuts)
                known.take(cut_of(self.link.name, known, each, now_ms()))
        try:
            yield
        finally:
            for tp, cuts in kept.items():
                books.of(tp).cuts = cuts

    def sync(self) -> GroupSync:
        """Return the sync of the groups in the scope."""
        config = self.scope.config(self.link.config.groups)
        mine = {tp.topic for tp in self.opened}
        return GroupSync(self.link, config, mine.__contains__)

    def _groups(self, sync: GroupSync) -> SyncReport | None:
        if self.scope.config(self.link.config.groups) is None:
            return None
        report = sync.once(write=False, gone=bool(self.gone), ending=True)
        due = {client_of(each) for each in report.positions if each.due}
        try:
            return without_rights(report, self.link.target.groups.unwritable(due))
        except ClusterError:  # the report tells of groups whose coordinator does not answer
            return report

    def partitions(self) -> tuple[PartitionPlan, ...]:
        """Return the plan of each partition, by the present state of both clusters.

        Raises:
            ClusterError: The target cannot be reached.
        """
        known, target = self.opened, self.link.target
        mirrors = {tp: each.opened.target for tp, each in known.items() if each.opened}
        there = target.topics.describe({tp.topic for tp in mirrors.values()})
        ends = target.offsets.log_ends(mirrors.values(), patience=PATIENCE)
        source, states = self._source(known), self.states(known)
        fences = {tp: _fences(each, states.get(mirrors[tp], ())) for tp, each in known.items()}
        # A fence of an attempt that was killed may have come behind the first look at the ends.
        fenced = [mirrors[tp] for tp, number in fences.items() if number]
        later = target.offsets.log_ends(fenced, patience=PATIENCE)
        ends = Answers({**ends, **later}, {**ends.failed, **later.failed})
        self._read_runs(known, ends)
        ahead = {tp: ahead_of(each, states.get(mirrors[tp], ())) for tp, each in known.items()}
        ahead |= committed_beyond(self.link, known, ends)
        return tuple(
            replace(
                partition_plan(
                    tp,
                    books,
                    ends.get(mirrors[tp], UNKNOWN),
                    source.ends.get(tp, UNKNOWN),
                    ahead[tp],
                    _trouble(books, there, ends),
                    fences[tp],
                    partial(_source_of, books),
                ),
                silent=source.silent.get(tp),
            )
            for tp, books in known.items()
        )

    def _read_runs(
        self, known: Mapping[TopicPartition, PartitionBooks], ends: Mapping[TopicPartition, int]
    ) -> None:
        """Read the offset maps if a mapped partition of the target lost what was copied."""
        link = self.link
        if not link.books.runs_read and any(_recedes(each, ends) for each in known.values()):
            link.ledger.read_runs(link.books)

    def states(
        self, known: Mapping[TopicPartition, PartitionBooks]
    ) -> Answers[TopicPartition, tuple[ProducerState, ...]]:
        """Return the producer states of the target partitions."""
        mirrors = [each.opened.target for each in known.values() if each.opened is not None]
        return self.link.target.producers.states(mirrors, patience=PATIENCE)

    def _source(self, known: Mapping[TopicPartition, PartitionBooks]) -> SourceEnds:
        """Return where source logs end, as far as the source tells."""
        return SourceEnds({}, {}) if self.gone else source_ends(self.link.source, known, PATIENCE)

    def _unfenced(self) -> str:
        """Return why the target takes no fences from this login, "" if it does."""
        try:
            refusal: RefusedError | None = self.link.target.producers.marker_refusal()
        except UnreachableError as error:
            return str(error)
        return str(refusal) if refusal is not None else ""

    def _life(self, session: Session | None) -> RunLife | None:
        return RunLife.of(session) if session is not None else None


def held_by(lease: LinkLease | None) -> str:
    """Return the holder of the link's lease, "" for nobody or for a run, which would end.

    A holder whose last sign is older than that of a run that lives is as good as dead: the lease
    is taken over.
    """
    if lease is None or lease.over or lease.command == "run" or is_gone(lease):
        return ""
    return str(lease.holder) if now_ms() - lease.beat <= _SIGN * 1000 else ""


def _fences(books: PartitionBooks, states: Iterable[ProducerState]) -> int:
    """Return how many fences an attempt left that was killed before it wrote the cut."""
    if books.opened is None or standing_cut(books) is not None:
        return 0
    own = of_generation(books.opened.producer_id, books.generation)
    return sum(each.id == own and each.epoch == EPOCH for each in states)


def _source_of(books: PartitionBooks, offset: TargetOffset) -> SourceOffset:
    return books.offsets().to_source(offset).offset


def _recedes(books: PartitionBooks, ends: Mapping[TopicPartition, int]) -> bool:
    """Whether offsets are mapped, and the target log ends before what the ledger tells."""
    opened, receipt = books.opened, books.receipt
    if opened is None or receipt is None or books.mode is Mode.IDENTICAL:
        return False
    return 0 <= ends.get(opened.target, UNKNOWN) < receipt.target_end


def _trouble(
    books: PartitionBooks,
    there: Mapping[TopicName, TopicInfo],
    ends: Answers[TopicPartition, int],
) -> Reason | None:
    """Return why the target's partition cannot be used, `None` if it can."""
    opened = books.opened
    if opened is None:
        return None
    topic = there.get(opened.target_topic)
    if topic is not None and topic.error is not None:
        return topic.error.reason
    if topic is None or topic.id != opened.target_topic_id:
        return Reason.of(ReasonCode.TARGET_REPLACED, topic=opened.target_topic)
    silent = ends.failed.get(opened.target)
    return silent.reason if silent is not None else None
