"""The start of a link where MirrorMaker 2 stopped, without copying anything again.

Each partition is opened in the ledger behind the last record that the mirror topic holds. From
there on its offsets are mapped: what is before them was mirrored by MirrorMaker 2, and the ledger
knows nothing of it. Which record of the source that is, is proven by comparing records.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from towpath.cluster.data.client import Client
from towpath.ledger.entries import Opened
from towpath.ledger.keys import new_name
from towpath.ledger.link import OpenLink, open_link
from towpath.ledger.producers import producer_id
from towpath.mirror.errors import MirrorMakerRunsError
from towpath.mirror.mm2.copied_positions import find_source, read_positions
from towpath.mirror.mm2.ends import SeamFinder, SucceededPartition
from towpath.mirror.mm2.policy import connect_topic
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import (
    Mode,
    Side,
    SourceOffset,
    TopicName,
    TopicPartition,
)
from towpath.model.reasons import Reason, ReasonCode
from towpath.plan.lease import Lease, require_free
from towpath.runtime.clock import now_ms
from towpath.settings import LinkConfig, OffsetsPolicy
from towpath.topics.circles import without_circles
from towpath.topics.diff import diff
from towpath.topics.known_origins import origins
from towpath.topics.observe import observe
from towpath.topics.observed import Topic
from towpath.topics.other_writers import without_taken

_QUIET = 3.0
"""Seconds in which nothing may be written to the mirror topics."""
_GROUP = "-mm2"
"""What the name of MirrorMaker 2's group of workers ends with in its dedicated mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuccessionRequest:
    """The options of a link that continues after MirrorMaker 2.

    Attributes:
        alias: MirrorMaker 2's alias of the source, "" for the only one that the target knows.
        offsets_topic: Where Kafka Connect keeps its offsets, "" for that of the dedicated mode.
        group: The group of its workers, "" for that of the dedicated mode.
        trust: Whether positions count where records prove nothing.
        scan: Bytes of each source partition to search at most.
        agreed: Called with what was found; returns whether to write it.
    """

    alias: str = ""
    offsets_topic: str = ""
    group: str = ""
    trust: bool = False
    scan: int = 64 << 20
    agreed: Callable[[tuple[SucceededPartition, ...]], bool] = lambda _: True


@dataclass(frozen=True, slots=True, kw_only=True)
class SuccessionReport:
    """The result of preparing a link that continues after MirrorMaker 2.

    Attributes:
        alias: MirrorMaker 2's alias of the source.
        partitions: Each partition of the mirrored topics.
        done: Whether the beginnings are in the ledger.
        notes: What the user should know besides, in sentences.
    """

    alias: str
    partitions: tuple[SucceededPartition, ...]
    done: bool
    notes: tuple[str, ...]

    @property
    def possible(self) -> bool:
        """Whether every partition can continue correctly."""
        return all(each.is_fine or each.begins is not None for each in self.partitions)

    @property
    def complete(self) -> bool:
        """Whether every partition is prepared to continue correctly."""
        due = any(each.begins is not None for each in self.partitions)
        return self.possible and (self.done or not due)


def succeed(config: LinkConfig, request: SuccessionRequest) -> SuccessionReport:
    """Find where MirrorMaker 2 stopped, and record the link's start in the ledger.

    Raises:
        ConfigError: There are no positions, or the file demands identical offsets.
        ClusterError: A cluster cannot be asked.
        LedgerError: The ledger is of no use.
        LinkHeldError: A run of the link goes on.
        MirrorMakerRunsError: MirrorMaker 2 runs, or somebody else writes to the mirror topics.
    """
    if config.records.offsets is OffsetsPolicy.IDENTICAL:
        text = "demands identical offsets, and those behind what MirrorMaker 2 wrote are mapped"
        raise ConfigError((ConfigProblem("records.offsets", text),))
    with ExitStack() as stack:
        link = stack.enter_context(open_link(config))
        if link.ledger.usable():
            require_free(link)
        clients = {
            Side.SOURCE: Client(config.source, Side.SOURCE, link.source),
            Side.TARGET: Client(config.target, Side.TARGET, link.target),
        }
        for client in clients.values():
            stack.enter_context(client)
        return _Succession(link, clients, request).done()


class _Succession:
    def __init__(
        self, link: OpenLink, clients: Mapping[Side, Client], request: SuccessionRequest
    ) -> None:
        self._link, self._clients = link, clients
        alias = request.alias or find_source(link.target)
        self._request = replace(request, alias=alias)
        self._notes: list[str] = []
        self._finder = SeamFinder(link, clients, request.scan)

    def done(self) -> SuccessionReport:
        link, request = self._link, self._request
        link.look()
        self._look_for_workers()
        topic = request.offsets_topic or connect_topic("offsets", request.alias)
        positions = read_positions(
            link.target, self._clients[Side.TARGET], TopicName(topic), request.alias
        )
        pairs = self._topics()
        self._require_quiet(pairs)
        found = tuple(self._partitions(pairs, positions))
        if not found:
            self._notes.append("no mirrored topic exists on both sides")
        due = [each for each in found if each.begins is not None]
        written = bool(due) and request.agreed(found) and self._write(pairs, due)
        return SuccessionReport(
            alias=request.alias, partitions=found, done=written, notes=tuple(self._notes)
        )

    def _look_for_workers(self) -> None:
        """Make sure that MirrorMaker 2 does not run.

        Raises:
            MirrorMakerRunsError: Its workers are there.
        """
        own = self._request.group or f"{self._request.alias}{_GROUP}"
        running = {
            name for name, state in self._link.target.groups.connect().items() if state != "Empty"
        }
        if own in running:
            raise MirrorMakerRunsError(f"group {own} of its workers has members on the target")
        self._notes += (
            f"Kafka Connect group {name} has members on the target; make sure that no connector of"
            " MirrorMaker 2 runs there"
            for name in sorted(running)
        )

    def _topics(self) -> list[tuple[Topic, Topic]]:
        """Return the topics that are mirrored and have a mirror topic."""
        link, config = self._link, self._link.config
        known = origins(config, link.source)
        seen = observe(link.source, link.target, config)
        seen = without_circles(
            without_taken(seen, config, link.books.neighbours),
            known,
            config,
            link.target,
            link.books,
        )
        names = diff(seen, config).topics
        return [
            (topic, seen.target[names[topic.name]])
            for topic in seen.source
            if topic.name in names and names[topic.name] in seen.target
        ]

    def _require_quiet(self, pairs: Sequence[tuple[Topic, Topic]]) -> None:
        """Make sure that nobody writes to the mirror topics.

        Raises:
            MirrorMakerRunsError: Somebody does.
        """
        tps = [
            TopicPartition(mirror.name, n) for _, mirror in pairs for n in range(mirror.partitions)
        ]
        before = self._link.target.offsets.latest(tps) if tps else {}
        threading.Event().wait(_QUIET)
        after = self._link.target.offsets.latest(tps) if tps else {}
        moved = sorted(tp for tp in before if after.get(tp) != before[tp])
        if moved:
            more = f" and {len(moved) - 1} other partitions" if len(moved) > 1 else ""
            raise MirrorMakerRunsError(f"somebody writes to {moved[0]}{more}")

    def _partitions(
        self,
        pairs: Sequence[tuple[Topic, Topic]],
        positions: Mapping[TopicPartition, SourceOffset],
    ) -> Iterator[SucceededPartition]:
        cluster = self._link.source.cluster.id()
        for topic, mirror in pairs:
            for number in range(min(topic.partitions, mirror.partitions)):
                tp = TopicPartition(topic.name, number)
                ids = (self._link.config.link, cluster, topic.id, mirror.id, tp)
                begun = self._link.books.of(tp).is_of(producer_id(*ids))
                one = SucceededPartition(
                    tp=tp,
                    mirror=TopicPartition(mirror.name, number),
                    copied=positions.get(tp),
                )
                if begun:
                    why = "this link has begun to copy it already"
                    yield replace(one, why=why, is_fine=True)
                else:
                    yield self._finder.find(one, topic, mirror, trust=self._request.trust)

    def _write(
        self, pairs: Sequence[tuple[Topic, Topic]], due: Sequence[SucceededPartition]
    ) -> bool:
        """Open the partitions in the ledger, if the mirror topics still end where they did."""
        link, now = self._link, now_ms()
        ends = link.target.offsets.latest([each.mirror for each in due])
        if any(ends.get(each.mirror) != each.target_end for each in due):
            self._require_quiet(pairs)  # tells who
            self._notes.append("mirror topics grew meanwhile, so nothing was written; try again")
            return False
        link.prepare()
        with Lease(link, "import mm2-positions"):
            link.read()
            cluster = link.source.cluster.id()
            by_name = {topic.name: (topic, mirror) for topic, mirror in pairs}
            run_id = new_name()
            entries = []
            for each in due:
                assert each.begins is not None  # noqa: S101  # those are due
                topic, mirror = by_name[each.tp.topic]
                ids = (link.config.link, cluster, topic.id, mirror.id, each.tp)
                why = Reason.of(
                    ReasonCode.MIRRORED_BEFORE,
                    tool="MirrorMaker 2",
                    source_end=each.begins,
                    end=each.target_end,
                )
                entries.append(
                    Opened(
                        link=link.config.link,
                        topic=topic.name,
                        partition=each.tp.partition,
                        source_topic_id=topic.id,
                        target_topic=mirror.name,
                        target_topic_id=mirror.id,
                        producer_id=producer_id(*ids),
                        mode=Mode.MAPPED,
                        reasons=(why,),
                        source_start=each.begins,
                        target_start=each.target_end,
                        run_id=run_id,
                        at=now,
                    )
                )
            link.ledger.append(entries)
        return True
