"""Distribution of new partitions to the running slices, and removal of paused ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import count

from towpath.ledger.books.partition import PartitionBooks
from towpath.ledger.entries import Dealt
from towpath.ledger.entries.session import by_topic
from towpath.ledger.link import OpenLink
from towpath.mirror.run.deals import TOGETHER, Table
from towpath.mirror.run.pacing import Pacing
from towpath.mirror.run.rounds import Look, RoundPlan, plan_more
from towpath.model.nouns import TopicName, TopicPartition
from towpath.records.session import LinkSession
from towpath.records.work import Assignment, Slice, as_data

_WITHDRAWN = 1000
"""Most partitions to withdraw in one entry of the ledger."""


class Dealer:
    """Knows the partitions of the current round's slices, and assigns new ones to them.

    Args:
        link: The link.
        session: Tells the slices.
        pacing: Tells them their limits before.

    Attributes:
        table: The slices of the last planned round.
        again: Source partitions to try again; a slice ignores those that it is still copying.
    """

    def __init__(self, link: OpenLink, session: LinkSession, pacing: Pacing) -> None:
        self._link, self._session, self._pacing = link, session, pacing
        self._numbers = count()
        self._unsent: list[Dealt] = []
        self.table: Table | None = None
        self._leaving: Table | None = None
        """The slices of the round that hands over to the last planned one."""
        self.again: set[TopicPartition] = set()

    def planned(self, slices: Sequence[Slice], number: int) -> None:
        """Store the slices of a new round; any thread may call this."""
        follows = any(each.follows for each in slices)
        self._leaving = self.table if follows else None
        self.table = Table.of(slices, number, settled=self._session.settled.before)

    @property
    def tables(self) -> list[Table]:
        """The slices of all running rounds: two while one hands over to the next."""
        return [table for table in (self._leaving, self.table) if table is not None]

    def left(self, number: int, *, settled: bool) -> None:
        """Record that no slice of a round runs any more, as the next round took over.

        Args:
            number: The round.
            settled: Nothing that its slices sent can still arrive.
        """
        if self.table is not None and self.table.round == number + 1:
            self._leaving = None
            self.table.settled = self._session.settled.before and settled

    def deal(self, plan: RoundPlan, table: Table, look: Look | None = None) -> None:
        """Assign partitions that no slice has, that are to be retried, or whose terms changed.

        Args:
            plan: The part of a plan that all rounds of the run share.
            table: The slices.
            look: A recent look at both clusters, if there is one.

        Raises:
            ClusterError: A cluster could not be reached, or the ledger could not be written.
        """
        self._link.read()
        held = {tp: a for tp, a in table.held.items() if tp not in self.again}
        found = plan_more(plan, self._link, held, look)
        self.again.clear()
        for number, assignments in table.deal(found).items():
            self._tell(table, number, assignments)
        self._pacing.look(self.tables)  # a slice knows the limit of a topic before it gets it
        self.flush()

    def withdraw(self, table: Table, topics: Callable[[TopicName], bool]) -> None:
        """Remove the partitions of some source topics from the slices.

        Args:
            table: The slices.
            topics: Tells of which topics.

        Raises:
            ClusterError: The ledger could not be written.
        """
        taken = table.withdraw([tp for tp in table.held if topics(tp.topic)])
        if taken:
            self._session.settled.doubt()
            table.settled = False
        for number, tps in taken.items():
            self._tell_withdrawn(table, number, tps)
        self.flush()

    def mended(self, topics: Collection[str]) -> None:
        """Retry all partitions of these topics; the names may be those of the target."""
        held = self.table.held if self.table is not None else {}
        self.again.update(
            tp for tp, a in held.items() if {a.source.topic, a.target.topic} & set(topics)
        )

    def lacks(self, tps: Iterable[TopicPartition]) -> bool:
        """Return whether some of these source partitions belong to no slice of a planned round."""
        if self.table is None:
            return False
        held = self.table.held
        return any(tp not in held for tp in tps)

    def repeat(self) -> None:
        """Repeat earlier assignments to slices that have just begun, in case they missed them.

        Raises:
            ClusterError: The ledger could not be written.
        """
        while self._session.begun:
            begun, table = self._session.begun.popleft(), self.table
            if table is None or begun.round != table.round or begun.slice >= len(table.hands):
                continue
            later = tuple(table.hands[begun.slice].later.values())
            self._tell(table, begun.slice, later, facts_from=0)
            self._tell_withdrawn(table, begun.slice, sorted(table.hands[begun.slice].withdrawn))
        self.flush()

    def flush(self) -> None:
        """Write the pending entries; a slice ignores an entry that it reads twice.

        Raises:
            ClusterError: The ledger could not be written.
        """
        if self._unsent:
            self._session.deal(self._unsent)
            self._unsent = []

    def _tell(
        self,
        table: Table,
        number: int,
        assignments: Sequence[Assignment],
        facts_from: int | None = None,
    ) -> None:
        for first in range(0, len(assignments), TOGETHER):
            part = assignments[first : first + TOGETHER]
            first_fact = self._facts_from(part) if facts_from is None else facts_from
            entry = self._entry(table, number)
            self._unsent.append(replace(entry, facts_from=first_fact, partitions=as_data(part)))

    def _tell_withdrawn(self, table: Table, number: int, tps: Sequence[TopicPartition]) -> None:
        for first in range(0, len(tps), _WITHDRAWN):
            part = by_topic(tps[first : first + _WITHDRAWN])
            self._unsent.append(replace(self._entry(table, number), withdrawn=part))

    def _entry(self, table: Table, number: int) -> Dealt:
        """Return an entry for a slice that tells nothing yet."""
        return Dealt(
            link=self._link.config.link,
            run_id=self._session.run_id,
            round=table.round,
            slice=number,
            number=next(self._numbers),
            facts_from=0,
            settled=table.settled,
            partitions=(),
        )

    def _facts_from(self, assignments: Sequence[Assignment]) -> int:
        """Return the ledger offset from which on slices must read facts about these partitions."""
        books = self._link.books
        new = all(books.of(each.source) == PartitionBooks() for each in assignments)
        return self._link.ledger.facts_end if new else 0
