"""The first parts of a failover: drain the source, and seal the link."""

from __future__ import annotations

from contextlib import ExitStack

from towpath.ledger.alive import Life, RunLife
from towpath.ledger.entries import STATES_LEVEL
from towpath.ledger.events import What
from towpath.ledger.link import OpenLink
from towpath.ledger.moves import Moves, sealed, undone
from towpath.ledger.states import Draining, Mirroring
from towpath.mirror.failover.drain import Drain
from towpath.mirror.failover.failover_plan import FailoverPlan
from towpath.mirror.failover.request import FailoverReport, FailoverRequest
from towpath.mirror.failover.state_before_failover import Looker
from towpath.model.amounts import counted, shortened
from towpath.model.errors import LedgerError, LinkHeldError, StoppedError
from towpath.plan.lease import Lease, last_signs
from towpath.records.permit import TAKEOVER
from towpath.runtime.deadline import Deadline

_LOOK = 0.5
_NAMED = 3
_COPYING = (Mirroring, Draining)


class Sealing:
    """Stops the copying of a link, or of some of its topics, for a failover.

    Args:
        link: The link.
        looker: Looks at its partitions.
        moves: The states of the link.
        asked: The request.
        stack: Holds the lease of the link until the failover ends.
    """

    def __init__(
        self,
        link: OpenLink,
        looker: Looker,
        moves: Moves,
        asked: FailoverRequest,
        stack: ExitStack,
    ) -> None:
        self._link, self._looker, self._moves = link, looker, moves
        self._asked, self._stack = asked, stack

    @property
    def drains(self) -> bool:
        """Whether the source is drained before the link is sealed."""
        asked = self._asked.wait > 0
        return asked and any(isinstance(each, _COPYING) for each in self._moves.now)

    def drain(self, report: FailoverReport) -> None:
        """Wait until the running mirror has copied everything that producers wrote."""
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

    def seal(self, report: FailoverReport) -> None:
        """Stop further copying, and wait until a running mirror has ended."""
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


def require_drain(plan: FailoverPlan) -> None:
    """Raise if no run can copy the remaining records.

    Raises:
        LedgerError: The source does not answer, no run of the link lives, or topics are paused.
    """
    why = ""
    if plan.source_gone:
        why = f"the source does not answer ({plan.source_gone}); leave out --wait"
    elif plan.run is None or plan.run.state is not Life.ALIVE:
        why = "no run of it lives that could copy the rest; start `towpath run FILE` beside"
    elif plan.paused:
        named = f"{counted(len(plan.paused), 'topic')} paused: {shortened(plan.paused, _NAMED)}"
        why = f"{named}; `towpath resume FILE` lets the run copy the rest"
    if why:
        raise LedgerError(f"link {plan.link} cannot be drained: {why}")
