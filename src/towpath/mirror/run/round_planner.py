"""The start of rounds as Spark queries, and the decision when to distribute anew.

Which slices a round has is planned once Spark asks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from towpath.engine.rounds import Job, Rounds
from towpath.engine.slots import Slots
from towpath.ledger.events import What
from towpath.ledger.link import Known, OpenLink
from towpath.mirror.run.balance import Balance, Limited
from towpath.mirror.run.dealer import Dealer
from towpath.mirror.run.discovery import Discovery
from towpath.mirror.run.ends import Ends
from towpath.mirror.run.pacing import Pacing
from towpath.mirror.run.rounds import WORK, RoundPlan, plan_round
from towpath.mirror.status.partition_status import PartitionStatus
from towpath.records.session import LinkSession
from towpath.records.work import TOLD, CopySlice


class Planner:
    """Plans and begins the rounds of a run.

    Args:
        link: The link.
        session: The session of the run.
        dealer: Told of the slices of each round.
        discovery: Asked for a recent look at both clusters.
        pacing: Gives the slices of each round their limits.
        once: Whether the run ends once it has caught up.
    """

    def __init__(
        self,
        link: OpenLink,
        session: LinkSession,
        dealer: Dealer,
        discovery: Discovery,
        pacing: Pacing,
        *,
        once: bool,
    ) -> None:
        self._link, self._session = link, session
        self._dealer, self._discovery, self._pacing = dealer, discovery, pacing
        self._once, self._ends = once, Ends()
        self._known: Known | None = None
        """What was read of the ledger when the last round began, until it is planned."""
        limits = link.config.run
        self._balance = Balance(float(limits.balance), float(limits.receipts), ends=once)

    def begin(
        self,
        spark: Any,
        slots: Slots,
        ended: Callable[[int, list[dict[str, Any]]], None],
        number: int,
        follows: int,
    ) -> Rounds:
        """Begin a round.

        Args:
            spark: The Spark session.
            slots: How many slices Spark can run.
            ended: Gets the number and the summary of the round at its end.
            number: The number of the round.
            follows: The round from which it takes over, 0 if there is none.

        Raises:
            RuntimeError: The round did not begin; the text is Spark's.
        """
        # Reading the facts about thousands of partitions again would take seconds.
        self._known = self._link.known()
        plan = partial(self._plan, slots, follows)
        return Rounds(spark, Job(plan, WORK, TOLD, number, once=True), ended)

    def terms(self, slots: Slots) -> RoundPlan:
        """Return the parameters of the run's rounds, for the slices that Spark can run now."""
        return RoundPlan(
            self._link.config,
            self._session.run_id,
            parallelism=slots.number,
            once=self._once,
            ends=self._ends,
            demand=self._balance.demand,
        )

    def has_begun(self, number: int) -> bool:
        """Return whether all slices of a round run and have reached the target."""
        slices = self._slices(number)
        return slices is not None and slices <= self._session.announced

    def is_ready(self, number: int) -> bool:
        """Return whether all slices of a following round are connected."""
        slices = self._slices(number)
        return slices is not None and slices <= self._session.ready

    def _slices(self, number: int) -> set[tuple[int, int]] | None:
        table = self._dealer.table
        if table is None or table.round != number:
            return None
        return {(number, each) for each in range(len(table.hands))}

    def is_uneven(self, number: int, slots: Slots, rows: Sequence[PartitionStatus]) -> bool:
        """Return whether the next round should begin now, with partitions distributed anew.

        Args:
            number: The round that goes on.
            slots: How many slices Spark can run.
            rows: Where the partitions stand.
        """
        table = self._dealer.table
        if table is None or table.round != number:
            return False  # the round is not planned yet
        now, room = time.monotonic(), slots.doubled
        limited = Limited(self._pacing.holds_back, self._pacing.limits.topic)
        found = self._balance.look(now, rows, table, slots.number, room=room, limited=limited)
        if found is not None:
            self._link.events.tell(What.ROUND_UNEVEN, number=number, **asdict(found))
        return found is not None

    def _plan(self, slots: Slots, follows: int, number: int) -> list[CopySlice]:
        whole = not self._link.books.pauses  # no slice has the partitions of a paused topic
        settled = self._session.settled.begin(number, follows, whole=whole)
        plan = replace(self.terms(slots), settled=settled, follows=follows)
        known, self._known = self._known, None
        planned = plan_round(plan, number, self._discovery.fresh_look(), known)
        slices = self._pacing.begin(planned, number)
        self._dealer.planned(slices, number)
        partitions = sum(len(each.assignments) for each in slices)
        events = self._link.events
        events.tell(What.ROUND_STARTED, number=number, slices=len(slices), partitions=partitions)
        return slices
