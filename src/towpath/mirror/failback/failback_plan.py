"""The plan of a failback: whose records stay, which are salvaged, what prevents it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import Cut, LinkStage, LinkState, Salvaged
from towpath.mirror.failback.divergence import Divergence, LoneRecords
from towpath.mirror.failback.divergence_search import FailbackLook
from towpath.mirror.failback.salvage.unfinished import UnfinishedSalvage
from towpath.model.amounts import counted
from towpath.model.errors import LedgerError
from towpath.model.nouns import LinkName, Side, TopicName, TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class FailbackPlan:
    """The plan of a failback.

    Attributes:
        link: The link.
        back: The link back.
        look: What was found on both sides.
        wins: The side whose records are to stay where both have some, `None` if nobody said.
        states: The states of the link and of its topics, as far as there are any.
        file_problems: Why the file of the link back cannot be written.
        unfinished: What an earlier failback left half done in salvage topics.
    """

    link: LinkName
    back: LinkName
    look: FailbackLook
    wins: Side | None
    states: Mapping[TopicName, LinkState]
    file_problems: tuple[str, ...] = ()
    unfinished: tuple[UnfinishedSalvage, ...] = ()

    @property
    def conflicts(self) -> tuple[Divergence, ...]:
        """The partitions where both sides have records of their own."""
        return tuple(each for each in self.look.partitions if each.is_conflict)

    @property
    def undecided(self) -> tuple[Divergence, ...]:
        """The conflicts for which nobody has chosen the side whose records stay."""
        return () if self.wins else tuple(each for each in self.conflicts if each.undecided)

    @property
    def tails(self) -> tuple[Divergence, ...]:
        """The partitions in which only the old source has further records; they stay there."""
        return tuple(
            each for each in self.look.partitions if each.source.any and not each.target.any
        )

    @property
    def mapped(self) -> tuple[Divergence, ...]:
        """The partitions whose offsets cannot stay the same on the way back."""
        return tuple(each for each in self.look.partitions if not each.identical)

    def winner(self, one: Divergence) -> Side | None:
        """Return the side whose records stay in a partition, `None` if no side was chosen."""
        return one.wins or (self.wins if one.is_conflict else None)

    def losers(self, side: Side) -> Iterator[tuple[Divergence, LoneRecords]]:
        """Yield each partition in which `side` loses, with the records to salvage from it.

        What was salvaged before is not among them.
        """
        for one in self.look.partitions:
            winner = self.winner(one)
            if winner is None or winner is side:
                continue
            own = one.unsaved(side)
            known = [each for each in one.salvaged if each.side is side]
            if side is Side.TARGET and known:
                continue  # what came behind it is copied back, as the border lies there
            if not known or own.first < own.end:
                yield one, own

    @property
    def refusals(self) -> tuple[str, ...]:
        """The reasons why the failback is impossible, one sentence each."""
        return (
            *map(str, self.look.problems),
            *self.file_problems,
            *(
                f"{one.tp}: {_open(own)}"
                for one in self.look.partitions
                for own in self._opens(one)
            ),
        )

    def _opens(self, one: Divergence) -> Iterator[LoneRecords]:
        """Yield the records of sides with an open transaction whose outcome matters.

        Clients of the target may have some; its records stay where they are, unless it loses.
        """
        if one.source.is_open:
            yield one.source
        if one.target.is_open and self.winner(one) is Side.SOURCE and not one.salvaged:
            yield one.target

    @property
    def ready(self) -> bool:
        """Whether the failback can be carried out."""
        return not (self.refusals or self.undecided) and bool(self.look.partitions)

    @property
    def reversed(self) -> bool:
        """Whether the whole link is reversed already."""
        return bool(self.states) and not due(self.states)


def due(states: Mapping[TopicName, LinkState]) -> dict[TopicName, LinkState]:
    """Return the states of the link, or of its topics, that are not reversed yet."""
    return {topic: each for topic, each in states.items() if each.state != LinkStage.REVERSED}


def require_same_answer(known: Mapping[TopicPartition, PartitionBooks], wins: Side | None) -> None:
    """Raise if an earlier failback salvaged records with another choice of the winner.

    Args:
        known: The partitions that are turned round, with what the ledger knows of them.
        wins: The side whose records are to stay, `None` if nobody said.

    Raises:
        LedgerError: It did.
    """
    first = {tp: each.salvaged[-1].winner for tp, each in known.items() if each.salvaged}
    others = [tp for tp, winner in first.items() if wins not in {None, winner}]
    if not others:
        return
    done = first[others[0]]
    records = sum(each.records for tp in others for each in known[tp].salvaged)
    raise LedgerError(
        f"--wins {wins} contradicts an earlier answer: in {tp_names(others)}, the {done} wins, and"
        f" {counted(records, 'record')} of the {done.other} {_were(records)} salvaged, which holds;"
        f" give --wins {done}, or leave it out"
    )


def _open(own: LoneRecords) -> str:
    return (
        f"a transaction is open on the {own.side} from offset {own.end} on, so it is not known"
        " which records it leaves; its producer must end it, or the cluster does so after the"
        " transaction's timeout: give the command again then"
    )


def borders(plan: FailbackPlan, at: int) -> list[Cut]:
    """Return the cuts at which the link back begins, if they differ from the present ones.

    Args:
        plan: What a failback does; all is salvaged that loses.
        at: The present time, in ms since 1970.
    """
    found = []
    for one in plan.look.partitions:
        cut = one.cut_back(at)
        if plan.winner(one) is Side.SOURCE:
            cut = one.cut_behind(_salvaged_end(one), at)
        if cut is not None:
            found.append(cut)
    return found


def _salvaged_end(one: Divergence) -> int:
    known = [each.end for each in one.salvaged if each.side is Side.TARGET]
    return max(known, default=one.target.end)


def salvaged(
    link: LinkName, one: Divergence, own: LoneRecords, records: int, topic: TopicName, at: int
) -> Salvaged:
    """Return the ledger entry about the salvaged records of a partition.

    Args:
        link: The link.
        one: Where both sides part.
        own: What the losing side alone has.
        records: How many of these were salvaged.
        topic: The salvage topic.
        at: When, in ms since 1970.
    """
    return Salvaged(
        link=link,
        topic=one.tp.topic,
        partition=one.tp.partition,
        producer_id=one.cut.producer_id,
        side=own.side,
        first=own.first,
        end=own.end,
        records=records,
        deleted=own.deleted,
        salvage_topic=topic,
        at=at,
    )


def refusal(plan: FailbackPlan) -> str:
    """Return why a link was not reversed, for people; the user may have declined."""
    if plan.refusals:
        return "the link cannot be turned round, see above; nothing was changed"
    if plan.undecided:
        sides = [sum(max(0, each.own(side).records) for each in plan.undecided) for side in Side]
        return (
            f"{counted(len(plan.undecided), 'partition')} {_were(len(plan.undecided))} written on"
            f" both sides since the cut: {counted(sides[0], 'record')} the source alone has,"
            f" {counted(sides[1], 'record')} the target alone; say with --wins source or --wins"
            " target whose stay in the topics. What the other side alone has is first copied to"
            " salvage topics, counted and compared; nothing was changed"
        )
    if not plan.look.partitions:
        return "the link has copied no topic that the file names; nothing was changed"
    return "the link can be turned round; nothing was changed"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def tp_names(partitions: Iterable[TopicPartition], most: int = 3) -> str:
    """Return the names of the first partitions, and how many more there are."""
    names = [str(each) for each in partitions]
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"
