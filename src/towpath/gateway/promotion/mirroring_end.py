"""The end of mirroring for promoted topics. Blocking; safe to repeat after a kill."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from towpath.cluster.data.client import Client
from towpath.ledger.alive import this_host
from towpath.ledger.entries import STATES_LEVEL, Cut, Promoted
from towpath.ledger.link import OpenLink
from towpath.ledger.moves import MINUTES, sealed, write_states
from towpath.ledger.states import (
    AnyState,
    FailedOver,
    Mover,
    OneWay,
    RemovedState,
    Reversed,
    Sealed,
    begun,
    state_of,
)
from towpath.model.errors import TowpathError
from towpath.model.nouns import Side, SourceOffset, TargetOffset, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.target.fences import Fencer, fence_of
from towpath.runtime.clock import now_ms
from towpath.runtime.user import this_user
from towpath.topics.final_configs import set_as_source

_OVER = FailedOver | Reversed | RemovedState
"""States in which nothing is copied, for good."""
_FENCES = 5.0
"""Seconds for the fences; where they cannot be written, the seal must do."""


@dataclass(frozen=True, slots=True)
class ClosedTopics:
    """The outcome of ending the mirroring of promoted topics.

    Attributes:
        troubles: What could not be done.
        again: Whether it must be tried again.
    """

    troubles: list[Reason]
    again: bool = False


def close_topics(link: OpenLink, record: Promoted) -> ClosedTopics:
    """End the mirroring of topics that moved, so that no run copies them any more.

    Runs read the state of a topic, and stop. A run that is frozen may have read it before: what it
    sends later is refused by the fences. Where the logs ended when the topics moved goes into the
    ledger, too: there a link back begins. The topics get the configs that the source has now, also
    those that the link held back.

    Args:
        link: The link that copied them.
        record: What moved.
    """
    try:
        link.read()
        by = Mover(this_user(), this_host(), now_ms())
        states = {each.topic: _now(link, each.topic) for each in record.topics}
        open_ones = {name: each for name, each in states.items() if not isinstance(each, _OVER)}
        if not open_ones:
            return ClosedTopics([])
        link.raise_level(STATES_LEVEL)
        closed = {name: sealed(each, by, by.at + MINUTES) for name, each in open_ones.items()}
        write_states(link, [*closed.values()])
        one_way = {
            name: each.commit(by, by.at + MINUTES) if isinstance(each, Sealed) else each
            for name, each in closed.items()
        }
        write_states(link, [*one_way.values()])
        link.ledger.append([*_cuts(link, record, one_way, by.at)])
        unfenced = _fence(link, [*one_way])
        unset = set_as_source(link, one_way)
        ended = [
            each.fail_over(replace(by, at=now_ms()), lost=0, again=0)
            for each in one_way.values()
            if isinstance(each, OneWay)
        ]
        write_states(link, ended)
    except TowpathError as error:
        return ClosedTopics([_trouble(f"stop its run; {error}")], again=True)
    return ClosedTopics([*map(_trouble, unfenced), *unset])


def _cuts(
    link: OpenLink, record: Promoted, topics: Collection[TopicName], at: int
) -> Iterator[Cut]:
    """Yield where clients begin to write in each partition; fences come somewhere behind that."""
    for topic in record.topics:
        for each in topic.partitions if topic.topic in topics else ():
            tp = TopicPartition(topic.topic, each.partition)
            books = link.books.partitions.get(tp)
            if books is None or books.opened is None:
                continue
            receipt = books.receipt
            told = receipt.target_end if receipt is not None else books.opened.target_start
            records = receipt.records if receipt is not None else 0
            yield Cut(
                link=link.name,
                topic=tp.topic,
                partition=tp.partition,
                producer_id=books.opened.producer_id,
                source_end=SourceOffset(each.end),
                target_end=TargetOffset(each.end),
                records=records + max(0, each.end - told),
                at=at,
            )


def _trouble(text: str) -> Reason:
    return Reason.of(ReasonCode.PROMOTE_OPEN, text=text)


def _now(link: OpenLink, topic: TopicName) -> AnyState:
    entry = link.books.states.get(topic)
    return state_of(entry) if entry is not None else begun(link.name, topic)


def _fence(link: OpenLink, topics: Sequence[TopicName]) -> list[str]:
    identity = link.books.identity
    books = {
        tp: each
        for tp, each in link.books.partitions.items()
        if tp.topic in topics and each.opened is not None
    }
    if identity is None or not books:
        return []
    states = link.target.producers.states(books)
    ends = link.target.offsets.log_ends(books)
    known = [tp for tp in books if tp in states and tp in ends]
    fences = [
        fence_of(
            link.name,
            identity.source_cluster,
            tp,
            books[tp],
            states[tp],
            TargetOffset(ends[tp]),
        )
        for tp in known
    ]
    with Client(link.config.target, Side.TARGET, link.target) as client:
        fenced = Fencer(link.target, client, lambda _: None).fence(fences, _FENCES)
    left = {**fenced.open, **fenced.failed, **states.failed, **ends.failed}
    return [f"late writes of the link to {tp} cannot be refused: {why}" for tp, why in left.items()]
