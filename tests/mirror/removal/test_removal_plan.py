"""What the removal of a link's books gives up, and who relies on them. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from towpath.ledger.alive import Life, RunLife
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import (
    WHOLE_LINK,
    Cut,
    Journal,
    LinkIdentity,
    LinkState,
    Opened,
    Pause,
    Phase,
    ReadEntry,
    Removed,
    Twinned,
)
from towpath.ledger.neighbours import Neighbours
from towpath.ledger.states import AnyState, Mover, begun
from towpath.mirror.removal.removal_plan import RemovalPlan, removal_plan
from towpath.model.nouns import (
    ClusterId,
    LinkName,
    Mode,
    ProducerId,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicName,
)

LINK, OTHER = LinkName("shop"), LinkName("other")
ORDERS, USERS = TopicName("orders"), TopicName("users")
BY = Mover("ana", "ops-1", 1000)
THERE = {ORDERS: TopicId("orders-id"), USERS: TopicId("users-id")}


def opened(topic: TopicName, link: LinkName = LINK, producer: int = 7) -> Opened:
    return Opened(
        link=link, topic=topic, partition=0, source_topic_id=TopicId("s"),
        target_topic=topic, target_topic_id=THERE[topic], producer_id=ProducerId(producer),
        source_start=SourceOffset(0), target_start=TargetOffset(0), mode=Mode.IDENTICAL,
        reasons=(), run_id="r", at=1,
    )  # fmt: skip


def cut(topic: TopicName) -> Cut:
    return Cut(
        link=LINK, topic=topic, partition=0, producer_id=ProducerId(7),
        source_end=SourceOffset(5), target_end=TargetOffset(5), records=5, at=2,
    )  # fmt: skip


def created(topic: TopicName, **more: Any) -> Journal:
    step = {"held": ["retention.ms"], **more}
    return Journal(
        link=LINK, subject="topics", name=topic, do="CreateTopic", part="", step=step,
        phase=Phase.DONE, plan="", owned=True, topic_id=THERE[topic], error="", at=1,
    )  # fmt: skip


def books(*entries: ReadEntry) -> LinkBooks:
    made = LinkBooks(LINK)
    for each in (LinkIdentity(LINK, ClusterId("a"), ClusterId("b")), *entries):
        made.take(each)
    return made


def plan(
    *entries: ReadEntry,
    state: AnyState | None = None,
    run: RunLife | None = None,
    held: tuple[TopicName, ...] = (),
) -> RemovalPlan:
    state = state or begun(LINK, WHOLE_LINK)
    return removal_plan(books(*entries, state.entry), state, run, THERE, held)


def failed_over() -> AnyState:
    return begun(LINK, WHOLE_LINK).seal(BY, 0).commit(BY, 0).fail_over(BY)


def test_topics_that_the_link_fills_are_owned_and_need_a_word() -> None:
    found = plan(opened(ORDERS), created(ORDERS), opened(USERS), cut(USERS), held=(ORDERS,))
    assert [(each.topic, each.owned, each.held) for each in found.topics] == [
        (ORDERS, True, True),
        (USERS, False, False),
    ]
    assert found.needs_release
    assert any("set it on the target: orders" in each for each in found.stays)
    set_since = plan(opened(ORDERS), created(ORDERS))
    assert not any("held back" in each for each in set_since.stays), "as by a promotion"


def test_a_mirror_topic_that_is_gone_or_was_made_again_is_not_owned() -> None:
    state = begun(LINK, WHOLE_LINK)
    found = removal_plan(books(opened(ORDERS)), state, None, {ORDERS: TopicId("another")})
    assert (found.topics, found.needs_release) == ((), False)


@pytest.mark.parametrize(
    ("entries", "state", "said"),
    [
        ([opened(ORDERS), cut(ORDERS)], begun(LINK, WHOLE_LINK), "a link back begins where"),
        ([opened(ORDERS)], failed_over(), "`towpath failback` cannot go back"),
        (
            [opened(ORDERS)],
            failed_over().reverse(BY, LinkName("shop-back")),  # type: ignore[union-attr]
            "link shop-back asks these books",
        ),
        ([Twinned(link=LINK, twin=OTHER, at=1)], begun(LINK, WHOLE_LINK), "link other tells by"),
    ],
)
def test_who_relies_on_the_books_is_named(
    entries: list[ReadEntry], state: AnyState, said: str
) -> None:
    found = plan(*entries, state=state)
    assert (len(found.leans), said in found.leans[0], found.needs_release) == (1, True, True)
    assert not found.owned


def test_nothing_is_removed_under_a_run_or_a_failover() -> None:
    run = RunLife(state=Life.ALIVE, host="ops-1", pid=5, since=1, beat=2, silence=0.1)
    assert "a run of the link lives (alive on ops-1" in plan(run=run).refusals[0]
    assert plan(run=replace(run, state=Life.SILENT)).refusals == ()
    moving = begun(LINK, WHOLE_LINK).seal(BY, 0)
    assert "a failover of link shop is under way" in plan(state=moving).refusals[0]
    part = begun(LINK, ORDERS).seal(BY, 0).entry
    assert "a failover of topic orders is under way" in plan(opened(ORDERS), part).refusals[0]


def test_books_that_are_removed_know_nothing_but_their_clusters() -> None:
    gone = failed_over().remove(BY, 9000)
    known = (opened(ORDERS), created(ORDERS), cut(ORDERS))
    pause = Pause(link=LINK, topic=USERS, user="ana", host="ops-1", at=1)
    made = books(*known, pause, gone.entry)
    assert (made.partitions, made.journal, made.pauses) == ({}, {}, {})
    assert made.identity is not None
    assert [each.state for each in made.states.values()] == ["removed"]
    killed = removal_plan(made, gone, None, THERE)
    assert (killed.under_way, killed.over, killed.refusals) == (True, False, ())
    assert removal_plan(made, gone.done(BY), None, THERE).over


def test_other_links_find_its_topics_free_again() -> None:
    neighbours = Neighbours(OTHER)
    entries: list[ReadEntry] = [opened(ORDERS), created(ORDERS), opened(USERS, OTHER, 9)]
    for each in entries:
        neighbours.take(each)
    assert [each.link for each in neighbours.of(ORDERS, THERE[ORDERS])] == [LINK]
    stopped: LinkState = begun(LINK, ORDERS).stop(BY).entry
    for fact in (stopped, Removed("pause", LINK, (ORDERS,))):
        neighbours.take(fact)
    assert neighbours.link_of(ProducerId(7)) == LINK
    neighbours.take(begun(LINK, WHOLE_LINK).remove(BY, 0).entry)
    assert list(neighbours.of(ORDERS, THERE[ORDERS])) == []
    assert neighbours.link_of(ProducerId(7)) is None
    assert neighbours.link_of(ProducerId(9)) == OTHER
