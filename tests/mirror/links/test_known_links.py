"""What the ledger tells of links, and why clients of some topics cannot move."""

from __future__ import annotations

from dataclasses import replace

from tests.support.ledger.books import opened
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import (
    Created,
    LinkIdentity,
    LinkStage,
    Pause,
    Promoted,
    PromotedTopic,
    ReadEntry,
    Removed,
)
from towpath.ledger.states import begun
from towpath.mirror.links.known_links import KnownLink, known_links, known_topics
from towpath.model.nouns import ClusterId, LinkName, Mode, TopicId, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode

LINK, OTHER = LinkName("l"), LinkName("other")
PAY = TopicName("pay")
CREATED = Created(
    link=LINK, source=("a:1",), include=("pay",), exclude=(), user="u", host="h", at=5
)


def promoted(*, back: bool) -> Promoted:
    topic = PromotedTopic(topic=PAY, source_id=TopicId("s"), target_id=TopicId("t"), partitions=())
    name = "back" if back else "there"
    return Promoted(link=LINK, name=name, topics=(topic,), groups=(), at=1, back=back)


def found(*entries: ReadEntry) -> list[KnownLink]:
    return known_links(entries, {})


def test_a_link_is_created_then_copies_then_has_a_state() -> None:
    identity = LinkIdentity(LINK, ClusterId("a"), ClusterId("b"))
    over = replace(begun(LINK, TopicName("")).entry, state=LinkStage.FAILED_OVER.value)
    of_topic = replace(over, topic=PAY)
    assert [each.word for each in found(CREATED)] == ["created"]
    assert found(CREATED, Removed(Created.kind, LINK, ())) == []
    assert [each.word for each in found(CREATED, identity, of_topic)] == ["copying"]
    assert [each.word for each in found(identity, over)] == ["failed_over"]
    both = found(identity, replace(CREATED, link=OTHER))
    assert [(each.name, each.word) for each in both] == [(LINK, "copying"), (OTHER, "created")]


def test_what_was_promoted_is_told_until_it_goes_back() -> None:
    there = found(CREATED, promoted(back=False))
    assert [each.promoted for each in there] == [{PAY}]
    back = found(CREATED, promoted(back=False), promoted(back=True))
    assert [each.promoted for each in back] == [set()]


def test_groups_that_moved_before_their_topics_are_told_until_they_go_back() -> None:
    alone = replace(promoted(back=False), name="alone", topics=(), groups=("g", "h"))
    with_topics = replace(promoted(back=False), groups=("i",))
    (there,) = found(CREATED, alone, with_topics)
    assert (there.groups, there.alone) == ({"g", "h", "i"}, {"g", "h"})
    (back,) = found(CREATED, alone, replace(promoted(back=True), groups=("g", "i")))
    assert (back.groups, back.alone) == ({"h"}, {"h"})


def test_topics_that_cannot_be_promoted_are_named_with_the_reason() -> None:
    books = LinkBooks(LINK)
    name = {"link": LINK}
    mapped = (Reason.of(ReasonCode.ASKED_FOR),)
    one, two = TopicPartition(PAY, 0), TopicPartition(PAY, 1)
    books.take(opened(one, mode=Mode.IDENTICAL, reasons=(), **name))
    books.take(opened(two, mode=Mode.MAPPED, reasons=mapped, **name))
    renamed = TopicPartition(TopicName("bills"), 0)
    books.take(
        opened(renamed, mode=Mode.IDENTICAL, reasons=(), target_topic=TopicName("eu.bills"), **name)
    )
    bills, pay = known_topics(books, ())
    assert bills.reasons == ("it is named eu.bills on the target",)
    assert (pay.partitions, pay.identical) == (2, 1)
    assert pay.reasons == ("partition 1 has other offsets: asked for by `records.offsets: mapped`",)
    assert known_topics(books, [PAY])[1].reasons == ()


def test_topics_that_are_not_copied_any_more_cannot_be_promoted() -> None:
    books = LinkBooks(LINK)
    books.take(opened(TopicPartition(PAY, 0), mode=Mode.IDENTICAL, reasons=(), link=LINK))
    state = replace(begun(LINK, PAY).entry, state=LinkStage.REVERSED.value, back="l-back")
    books.take(state)
    said = "it is not copied now: it is reversed; link l-back copies back; give `towpath failback`"
    (reason,) = known_topics(books, ())[0].reasons
    assert reason.startswith(said)
    books.take(replace(state, state=LinkStage.RUNNING.value, back=""))
    books.take(Pause(link=LINK, topic=PAY, user="u", host="h", at=1))
    said = "it is not copied now: it is paused; `towpath resume FILE` goes on"
    assert known_topics(books, ())[0].reasons == (said,)
    books.take(replace(state, state=LinkStage.FAILED_OVER.value, back=""))
    (moved,) = known_topics(books, [PAY])
    assert (moved.state, moved.reasons) == ("promoted", ())
    assert known_topics(books, ())[0].state == "failed_over", "by `towpath failover`"
    books.take(replace(state, state=LinkStage.SEALED.value, back=""))
    assert known_topics(books, [PAY])[0].state == "sealed", "its mirroring has not ended yet"
