"""Which topics links write through a query, by the ledger beside them."""

from __future__ import annotations

from typing import Any

from towpath.cluster.metadata import TopicInfo
from towpath.ledger.entries import Cut, Journal, LinkIdentity, Phase, ReadEntry
from towpath.ledger.origins import MirrorOrigin
from towpath.ledger.query_origins import found
from towpath.ledger.transformed import TransformedPosition
from towpath.model.nouns import (
    ClusterId,
    LinkName,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicName,
    TopicPartition,
)

LINK, SALES = LinkName("clean"), TopicName("sales")
IDENTITY = LinkIdentity(LINK, ClusterId("A"), ClusterId("B"))
POSITIONS = {
    LINK: {TopicPartition(SALES, n): TransformedPosition(TopicId("s"), 9, 9, 7) for n in (0, 1)}
}


def cut(number: int, records: int) -> Cut:
    return Cut(
        link=LINK,
        topic=SALES,
        partition=number,
        producer_id=Cut.THROUGH_QUERY,
        source_end=SourceOffset(9),
        target_end=TargetOffset(5),
        records=records,
        at=1,
    )


def created(target: str, topic_id: str) -> Journal:
    return Journal(
        link=LINK,
        subject="topics",
        name=target,
        do="CreateTopic",
        part="",
        step={"source": SALES, "target": target},
        phase=Phase.DONE,
        plan="",
        owned=True,
        topic_id=TopicId(topic_id),
        error="",
        at=1,
    )


def topics(**ids: str) -> dict[TopicName, TopicInfo]:
    made: Any = {TopicName(name): _Info(TopicId(each)) for name, each in ids.items()}
    return dict(made)


class _Info:
    def __init__(self, number: TopicId) -> None:
        self.id = number


def origins(*entries: ReadEntry, **there: str) -> dict[str, MirrorOrigin]:
    made = found((IDENTITY, *entries), POSITIONS, topics(**there))
    return {f"{name}/{number}": origin for (name, number), origin in made.items()}


def test_a_topic_is_known_by_its_creation_or_by_its_name() -> None:
    assert set(origins(sales="t")) == {"sales/t"}
    assert set(origins(created("copy", "c"), sales="t", copy="c")) == {"copy/c"}
    assert not origins(created("copy", "c"), sales="t", copy="another"), "made again since"
    assert not origins(other="o")
    assert not found((), POSITIONS, topics(sales="t")), "nobody tells of which cluster"


def test_what_was_written_since_the_cutover_is_counted() -> None:
    origin = origins(cut(0, 7), cut(1, 4), sales="t")["sales/t"]
    assert (origin.link, origin.cluster, origin.topic) == (LINK, "A", SALES)
    assert origin.query is not None
    assert ({*origin.query.cuts}, origin.query.since) == ({0, 1}, 3)
    assert not origin.runs
