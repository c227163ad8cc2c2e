"""Gives partitions that appear during a round to its running slices."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import count

from towpath.ledger.books.partition import PartitionBooks
from towpath.ledger.entries import Dealt
from towpath.ledger.link import OpenLink
from towpath.mirror.deals import TOGETHER, Table
from towpath.mirror.rounds import Look, RoundPlan, plan_more
from towpath.mirror.session import LinkSession
from towpath.model.nouns import TopicPartition
from towpath.records.work import Assignment, Slice, as_data


class Dealer:
    """Knows the partitions of the slices of the current round, and deals new ones to them.

    Attributes:
        table: The slices of the last planned round.
        again: Source partitions to try again; a slice ignores those that it is still copying.
    """

    def __init__(self, link: OpenLink, session: LinkSession) -> None:
        self._link, self._session = link, session
        self._numbers = count()
        self._unsent: list[Dealt] = []
        self.table: Table | None = None
        self.again: set[TopicPartition] = set()

    def planned(self, slices: Sequence[Slice], number: int) -> None:
        """Remember the slices of a new round; any thread may call this."""
        self.table = Table.of(slices, number, settled=self._session.settled)

    def left(self, number: int, *, rested: bool) -> None:
        """No slice of a round runs any more; the next one took over.

        Args:
            number: The round.
            rested: Nothing that its slices sent can still arrive.
        """
        if self.table is not None and self.table.round == number + 1:
            self.table.settled = self._session.settled and rested

    def deal(self, plan: RoundPlan, table: Table, look: Look | None = None) -> None:
        """Deal partitions that no slice has, that are to be tried again, or that have new terms.

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
        self.flush()

    def mended(self, topics: Collection[str]) -> None:
        """Try all partitions of these topics again; the names may be those of the target."""
        held = self.table.held if self.table is not None else {}
        self.again.update(
            tp for tp, a in held.items() if {a.source.topic, a.target.topic} & set(topics)
        )

    def lacks(self, tps: Iterable[TopicPartition]) -> bool:
        """Whether one of these source partitions belongs to no slice."""
        held = self.table.held if self.table is not None else {}
        return any(tp not in held for tp in tps)

    def repeat(self) -> None:
        """Tell slices that have just begun what was dealt to them before, in case they missed it.

        Raises:
            ClusterError: The ledger could not be written.
        """
        while self._session.begun:
            begun, table = self._session.begun.popleft(), self.table
            if table is None or begun.round != table.round or begun.slice >= len(table.hands):
                continue
            later = tuple(table.hands[begun.slice].later.values())
            self._tell(table, begun.slice, later, facts_from=0)
        self.flush()

    def flush(self) -> None:
        """Write the entries that are not written yet; a slice ignores an entry that it reads twice.

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
            entry = Dealt(
                link=self._link.config.link,
                run_id=self._session.run_id,
                round=table.round,
                slice=number,
                number=next(self._numbers),
                facts_from=first_fact,
                settled=table.settled,
                partitions=as_data(part),
            )
            self._unsent.append(entry)

    def _facts_from(self, assignments: Sequence[Assignment]) -> int:
        """Return the ledger offset from which on slices must read facts about these partitions."""
        books = self._link.books
        new = all(books.of(each.source) == PartitionBooks() for each in assignments)
        return self._link.ledger.facts_end if new else 0
