"""States of a link: only legal moves, read back from the ledger, refused where they are unknown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from towpath.ledger import entries
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import WHOLE_LINK, LinkStage, LinkState, ReadEntry, Removed
from towpath.ledger.states import (
    AnyState,
    Draining,
    FailedOver,
    Mirroring,
    Mover,
    OneWay,
    RemovedState,
    Reversed,
    Sealed,
    Stopped,
    begun,
    state_of,
)
from towpath.model.errors import LinkSealedError, NewerStateError
from towpath.model.nouns import LinkName, TopicName, TopicPartition

LINK, BACK = LinkName("orders-to-new"), LinkName("orders-to-new-back")
ORDERS, PAY = TopicName("orders"), TopicName("pay")
BY = Mover("ana", "ops-1", 1000)
MOVES = {
    Mirroring: {"drain", "seal", "stop", "remove"},
    Draining: {"give_up", "seal", "remove"},
    Sealed: {"undo", "commit", "remove"},
    OneWay: {"fail_over", "remove"},
    FailedOver: {"again", "reverse", "remove"},
    Reversed: {"remove"},
    Stopped: {"start", "remove"},
    RemovedState: {"done", "remove"},
}


def books_of(*facts: ReadEntry) -> LinkBooks:
    books = LinkBooks(LINK)
    for fact in facts:
        books.take(fact)
    return books


def running(topic: TopicName = WHOLE_LINK) -> Mirroring:
    return begun(LINK, topic)


def all_states(topic: TopicName = WHOLE_LINK) -> list[AnyState]:
    first = running(topic)
    sealed = first.seal(BY, 61_000)
    done = sealed.commit(BY, 61_000, lost=7, again=3).fail_over(BY)
    return [
        first,
        first.drain(BY, 9000),
        sealed,
        sealed.commit(BY, 0),
        done,
        done.reverse(BY, BACK),
        first.stop(BY),
        done.remove(BY, 9000),
    ]


@pytest.mark.parametrize("state", all_states(), ids=lambda state: type(state).__name__)
def test_a_state_comes_back_from_the_ledger_with_its_legal_moves_alone(state: AnyState) -> None:
    read = entries.decode(*entries.encode(state.entry))
    assert read == state.entry
    assert isinstance(read, LinkState)
    again = state_of(read)
    assert again == state
    moves = {each for each in dir(again) if not each.startswith("_") and each != "entry"}
    assert moves == MOVES[type(again)]


def test_what_is_taken_back_counts_its_attempts_and_waits_for_nothing() -> None:
    once = running().seal(BY, 61_000).undo(replace(BY, at=2000))
    assert (once.entry.state, once.entry.attempt, once.entry.deadline) == ("running", 1, 0)
    twice = once.seal(BY, 70_000)
    assert (twice.entry.attempt, twice.entry.waits_for, twice.entry.deadline) == (
        2,
        "fences",
        70_000,
    )


def test_what_was_foretold_stays_with_the_link() -> None:
    done = running().seal(BY, 0).commit(BY, 0, lost=7, again=3).fail_over(BY).reverse(BY, BACK)
    assert (done.entry.lost, done.entry.again, done.entry.back) == (7, 3, BACK)


CLOSED: list[tuple[Callable[[], AnyState], str]] = [
    (lambda: all_states()[2], "`towpath failover FILE --undo` takes it back"),
    (lambda: all_states()[3], "`towpath failover FILE` ends what it began"),
    (lambda: all_states()[4], "`towpath failback FILE` turns the link round"),
    (lambda: all_states()[5], "link orders-to-new-back copies what clients write"),
    (
        lambda: all_states(ORDERS)[6],
        "`towpath topics start FILE --topics orders` takes it up again",
    ),
    (lambda: all_states()[7], "its name is not used again: give the file another `link` name"),
]


@pytest.mark.parametrize(("state", "said"), CLOSED)
def test_a_closed_link_says_in_which_state_it_is_and_how_to_go_on(
    state: Callable[[], AnyState], said: str
) -> None:
    with pytest.raises(LinkSealedError, match=said) as raised:
        books_of(state().entry).require_open(state().entry.topic)
    assert "ana on ops-1, since 1970" in str(raised.value)
    assert ("--undo" in str(raised.value)) == isinstance(state(), Sealed)


def test_running_and_draining_links_are_open() -> None:
    for state in all_states()[:2]:
        books_of(state.entry).require_open()
    books_of().require_open()
    books_of(all_states()[2].entry, Removed("state", LINK, ("",))).require_open()


def test_a_topic_has_a_state_of_its_own_until_the_whole_link_is_closed() -> None:
    books = books_of(running(ORDERS).seal(BY, 0).entry)
    books.require_open()
    books.require_open(PAY)
    with pytest.raises(LinkSealedError, match="topic orders of link"):
        books.require_open(ORDERS)
    whole = running().seal(BY, 0).commit(BY, 0).fail_over(BY)
    books.take(whole.entry)
    assert books.state_of(ORDERS) == whole.entry
    assert books.closed(PAY) == whole.entry


def test_a_stopped_topic_stays_so_until_somebody_takes_it_up_again() -> None:
    stopped = running(ORDERS).stop(BY)
    books = books_of(stopped.entry)
    assert (set(books.stopped), books.rests(ORDERS), books.rests(PAY)) == ({ORDERS}, True, False)
    assert str(books.states[ORDERS]).endswith(
        "by ana on ops-1; `towpath topics start FILE --topics orders` takes it up again"
    )
    books.take(stopped.start(BY).entry)
    assert (set(books.stopped), books.rests(ORDERS)) == (set(), False)


def test_a_slice_reads_the_state_though_it_reads_facts_about_its_partitions_alone() -> None:
    key = entries.decode_key(entries.encode(running().seal(BY, 0).entry)[0])
    assert LinkBooks(LINK, only=frozenset({TopicPartition(PAY, 0)})).wants(key)
    assert not LinkBooks(LinkName("other"), only=frozenset()).wants(key)


def test_an_unknown_state_of_ones_own_link_is_refused_and_of_another_link_it_is_not() -> None:
    later = replace(running().entry, state="archived", version="9.3.0")
    with pytest.raises(NewerStateError) as raised:
        books_of(later)
    assert raised.value.args == (LINK, "archived", "9.3.0")
    with pytest.raises(NewerStateError):
        state_of(later)
    books_of(replace(later, link=LinkName("other"))).require_open()


def test_every_stage_has_a_type() -> None:
    for stage in LinkStage:
        assert state_of(replace(running().entry, state=stage.value)).entry.state == stage
