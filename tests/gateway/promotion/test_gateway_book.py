"""What gateways write to the ledger: one of several wins, and a request is taken or withdrawn."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.kafka import wait_until
from tests.support.links import Link
from towpath.cluster.data.client import Client
from towpath.gateway.promotion.deciding import UndecidedError, decide
from towpath.gateway.promotion.gateway_book import GatewayBook
from towpath.gateway.promotion.other_links import ids_of
from towpath.gateway.promotion.promotion_requests import ask, withdraw
from towpath.ledger.entries import (
    GatewaySign,
    Promoted,
    PromotedTopic,
    Promotion,
    PromotionStage,
    PromotionStep,
)
from towpath.ledger.events import EventReader, What
from towpath.ledger.link import OpenLink, open_link
from towpath.mirror.removal.removal import remove
from towpath.model.errors import ConfigError, LedgerError, UnreachableError
from towpath.model.nouns import NO_TOPIC_ID, LinkName, Side, TopicId, TopicName
from towpath.model.reasons import ReasonCode
from towpath.runtime.clock import now_ms
from towpath.settings import load

pytestmark = pytest.mark.broker
RUNNING, UNDONE = PromotionStage.RUNNING.value, PromotionStage.UNDONE.value
DAY = 86_400_000


@pytest.fixture
def opened(
    tmp_path: Path, source: SharedCluster, target: SharedCluster, new_name: Callable[[str], str]
) -> Iterator[Callable[[], OpenLink]]:
    file = Link(tmp_path, source, target, new_name("books"), timeout="10s").file
    with ExitStack() as stack:

        def once_more() -> OpenLink:
            link = stack.enter_context(open_link(load(file)))
            link.prepare()
            return link

        yield once_more


def record(link: OpenLink, name: str) -> Promoted:
    return Promoted(link=link.name, name=name, topics=(), groups=(), at=1)


def request(link: OpenLink, name: str) -> Promotion:
    asked = Promotion(
        link=link.name, name=name, state=PromotionStage.ASKED.value, topics=(), dry_run=False,
        user="u", host="h", at=1,
    )  # fmt: skip
    link.ledger.append([asked])
    return asked


def test_a_gateway_that_was_replaced_cannot_decide(opened: Callable[[], OpenLink]) -> None:
    link = opened()
    first, second = GatewayBook(link), GatewayBook(opened())
    first.begin()
    second.begin()
    assert [each.name for each in second.others()] == [first.name], "it may serve clients"
    with pytest.raises(LedgerError, match="has begun after this one"):
        first.promote(record(link, "late"))
    first.settle()
    assert first.promoted == {}
    first.promote(record(link, "one"))
    second.settle()
    assert [*second.promoted] == ["one"], "who has the newest epoch decides, and others read it"
    first.renew()
    first.end()
    second.renew()
    assert second.others() == []
    second.end()


def test_what_one_wrote_before_it_died_is_read_by_the_next(
    opened: Callable[[], OpenLink],
) -> None:
    link = opened()
    first = GatewayBook(link)
    first.begin()
    done, open_one = request(link, "done"), request(link, "open")
    assert {each.name for each in first.read(5)} == {"done", "open"}
    assert first.take(done)
    assert first.take(open_one)
    first.promote(record(link, "done"))
    first.record(replace(done, state=PromotionStage.PROMOTED.value))
    first._client.close()  # here it dies
    second = GatewayBook(opened())
    second.begin()
    with Client(link.config.target, Side.TARGET, link.target) as client:
        reader = EventReader(link.target, client)

        def told() -> list[tuple[str, str]]:
            events = reader.read(link.name) if reader.exists() else ()
            ended = (event for event in events if event.what == What.PROMOTION_ENDED)
            return [(event.id, event.facts["state"]) for event in ended]

        wait_until(lambda: len(told()) == 2, lambda: f"the history tells of both: {told()}")
        assert told() == [("done", PromotionStage.PROMOTED.value), ("open", UNDONE)], "each once"
    states = {each.name: each.state for each in second._asked.values()}
    assert states == {"done": PromotionStage.PROMOTED.value, "open": UNDONE}
    (why,) = second._asked["open"].reasons
    assert why.code is ReasonCode.PROMOTE_ENDED
    second.end()


@pytest.mark.parametrize(
    ("step", "ago", "interrupted"),
    [
        (PromotionStep.NEAR, 0, True),
        (PromotionStep.NEAR, DAY, False),
        (PromotionStep.BEGUN, 0, False),
    ],
)
def test_members_join_anew_at_a_gateway_that_begins_once_another_has_undone_a_promotion(
    opened: Callable[[], OpenLink], step: PromotionStep, ago: int, interrupted: bool
) -> None:
    """The gateway that told them that they have nothing was killed, and nobody told them more."""
    link = opened()
    asked = request(link, "vain")
    living = GatewayBook(link)
    living.begin()
    assert not living.interrupted
    living.note(replace(asked.reached(step, now_ms() - ago), state=UNDONE, gateway=living.name))
    next_one = GatewayBook(opened())
    next_one.begin()
    assert next_one.interrupted is interrupted
    for each in (living, next_one):
        each.end()


def test_a_request_is_taken_or_withdrawn_and_never_both(opened: Callable[[], OpenLink]) -> None:
    link, book = opened(), GatewayBook(opened())
    book.begin()
    stop = threading.Event()
    stop.set()
    early = request(link, "early")
    assert withdraw(link, early, stop).state == UNDONE
    assert not book.take(early), "nobody waits for it any more"
    late = request(link, "late")
    assert book.take(late)
    assert withdraw(link, late, stop).state == RUNNING, "a gateway works on it"
    book.end()


def test_groups_that_went_back_did_not_move_before_their_topics(
    opened: Callable[[], OpenLink],
) -> None:
    link = opened()
    book = GatewayBook(link)
    book.begin()
    for each in (
        replace(record(link, "alone"), groups=("g", "h")),
        replace(record(link, "back"), groups=("g",), back=True),
    ):
        book.promote(each)
    assert book.groups_alone() == {"h"}
    book.end()


def test_a_gateway_that_died_with_its_machine_is_named_by_hand(
    opened: Callable[[], OpenLink],
) -> None:
    link, book = opened(), GatewayBook(opened())
    book.begin()
    dead = GatewaySign(link=link.name, name="dead", host="away", pid=1, space="", started=1)
    link.ledger.append([dead, replace(dead, name="other")])
    book.read()
    assert {each.name for each in book.others()} == {"dead", "other"}
    stop = threading.Event()
    stop.set()
    for name in ("unknown", book.name):
        with pytest.raises(ConfigError, match="--gone"):
            ask(link, [TopicName("t")], stop, dry_run=True, gone=name)
    ask(link, [TopicName("t")], stop, dry_run=True, gone="dead")
    book.read()
    assert [each.name for each in book.others()] == ["other"]
    book.end()


def test_what_moved_stays_known_when_the_books_of_the_link_are_removed(
    opened: Callable[[], OpenLink],
) -> None:
    """Else the next gateway would lead clients back to the source."""
    link = opened()
    book = GatewayBook(link)
    book.begin()
    book.promote(record(link, "one"))
    done = remove(link.config, lambda _: True)
    assert done.done
    (told,) = done.plan.gateways
    assert f"gateway {book.name} on " in told, "it still serves clients"
    book.end()
    assert remove(link.config, lambda _: True).plan.gateways == ()
    after = GatewayBook(link)
    after.begin()
    assert [*after.promoted] == ["one"]
    after.end()


@pytest.mark.soak
def test_a_gateway_that_is_stopped_while_the_target_is_away_decides_nothing(
    tmp_path: Path, source: SharedCluster, lone: SharedCluster, new_name: Callable[[str], str]
) -> None:
    """It may have been decided: whoever comes next finds out, so nothing may be released."""
    made = Link(tmp_path, source, lone, new_name("stopped"), timeout="2s")
    stop, found = threading.Event(), list[BaseException]()
    with open_link(load(made.file)) as link:
        link.prepare()
        book = GatewayBook(link)
        book.begin()

        def go() -> None:
            try:
                decide(book, record(link, "undecided"), stop)
            except BaseException as error:  # noqa: BLE001  # looked at below
                found.append(error)

        thread = threading.Thread(target=go)
        lone.pause(1)
        try:
            thread.start()
            thread.join(8)
            assert thread.is_alive(), "it waits for the target as long as it serves"
            stop.set()
            thread.join(60)
        finally:
            lone.resume(1)
        assert [type(each) for each in found] == [UndecidedError]


def test_topics_of_another_link_are_known_until_they_go_back_and_no_source_is_waited_for(
    opened: Callable[[], OpenLink], monkeypatch: pytest.MonkeyPatch
) -> None:
    link, asked = opened(), list[int]()
    theirs = LinkName(f"beside-{link.name}")
    topic = PromotedTopic(
        topic=TopicName("theirs"), source_id=NO_TOPIC_ID, target_id=NO_TOPIC_ID, partitions=()
    )
    moved = replace(record(link, "theirs"), link=theirs, topics=(topic,))
    link.read()
    identity = link.books.identity
    assert identity is not None
    book = GatewayBook(opened())
    book.take_in(moved)
    assert book.of_others == {}, "it may be of other clusters"
    book.take_in(replace(identity, link=theirs))
    book.take_in(identity)
    assert book.of_others == {"theirs": moved}
    assert [*ids_of(book.of_others)] == [], "a topic that no cluster gave an id"
    known = replace(topic, source_id=TopicId(str(UUID(int=1))), target_id=TopicId(str(UUID(int=2))))
    assert [*ids_of({known.topic: replace(moved, topics=(topic, known))})] == [
        UUID(int=1),
        UUID(int=2),
    ]
    assert book.promoted == {}
    book.take_in(replace(moved, name="back", back=True))
    assert book.of_others == {}

    def away() -> str:
        asked.append(1)
        raise UnreachableError("source", "asking", "no answer")

    alone = GatewayBook(link)
    monkeypatch.setattr(link.source.cluster, "id", away)
    for number in range(20):
        alone.take_in(replace(moved, name=str(number)))
    assert alone.of_others == {}
    assert len(asked) == 1, "it is asked once"
