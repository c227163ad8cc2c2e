"""`towpath failover`: the order of its parts, each of which may be repeated after a kill.

What a part is about to do stands in the ledger before it does it (`ledger/states.py`):

1. look: what it would cost; nothing is written
2. seal: the link needs level 6, then it is `sealed`; runs and slices stop
3. commit: from here on only forward; fences, then where each partition was cut
4. groups: written, and read back
5. failed over: clients may come
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from towpath.cluster.data.client import Client
from towpath.groups.model import SyncReport
from towpath.groups.settle import settle
from towpath.ledger.alive import Life, RunLife
from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import STATES_LEVEL, Cut, LinkState
from towpath.ledger.events import What
from towpath.ledger.link import OpenLink, open_link
from towpath.ledger.moves import Moves, sealed, undone
from towpath.ledger.states import (
    Draining,
    Mirroring,
    OneWay,
    RemovedState,
    Reversed,
    Sealed,
    Stopped,
)
from towpath.ledger.wishes import read_begun, require_copied
from towpath.mirror.failover.cuts import cut_of
from towpath.mirror.failover.drain import Drain
from towpath.mirror.failover.look import FailoverScope, Looker
from towpath.mirror.failover.plan import FailoverPlan, PartitionPlan, PositionPlan, with_known
from towpath.mirror.mm2.publish import publishing
from towpath.mirror.twin import require_no_twin
from towpath.model.errors import LedgerError, LinkHeldError, StoppedError
from towpath.model.nouns import Side, TargetOffset, TopicPartition
from towpath.plan.lease import Lease, last_signs
from towpath.records.permit import TAKEOVER
from towpath.records.target.fences import Fence, Fenced, Fencer, fence_of, fence_transactions
from towpath.runtime.clock import now_ms
from towpath.runtime.deadline import Deadline
from towpath.settings import LinkConfig

FENCES = 30.0
"""Seconds for the fences of few partitions; those without a leader stay open, and say so."""
_EACH = 0.02
"""Seconds more for each partition, which a busy broker may need."""
_LOOK = 0.5
Telling = Callable[[str, int, int], None]
"""Called with what is done now, how many are done, and how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailoverRequest:
    """A request to fail over.

    Attributes:
        scope: What of the link.
        agreed: Called with the plan; returns whether to carry it out.
        wait: Seconds for the drain of the source, whose producers have stopped; 0 for none.
        stop: Set to end early; what was begun stands in the ledger.
        told: Called with the progress.
    """

    scope: FailoverScope
    agreed: Callable[[FailoverPlan], bool]
    wait: float = 0.0
    stop: threading.Event = field(default_factory=threading.Event)
    told: Telling = lambda _what, _done, _of: None


@dataclass(slots=True, kw_only=True)
class FailoverReport:
    """The outcome of a failover.

    Attributes:
        plan: What was foretold.
        done: Whether it was agreed to and carried out.
        after: What it came to: the same as the plan, measured behind the fences.
        fenced: What became of the fences.
        groups: What became of the groups, `None` where there are none to bring.
        state: The state of the link now.
        missing: What could not be done, in sentences; a repeated failover does it.
        seconds: How long each part took.
    """

    plan: FailoverPlan
    done: bool = False
    after: FailoverPlan | None = None
    fenced: Fenced = field(default_factory=Fenced)
    groups: SyncReport | None = None
    state: LinkState | None = None
    missing: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


_TWIN = (
    "a link with a twin is not failed over: both clusters are written already, so clients go to the"
    " other one, and the two links bring the rest over once both clusters answer"
)


def failover(config: LinkConfig, asked: FailoverRequest) -> FailoverReport:
    """Fail over a link, or some topics of it; the source may be gone.

    Raises:
        ClusterError: The target could not be reached, or refused.
        ConfigError: The link never copied one of the topics.
        LedgerError: The link never ran, joins other clusters, or is turned round already.
        StoppedError: The user asked to stop; a repeated failover goes on.
    """
    require_no_twin(config, _TWIN)
    with ExitStack() as stack:
        link = stack.enter_context(open_link(config))
        read_begun(link)
        require_copied(link, asked.scope.topics)
        return _Failover(link, asked, stack).go()


class _Failover:
    def __init__(self, link: OpenLink, asked: FailoverRequest, stack: ExitStack) -> None:
        self._link, self._asked, self._stack = link, asked, stack
        self._looker = Looker(link, asked.scope)
        self._moves = Moves(link, asked.scope.topics)

    def go(self) -> FailoverReport:
        """Do the parts in their order."""
        for state in self._moves.now:
            if isinstance(state, Reversed | Stopped | RemovedState):
                self._link.books.require_open(state.entry.topic)
        began = time.monotonic()
        report = FailoverReport(plan=self._looker.plan())
        report.seconds["look"] = round(time.monotonic() - began, 2)
        if self._drains:
            require_drain(report.plan)  # before somebody agrees, and in a rehearsal
        if not self._asked.agreed(report.plan):
            report.state = self._moves.now[0].entry
            return report
        for name, part in self._parts():
            if report.missing and name == "seal":
                report.state = self._moves.now[0].entry
                return report
            if self._asked.stop.is_set():
                raise StoppedError(f"before the part `{name}`; a repeated failover goes on there")
            began = time.monotonic()
            part(report)
            report.seconds[name] = round(time.monotonic() - began, 2)
        report.done = True
        return report

    @property
    def _drains(self) -> bool:
        """Whether the source is to be drained first."""
        asked = self._asked.wait > 0
        return asked and any(isinstance(each, _COPYING) for each in self._moves.now)

    def _parts(self) -> Iterator[tuple[str, Callable[[FailoverReport], None]]]:
        if self._drains:
            yield "drain", self._drain
        yield "seal", self._seal
        yield "fence", self._fence
        if self._looker.scope.config(self._link.config.groups) is not None:
            yield "groups", self._groups
        yield "end", self._end

    # Drain

    def _drain(self, report: FailoverReport) -> None:
        """Wait until the run that lives has copied all that producers wrote before they stopped."""
        link, moves, asked = self._link, self._moves, self._asked
        until, patience = moves.later(), Deadline.after(asked.wait)
        copying = [each for each in moves.now if isinstance(each, Mirroring)]
        if copying:
            moves.write([each.drain(moves.by, until) for each in copying])
        drain = Drain()
        while not patience.over and not asked.stop.is_set():
            link.read()
            drain.look(self._looker.partitions())
            if drain.over:
                return
            asked.told("waiting for the drain", *drain.done)
            asked.stop.wait(_LOOK)
        moves.later()
        moves.write([undone(each, moves.by) for each in moves.now])
        if asked.stop.is_set():
            raise StoppedError("before all was copied; the link goes on as before")
        report.missing += drain.left

    # Seal

    def _seal(self, report: FailoverReport) -> None:
        """Let nothing more be copied, and wait until a run that lives has ended."""
        link, moves = self._link, self._moves
        run, whole = report.plan.run, not self._asked.scope.topics
        beside = run is not None and run.state is Life.ALIVE
        if whole and not beside:
            self._lease()  # while nothing is sealed, as another command may hold it
        link.events.tell(What.FAILOVER_STARTED, topics=[*self._asked.scope.topics])
        link.raise_level(STATES_LEVEL)  # before older programs could copy on
        until = moves.later()
        moves.write([sealed(each, moves.by, until) for each in moves.now])
        if whole and beside:
            self._until_alone(run)
            self._lease()
        link.read()

    def _until_alone(self, run: RunLife | None) -> None:
        """Wait until a run has ended; one that is frozen or cut off is waited for no longer."""
        if run is None or run.state is not Life.ALIVE:
            return
        ledger, patience = self._link.ledger.another(), Deadline.after(2 * TAKEOVER)
        last = None
        while not patience.over and not self._asked.stop.wait(_LOOK):
            session, _ = last_signs(ledger, self._link.name)
            last = session or last
            if last is not None and RunLife.of(last).state is not Life.ALIVE:
                return
            self._asked.told("waiting for the run to end", 0, 1)

    def _lease(self) -> None:
        """Hold the lease of the link, so that nobody else changes the target for it."""
        patience = Deadline.after(2 * TAKEOVER)
        while True:
            try:
                self._stack.enter_context(Lease(self._link, "failover"))
            except LinkHeldError:
                if patience.over or self._asked.stop.wait(_LOOK):
                    raise
            else:
                return

    # Fence

    def _fence(self, report: FailoverReport) -> None:
        """Fence all partitions, and write where each was cut."""
        link, moves, looker = self._link, self._moves, self._looker
        plan, until = report.plan, moves.later()
        known = {"lost": -1 if plan.unknown else plan.lost, "again": plan.again}
        moves.write(
            [
                each.commit(moves.by, until, **known) if isinstance(each, Sealed) else each
                for each in moves.now
            ]
        )
        # First, as that ends transactions of a mirror that died, which are not mirrored then.
        timeout = link.config.target.request_timeout
        refused = fence_transactions(link.target, link.name, looker.opened, timeout)
        before = {each.tp: each for each in looker.partitions()}
        usable = {tp: each for tp, each in looker.opened.items() if before[tp].trouble is None}
        report.missing += [each.sentence for each in before.values() if each.trouble is not None]
        report.fenced = self._fenced(usable, before)
        report.fenced.open |= {tp: why for tp, why in refused.items() if tp in usable}
        report.missing += [f"{tp}: {why}" for tp, why in report.fenced.failed.items()]
        link.ledger.append(self._cuts(usable, before, report.fenced))
        link.read()

    def _fenced(
        self,
        usable: Mapping[TopicPartition, PartitionBooks],
        before: Mapping[TopicPartition, PartitionPlan],
    ) -> Fenced:
        link, told = self._link, self._asked.told
        identity = link.books.identity
        assert identity is not None  # noqa: S101  # the link ran
        states = self._looker.states(usable)
        fences = [
            fence_of(
                link.name,
                identity.source_cluster,
                tp,
                books,
                states.get(before[tp].target, ()),
                TargetOffset(before[tp].log_end),
            )
            for tp, books in usable.items()
        ]
        due = [each for each in fences if not _is_done(each, before[each.tp])]
        with Client(link.config.target, Side.TARGET, link.target) as client:
            fencer = Fencer(link.target, client, lambda done: told("fencing", done, len(due)))
            return fencer.fence(due, FENCES + _EACH * len(due))

    def _cuts(
        self,
        usable: Mapping[TopicPartition, PartitionBooks],
        before: Mapping[TopicPartition, PartitionPlan],
        fenced: Fenced,
    ) -> Iterator[Cut]:
        at = now_ms()
        targets = {tp: before[tp].target for tp in usable}
        epochs = self._link.target.offsets.last_epochs(targets.values(), patience=FENCES)
        for tp, books in usable.items():
            epoch = epochs.get(targets[tp], -1)
            known, end = before[tp], fenced.ends.get(tp)
            fences = fenced.fences.get(tp, 0)
            if end is not None and known.cut is None:
                yield cut_of(self._link.name, books, known, at, end, fences, epoch)
            elif end is not None and known.cut is not None:
                yield replace(known.cut, fences=max(fences, known.cut.fences))

    # Groups, end

    def _groups(self, report: FailoverReport) -> None:
        """Write the groups, and read them back."""
        self._asked.told("writing groups", 0, 1)
        sync, gone = self._looker.sync(), bool(self._looker.gone)
        report.groups = settle(sync, self._asked.stop, gone=gone, ending=True)
        with publishing(self._link) as publish:
            report.missing += publish(report.groups)

    def _end(self, report: FailoverReport) -> None:
        """Measure what it came to, and let clients come, if nothing is missing."""
        plan, moves = report.plan, self._moves
        report.after = after = replace(
            plan,
            at=now_ms(),
            partitions=with_known(self._looker.partitions(), report.groups),
            groups=report.groups,
        )
        report.missing += [left_behind(each) for each in after.left]
        moves.later()
        known = {
            "lost": -1 if after.unknown else after.lost,
            "again": after.again,
            "unfenced": len(report.fenced.open),
        }
        if not (report.fenced.failed or after.trouble):
            moves.write(
                [
                    each.fail_over(moves.by, **known) if isinstance(each, OneWay) else each
                    for each in moves.now
                ]
            )
        report.state = moves.now[0].entry
        self._link.events.tell(
            What.FAILOVER_ENDED,
            state=report.state.state,
            lost=known["lost"],
            again=known["again"],
            trouble=report.missing,
        )


_COPYING = (Mirroring, Draining)


def require_drain(plan: FailoverPlan) -> None:
    """Raise if nobody can copy the rest.

    Raises:
        LedgerError: The source does not answer, or no run of the link lives.
    """
    why = ""
    if plan.source_gone:
        why = f"the source does not answer ({plan.source_gone}); leave out --wait"
    elif plan.run is None or plan.run.state is not Life.ALIVE:
        why = "no run of it lives that could copy the rest; start `towpath run FILE` beside"
    if why:
        raise LedgerError(f"link {plan.link} cannot be drained: {why}")


def _is_done(fence: Fence, plan: PartitionPlan) -> bool:
    """Whether an earlier attempt has fenced a partition, and written where it was cut."""
    return plan.cut is not None and plan.cut.fences > 0 and not fence.ids


def left_behind(each: PositionPlan) -> str:
    """Return the sentence about a position that was not written."""
    position = each.position
    why = position.reason or "it was not written"
    return f"{position.group.name} is not brought over in {position.tp}: {why}"
