"""`towpath repair --ledger`: restore the positions of partitions after the ledger was lost.

The private producer ids are derived (`ledger/producers.py`), so the link's own batches are known in
the target's logs without a ledger. Where a mirror partition has the offsets of the source, the end
of its log is where copying goes on, and the last of its batches tells the sequence. Before that is
written, all records that both sides still have are compared at their offsets.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace

from towpath.cluster.data.client import Client
from towpath.cluster.metadata import TopicInfo
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Entry
from towpath.ledger.link import OpenLink, open_link
from towpath.ledger.producers import generations, producer_id
from towpath.mirror.repair.found import (
    BooklessMirror,
    FoundPlace,
    LostPlace,
    Outcome,
    entries,
    hindered,
    judged,
    last_own,
)
from towpath.mirror.twin import require_no_twin
from towpath.mirror.verify.comparing import compared
from towpath.mirror.verify.observed import Observed
from towpath.mirror.verify.ranges import common_range
from towpath.mirror.verify.scope import Scope
from towpath.model.errors import (
    RefusedError,
    StepOutdatedError,
    StoppedError,
)
from towpath.model.nouns import ClusterId, ProducerId, Side, TopicName, TopicPartition
from towpath.plan.lease import Lease
from towpath.records.session import LinkSession
from towpath.settings import LinkConfig
from towpath.wire.header import BatchHeader, split

_FETCH = 4 << 20
_WAIT = 0.05
_WINDOW = 1 << 10
"""Offsets before the end of a log that are searched first for a batch of the link."""


@dataclass(frozen=True, slots=True)
class RebuildRequest:
    """The options of restoring ledger entries.

    Attributes:
        topics: The source topics; empty for all of the file.
        agreed: Called with what was found; returns whether to write it to the ledger.
        on_done: Called with the number of slices that are done, and the total number.
        stop: Set to end early.
        scope: Spark's master, the archive for its workers, and the number of slices at a time.
    """

    topics: tuple[TopicName, ...]
    agreed: Callable[[tuple[Outcome, ...]], bool]
    on_done: Callable[[int, int], None]
    stop: threading.Event
    scope: Scope


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """The result of restoring ledger entries.

    Attributes:
        outcomes: What was found for each mirror partition that lacks its entries.
        done: Whether the entries are in the ledger.
    """

    outcomes: tuple[Outcome, ...]
    done: bool

    @property
    def found(self) -> tuple[FoundPlace, ...]:
        """The partitions whose position is proven."""
        return tuple(each for each in self.outcomes if isinstance(each, FoundPlace))

    @property
    def left(self) -> tuple[LostPlace, ...]:
        """The partitions whose position cannot be restored."""
        return tuple(each for each in self.outcomes if isinstance(each, LostPlace))


def rebuild(config: LinkConfig, asked: RebuildRequest) -> RebuildReport:
    """Find and prove the positions of partitions, and write them to the ledger.

    Raises:
        ClusterError: A cluster could not be reached, or refused a request.
        LedgerError: The link runs, or joins other clusters.
        SparkStartError: Spark did not start.
        StepOutdatedError: A log has changed since it was compared.
        StoppedError: The user asked to stop.
        ConfigError: The link has a twin.
    """
    require_no_twin(
        config,
        "a lost ledger is not brought back where both sides are written, as it alone tells the"
        " twin's records from those of clients; delete the mirror topics of one side, or give"
        " both links new names and `records.start: latest`",
    )
    with ExitStack() as stack:
        link = stack.enter_context(open_link(config))
        link.look()
        outcomes = _judged(link, asked)
        found = [each for each in outcomes if isinstance(each, FoundPlace)]
        if not found or not asked.agreed(outcomes):
            return RebuildReport(outcomes, done=False)
        if asked.stop.is_set():
            raise StoppedError("nothing was written to the ledger")
        link.prepare()
        alone = LinkSession(config.link, config.target, link.target)
        alone.start()
        stack.callback(alone.close)
        stack.enter_context(Lease(link, "repair", dead=alone.dead))
        _require_same(link, found)
        link.ledger.append(_written(found, alone.run_id))
        return RebuildReport(outcomes, done=True)


def _written(found: Collection[FoundPlace], run_id: str) -> list[Entry]:
    return [
        entry for each in found for entry in entries(each.orphan, run_id, each.compared, each.bytes)
    ]


def _judged(link: OpenLink, asked: RebuildRequest) -> tuple[Outcome, ...]:
    orphans = {each.source: each for each in orphans_of(link, asked.topics)}
    known: dict[TopicPartition, Outcome] = {
        tp: why for tp, each in orphans.items() if (why := hindered(each)) is not None
    }
    rest = {tp: each for tp, each in orphans.items() if tp not in known}
    known |= _compared(link, asked, rest)
    return tuple(known[tp] for tp in sorted(known))


def _compared(
    link: OpenLink, asked: RebuildRequest, orphans: Mapping[TopicPartition, BooklessMirror]
) -> dict[TopicPartition, Outcome]:
    """Compare all records at their own offsets, as if the entries were in the ledger."""
    books = LinkBooks(link.config.link)
    for each in orphans.values():
        for entry in entries(each, "", each.end - each.start, each.end - each.start):
            books.take(entry)
    bounds = Observed(books, link.source, link.target).bounds(orphans)
    ranges = [common_range(tp, books.of(tp), each) for tp, each in bounds.items()]
    wanted = [sized for sized in ranges if sized is not None]
    found = compared(link.config, asked.scope, books, wanted, asked.on_done, asked.stop)
    return {tp: judged(each, found.get(tp)) for tp, each in orphans.items()}


def _require_same(link: OpenLink, found: Collection[FoundPlace]) -> None:
    """Make sure that no log has changed since it was compared, and that nobody was faster."""
    link.read()
    ends = link.target.offsets.log_ends([each.orphan.target for each in found])
    for each in found:
        at = each.orphan
        end = ends.sure(at.target)
        if end != at.end or link.books.of(at.source).opened is not None:
            raise StepOutdatedError(str(at.target), f"a log end of {at.end}", str(end))


def orphans_of(link: OpenLink, topics: Collection[TopicName] = ()) -> list[BooklessMirror]:
    """Return the mirror partitions with records of the link that its ledger does not know.

    Raises:
        ClusterError: A cluster could not be reached.
    """
    config, cluster = link.config, link.source.cluster.id()
    there = {n: i for n, i in link.source.topics.describe().items() if config.topics.takes(i)}
    wanted = [n for n, i in there.items() if not i.error and (n in topics or not topics)]
    names, _ = config.topics.target_names(wanted)
    mirrors = link.target.topics.describe(names.values())
    pairs = [
        (TopicPartition(name, number), TopicPartition(mirror, number), there[name], mirrors[mirror])
        for name, mirror in names.items()
        if mirror in mirrors
        for number in range(min(len(there[name].partitions), len(mirrors[mirror].partitions)))
        if link.books.of(TopicPartition(name, number)).opened is None
    ]
    return list(_Search(link, cluster).among(pairs))


_Pair = tuple[TopicPartition, TopicPartition, TopicInfo, TopicInfo]


class _Search:
    """Looks for batches of the link in logs of the target."""

    def __init__(self, link: OpenLink, cluster: ClusterId) -> None:
        self._link, self._cluster = link, cluster

    def among(self, pairs: Collection[_Pair]) -> Iterator[BooklessMirror]:
        """Yield the pairs of partitions whose target holds batches of the link."""
        sources, targets = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        if not pairs:
            return
        source, target = self._link.source.offsets, self._link.target.offsets
        begins, ends = target.earliest(targets), target.log_ends(targets)
        marks, first = target.latest(targets), source.earliest(sources)
        last = source.latest(sources, committed=True)
        states = self._link.target.producers.states(targets)
        with Client(self._link.config.target, Side.TARGET, self._link.target) as client:
            for tp, mirror, info, copy in pairs:
                orphan = BooklessMirror(
                    link=self._link.config.link,
                    source=tp,
                    target=mirror,
                    source_id=info.id,
                    target_id=copy.id,
                    producer_id=self._id(tp, info, copy),
                    start=begins.sure(mirror),
                    end=ends.sure(mirror),
                    high_watermark=marks.sure(mirror),
                    source_start=first.sure(tp),
                    source_end=last.sure(tp),
                    changed=bool(self._link.config.change_of(tp.topic).digest),
                    last=None,
                    remembered=-1,
                )
                known: dict[int, int] = {p.id: p.last_sequence for p in states.sure(mirror)}
                if self._is_ours(client, orphan, info, copy, known):
                    batch = self._last(client, orphan)
                    remembered = known.get(batch.producer_id, -1) if batch is not None else -1
                    yield replace(orphan, last=batch, remembered=remembered)

    def _id(
        self, tp: TopicPartition, info: TopicInfo, copy: TopicInfo, purpose: str = "data"
    ) -> ProducerId:
        link = self._link.config.link
        return producer_id(link, self._cluster, info.id, copy.id, tp, purpose)

    def _is_ours(
        self,
        client: Client,
        at: BooklessMirror,
        info: TopicInfo,
        copy: TopicInfo,
        known: Collection[int],
    ) -> bool:
        """Whether the link wrote to a partition: by its leader, or by the last batch."""
        purposes = ("data", "filler", "marker")
        own = generations(*(self._id(at.source, info, copy, each) for each in purposes))
        if any(each in own for each in known):
            return True
        if at.start >= at.end:
            return False
        return any(each.producer_id in own for each in self._headers(client, at, at.end - 1))

    def _last(self, client: Client, at: BooklessMirror) -> BatchHeader | None:
        """Return the last batch of records of the link, `None` if there is none."""
        window = _WINDOW
        while True:
            start = max(at.start, at.end - window)
            found = last_own(self._headers(client, at, start), at.producer_id)
            if found is not None or start == at.start:
                return found
            window *= 8

    def _headers(self, client: Client, at: BooklessMirror, start: int) -> Iterator[BatchHeader]:
        """Yield the headers of all batches from an offset on."""
        while start < at.end:
            try:
                chunk = client.fetch(at.target, start, max_bytes=_FETCH, wait=_WAIT)
            except RefusedError:  # retention was faster
                return
            headers = [BatchHeader.read(batch) for batch in split(chunk.batches)]
            if not headers:
                return
            yield from headers
            start = headers[-1].base_offset + headers[-1].last_offset_delta + 1
