"""What the books say of pauses, and how they are shown. Pure."""

from __future__ import annotations

from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import WHOLE_LINK, Pause, Removed, decode, encode
from towpath.model.nouns import LinkName, TopicName

LINK = LinkName("shop")
A, B = TopicName("a"), TopicName("b")


def pause(topic: TopicName) -> Pause:
    return Pause(link=LINK, topic=topic, user="ana", host="ops-1", at=1_795_348_284_915)


def books(*entries: Pause | Removed) -> LinkBooks:
    made = LinkBooks(LINK)
    for entry in entries:
        read = decode(*encode(entry))
        assert read is not None
        made.take(read)
    return made


def test_a_pause_holds_for_its_topic_until_it_is_removed() -> None:
    made = books(pause(A))
    assert made.pause_of(A) == pause(A)
    assert made.pause_of(B) is None
    assert books(pause(A), Removed(Pause.kind, LINK, (A,))).pause_of(A) is None


def test_a_pause_of_the_link_holds_for_every_topic() -> None:
    made = books(pause(A), pause(WHOLE_LINK))
    assert made.pause_of(B) == made.pause_of(A) == pause(WHOLE_LINK)
    made = books(pause(A), pause(WHOLE_LINK), Removed(Pause.kind, LINK, (WHOLE_LINK,)))
    assert (made.pause_of(A), made.pause_of(B)) == (pause(A), None)


def test_who_paused_what_and_how_it_goes_on_is_said() -> None:
    assert str(pause(A)).startswith("topic a is paused by ana on ops-1 since 2026-")
    assert str(pause(A)).endswith("; `towpath resume FILE --topics a` goes on")
    assert str(pause(WHOLE_LINK)).startswith("all topics are paused by ana on ops-1 since 2026-")
    assert str(pause(WHOLE_LINK)).endswith("; `towpath resume FILE` goes on")
