"""`towpath failover`: its parts in order, each of which can be repeated after a kill.

What a part is about to do stands in the ledger before it does it (`ledger/states.py`):

1. look: what it would cost; nothing is written
2. seal: the link needs level 6, then it is `sealed`; runs and slices stop
3. commit: from here on only forward; fences, then where each partition was cut
4. configs: retention and compaction that were held back from mirror topics are set
5. groups: written, and read back
6. failed over: clients may come
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

from towpath.groups.model import SyncReport
from towpath.groups.settle import settle
from towpath.ledger.events import What
from towpath.ledger.link import OpenLink, open_link
from towpath.ledger.moves import Moves
from towpath.ledger.states import OneWay, RemovedState, Reversed, Stopped
from towpath.ledger.wishes import read_begun, require_copied
from towpath.mirror.failover.fencing import Fencing
from towpath.mirror.failover.group_positions import PositionPlan, held_groups
from towpath.mirror.failover.partitions import with_known
from towpath.mirror.failover.request import FailoverReport, FailoverRequest
from towpath.mirror.failover.sealing import Sealing, require_drain
from towpath.mirror.failover.state_before_failover import Looker
from towpath.mirror.mm2.publish import publishing
from towpath.mirror.twin import require_no_twin
from towpath.model.amounts import shortened
from towpath.model.errors import ClusterError, StoppedError
from towpath.runtime.clock import now_ms
from towpath.settings import LinkConfig
from towpath.topics.final_configs import set_final

_NAMED = 3
_TWIN = (
    "a link with a twin is not failed over: both clusters are written already, so clients go to the"
    " other one, and the two links bring the rest over once both clusters answer"
)


def failover(config: LinkConfig, asked: FailoverRequest) -> FailoverReport:
    """Fail over a link or some of its topics; the source may be unreachable.

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
        self._link, self._asked = link, asked
        self._looker = Looker(link, asked.scope)
        self._moves = Moves(link, asked.scope.moved(link.books))
        self._sealing = Sealing(link, self._looker, self._moves, asked, stack)
        self._fencing = Fencing(link, self._looker, self._moves, asked)

    def go(self) -> FailoverReport:
        """Do the parts in their order."""
        for state in self._moves.now:
            if isinstance(state, Reversed | Stopped | RemovedState):
                self._link.books.require_open(state.entry.topic)
        began = time.monotonic()
        report = FailoverReport(plan=self._looker.plan())
        report.seconds["look"] = round(time.monotonic() - began, 2)
        if self._sealing.drains:
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

    def _parts(self) -> Iterator[tuple[str, Callable[[FailoverReport], None]]]:
        if self._sealing.drains:
            yield "drain", self._sealing.drain
        yield "seal", self._sealing.seal
        yield "fence", self._fencing.fence
        yield "configs", self._configs
        if self._looker.scope.config(self._link.config.groups) is not None:
            yield "groups", self._groups
        yield "end", self._end

    def _configs(self, report: FailoverReport) -> None:
        """Set what was held back from mirror topics; where that fails, clients come all the same.

        From the fences on, the target's log is the topic.
        """
        topics = sorted({each.target.topic for each in report.plan.partitions})
        try:
            unset = set_final(self._link, topics)
        except ClusterError as error:
            left = report.plan.held
            report.unset = {*left}
            if left:
                report.missing.append(
                    f"configs that were held back from {shortened(left, _NAMED)} are not set, as"
                    f" {error}"
                )
            return
        report.unset = {*unset}
        report.missing += map(str, unset.values())

    def _groups(self, report: FailoverReport) -> None:
        """Write the groups, and read them back."""
        self._asked.told("writing groups", 0, 1)
        sync, gone = self._looker.sync(), bool(self._looker.gone)
        report.groups = settle(sync, self._asked.stop, gone=gone, ending=True, waits=self._wait_for)
        with publishing(self._link) as publish:
            report.missing += publish(report.groups)

    def _wait_for(self, seen: SyncReport) -> None:
        """Tell what the groups wait for."""
        held = held_groups(seen.positions)
        what = "waiting for coordinators of groups"
        if held:
            names = shortened(held, _NAMED)
            what = f"waiting for the session timeout of closed Streams applications: {names}"
        self._asked.told(what, 0, 1)

    def _end(self, report: FailoverReport) -> None:
        """Measure what it came to, and let clients come, if nothing is missing."""
        plan, moves = report.plan, self._moves
        report.after = after = replace(
            plan,
            at=now_ms(),
            partitions=with_known(self._looker.partitions(), report.groups),
            groups=report.groups,
            held=tuple(sorted(report.unset)),
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


def left_behind(each: PositionPlan) -> str:
    """Return a sentence about a group's offset that was not written."""
    position = each.position
    why = position.reason or "it was not written"
    return f"{position.group.name} is not brought over in {position.tp}: {why}"
