"""The slices of a round: which task copies which partitions, and from which offset."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from towpath.cluster.admin import Admin
from towpath.cluster.admin.leaders import KnownLeaders
from towpath.cluster.data.client import Client
from towpath.ledger.books import LinkBooks
from towpath.ledger.ledger import SESSIONS, Ledger
from towpath.ledger.link import Known, OpenLink
from towpath.ledger.producers import producer_id
from towpath.mirror.plan.starts import beginnings, first_look, from_earliest, looks_first
from towpath.mirror.run.deals import Demand, Weighed, spread
from towpath.mirror.run.ends import Ends
from towpath.mirror.status.source_cuts import cut_logs
from towpath.model.errors import ClusterError
from towpath.model.nouns import (
    NO_LINK,
    ClusterId,
    Side,
    SourceOffset,
    TopicName,
    TopicPartition,
)
from towpath.records.source.beginnings import PATIENCE, find_starts
from towpath.records.work import EARLIEST, UNKNOWN, Assignment, Beginning, CopySlice
from towpath.settings import LinkConfig, OffsetsPolicy
from towpath.topics.circles import without_circles
from towpath.topics.configs import final_policy, largest_batch, stamps_itself
from towpath.topics.diff import diff
from towpath.topics.known_origins import origins
from towpath.topics.markers import markers
from towpath.topics.observe import observe
from towpath.topics.observed import ObservedTopics, Topic
from towpath.topics.other_writers import without_taken

WORK = "towpath.mirror.run.slices:run_slice"
"""The function that runs a slice; only Python workers import it."""
_NONE: Mapping[TopicPartition, Assignment] = MappingProxyType({})
_LATE = 60.0
"""Seconds after the end of its round at which a slice ends that was not told to."""
_OVERHEAD = 1024
"""Bytes to leave free below the size limit of a batch."""


@dataclass(frozen=True)
class RoundPlan:
    """The parameters that all rounds of a run share."""

    config: LinkConfig
    run_id: str
    parallelism: int
    once: bool
    settled: bool = True
    """No request of an earlier copier can still arrive at the target when the round begins."""
    follows: int = 0
    """The round that hands over to this one, 0 if none does."""
    ends: Ends = field(default_factory=Ends)
    """The offsets at which partitions are done, if the run ends `once` it has caught up."""
    demand: Demand = field(default_factory=Demand)
    """What was written to partitions lately; partitions are spread by it and by their lag."""


@dataclass(frozen=True)
class Look:
    """The topics of both clusters, and the mirror topic of each mirrored source topic.

    `diff` decides what is mirrored, for a plan and for each round alike.
    """

    seen: ObservedTopics
    topics: Mapping[TopicName, TopicName]


def look_at_topics(config: LinkConfig, source: Admin, target: Admin, books: LinkBooks) -> Look:
    """Observe the topics of both clusters.

    Raises:
        ClusterError: One of them could not be reached.
    """
    known = origins(config, source)
    seen = without_taken(observe(source, target, config), config, books.neighbours)
    seen = without_circles(seen, known, config, target, books)
    return Look(seen, diff(seen, config).topics)


def plan_round(
    plan: RoundPlan, number: int, look: Look | None = None, known: Known | None = None
) -> list[CopySlice]:
    """Return the slices of a round; none when the run is over or nothing matches.

    Args:
        plan: The parameters that all rounds of the run share.
        number: The number of the round.
        look: A recent look at both clusters; `None` to look now.
        known: What was read of the ledger; `None` to read all of it now.
    """
    config = plan.config
    known = known or Known(LinkBooks(config.link))
    with (
        Admin(config.source, Side.SOURCE, known.source) as source,
        Admin(config.target, Side.TARGET, known.target) as target,
        Client(config.target, Side.TARGET, target) as client,
    ):
        books = known.books
        ledger = Ledger(target, client, facts_from=known.facts_end)
        for entry in (*ledger.read(wanted=books.wants), *ledger.read(SESSIONS)):
            books.take(entry)
        last = books.session
        if last is not None and last.run_id == plan.run_id and last.over:
            return []
        weighed = _Assigner(plan, source, target, books, ledger, look).assignments()
        memory_ms = _memory_ms(target)
        clusters = source.cluster.id(), target.cluster.id()
    parts = spread(weighed, plan.parallelism)
    if not parts and not plan.once:
        parts = [()]  # partitions may be dealt to it later
    slices = [_slice(plan, number, part) for part in parts]
    return [
        replace(
            each,
            number=n,
            settled=plan.settled,
            follows=plan.follows,
            target_memory_ms=memory_ms,
            source_cluster=clusters[0],
            target_cluster=clusters[1],
            ledger=target.identity.ledger,
        )
        for n, each in enumerate(slices)
    ]


def plan_more(
    plan: RoundPlan,
    link: OpenLink,
    held: Mapping[TopicPartition, Assignment],
    look: Look | None = None,
) -> list[Weighed]:
    """Return the partitions that no slice copies under its present terms, with weights.

    Args:
        plan: The parameters that all rounds of the run share.
        link: The link, with its books read.
        held: The partitions of the slices. Those whose terms have changed are returned as well.
        look: As in `plan_round`.
    """
    assigner = _Assigner(plan, link.source, link.target, link.books, link.ledger, look)
    return assigner.assignments(held)


def _memory_ms(target: Admin) -> int:
    """Return how long the target remembers producer ids, in ms; 0 if the config is hidden."""
    with suppress(ClusterError):
        return int(target.cluster.broker_config("producer.id.expiration.ms") or 0)
    return 0


def _slice(plan: RoundPlan, number: int, assignments: tuple[Assignment, ...]) -> CopySlice:
    config = plan.config
    return CopySlice(
        link=config.link,
        source=config.source,
        target=config.target,
        assignments=assignments,
        run_id=plan.run_id,
        round=number,
        seconds=float("inf") if plan.once else config.run.round + _LATE,
        offsets=config.records.offsets,
        stop_on_gap=config.records.stops_by_default,
        gap_rules=config.records.on_gap,
        receipts=float(config.run.receipts),
        memory=int(config.run.memory),
        archive=config.records.archive,
        twin=config.topics.twin or NO_LINK,
    )


class _Assigner:
    """Finds the partitions that exist on both sides, and their first and last offsets."""

    def __init__(
        self,
        plan: RoundPlan,
        source: Admin,
        target: Admin,
        books: LinkBooks,
        ledger: Ledger,
        look: Look | None,
    ) -> None:
        self._config, self._run_id = plan.config, plan.run_id
        self._ends = plan.ends if plan.once else None
        self._demand = plan.demand
        self._source, self._target = source, target
        self._books, self._ledger, self._look = books, ledger, look
        self._fill = 0
        self._cut_over: Mapping[TopicPartition, SourceOffset] = MappingProxyType({})

    def assignments(self, held: Mapping[TopicPartition, Assignment] = _NONE) -> list[Weighed]:
        """Return each partition that no slice holds, with its weight.

        No partition waits for the leader of another. The slice finds offsets that are unknown now
        (`records/source/beginnings.py`).
        """
        self._fill, _ = markers(
            self._config.records.offsets, self._config.records.fill, self._target
        )
        raw = self._raw(self._topics(), self._source.cluster.id())
        made = [a for a in raw if a.source not in held or held[a.source].terms != a.terms]
        leaders = KnownLeaders()
        latest = self._source.offsets.latest(
            [a.source for a in made], committed=True, patience=PATIENCE, leaders=leaders
        )
        fresh = {a.source: a.source_id for a in made if self._new(a)}
        begins = beginnings(self._config.records, self._source, self._books, fresh, self._cut_over)
        starts = find_starts(self._source, begins, leaders)
        cuts = self._cuts(made) if self._ends is not None else {}
        return [self._finished(a, begins, starts, latest, cuts) for a in made]

    def _cuts(self, made: Iterable[Assignment]) -> dict[TopicPartition, int]:
        """Return how many cuts are known of partitions whose source logs were cut once more."""
        known = {a.source: self._books.of(a.source) for a in made if not self._new(a)}
        cut = cut_logs(self._source, known, PATIENCE)
        return {tp: receipt.cuts for tp in cut if (receipt := known[tp].receipt) is not None}

    def _topics(self) -> list[tuple[Topic, Topic]]:
        """Return the topics that can be mirrored, each with its mirror topic."""
        look = self._look or look_at_topics(self._config, self._source, self._target, self._books)
        seen, mirrored = look.seen, look.topics
        self._cut_over = seen.begins
        again = self._books.made_again({topic.name: topic.id for topic in seen.source})
        self._look_first([topic for topic in seen.source if topic.name in mirrored])
        return [
            (topic, seen.target[copy])
            for topic in seen.source
            if topic.name in mirrored
            and (copy := mirrored[topic.name]) in seen.target
            and not (topic.name in again and self._config.records.stops_on_gap(topic.name))
            and not self._books.rests(topic.name)
        ]

    def _look_first(self, topics: list[Topic]) -> None:
        """Write the ends of all partitions to the ledger, if the link begins there."""
        if not looks_first(self._config.records, self._books):
            return
        entries = list(first_look(self._source, self._books, self._run_id, topics))
        self._ledger.append(entries)
        for entry in entries:
            self._books.take(entry)

    def _raw(
        self, topics: Collection[tuple[Topic, Topic]], cluster: ClusterId
    ) -> Iterator[Assignment]:
        for source, target in topics:
            rules = self._config.topics.configs
            compacted = "compact" in final_policy(source, target.configs, rules)
            both_clocks = stamps_itself(source.configs) and stamps_itself(target.configs)
            change = self._config.change_of(source.name)
            most = largest_batch(target.configs) - _OVERHEAD
            for number in range(min(source.partitions, target.partitions)):
                tp = TopicPartition(source.name, number)
                ids = (self._config.link, cluster, source.id, target.id, tp)
                books, first = self._books.of(tp), producer_id(*ids)
                own = books.heir(first)
                earlier = frozenset() if own == first else books.own - {own}
                yield Assignment(
                    source=tp,
                    target=TopicPartition(target.name, tp.partition),
                    source_id=source.id,
                    target_id=target.id,
                    producer_id=own,
                    filler_id=producer_id(*ids, purpose="filler"),
                    start=SourceOffset(0),
                    end=None,
                    compacted=compacted,
                    keep_append_time=both_clocks,
                    max_batch=max(_OVERHEAD, most),
                    must_be_identical=self._config.records.offsets is OffsetsPolicy.IDENTICAL,
                    marker_id=producer_id(*ids, purpose="marker"),
                    fill=self._fill,
                    earlier=earlier,
                    change=change,
                )

    def _new(self, a: Assignment) -> bool:
        return not self._books.of(a.source).is_of(a.producer_id)

    def _finished(
        self,
        a: Assignment,
        begins: Mapping[TopicPartition, Beginning],
        starts: Mapping[TopicPartition, SourceOffset],
        latest: Mapping[TopicPartition, int],
        cuts: Mapping[TopicPartition, int],
    ) -> Weighed:
        receipt = self._books.of(a.source).receipt
        start = starts.get(a.source, UNKNOWN) if a.source in begins else SourceOffset(0)
        at = receipt.source_end if receipt and not self._new(a) else start
        end = self._ends.of(a, latest) if self._ends is not None else None
        until = latest.get(a.source, at) if end in {None, UNKNOWN} else end
        copied = (receipt.records, receipt.bytes) if receipt else (0, 0)
        weight = self._demand.weight(a.source, max(0, until - at), *copied)
        moves = a.source not in self._cut_over and from_earliest(
            self._config.records, self._books, a.source, a.source_id
        )
        begin = begins.get(a.source, EARLIEST)
        known = cuts.get(a.source, -1)
        return weight, replace(
            a, start=start, end=end, begin=begin, from_earliest=moves, cuts=known
        )
