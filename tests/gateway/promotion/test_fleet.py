"""What one gateway asks is done by the others, which release by what the ledger says."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.kafka import wait_until
from tests.support.links import Link
from towpath.gateway.leaving_clients import LeavingClients
from towpath.gateway.promotion.fleet_follower import FleetFollower
from towpath.gateway.promotion.gateway_book import GatewayBook
from towpath.gateway.promotion.promotion_resources import PromotionResources
from towpath.gateway.relayed_nodes import RelayedNodes
from towpath.gateway.routes import Routes
from towpath.gateway.write_drains import WriteDrains
from towpath.ledger.entries import (
    GatewayReply,
    GatewayTask,
    Promoted,
    Promotion,
    PromotionStage,
    ReadEntry,
)
from towpath.ledger.link import OpenLink, open_link
from towpath.model.errors import LedgerError
from towpath.model.reasons import ReasonCode
from towpath.runtime.deadline import Deadline
from towpath.settings import load

pytestmark = pytest.mark.broker
Made = Callable[..., PromotionResources]


def gateway() -> Any:
    routes = Routes()
    return SimpleNamespace(
        routes=routes,
        targets=RelayedNodes("h", 1, {}, lambda *_: None, shift=0),
        drains=WriteDrains(lambda: 0.0),
        leaving=LeavingClients(routes, lambda: 0.0),
        wake=lambda: None,
        show_target=tuple,
    )


@pytest.fixture
def made(
    tmp_path: Path, source: SharedCluster, target: SharedCluster, new_name: Callable[[str], str]
) -> Iterator[Made]:
    """What makes gateways of one link, which follow the ledger until the test is over."""
    file = Link(tmp_path, source, target, new_name("fleet"), timeout="10s").file
    with ExitStack() as stack:

        def once_more(*, follows: bool = True) -> PromotionResources:
            link = stack.enter_context(open_link(load(file)))
            link.prepare()
            at = PromotionResources(link, GatewayBook(link), gateway(), stop=threading.Event())
            at.book.begin()
            stack.callback(at.book.end)
            if follows:
                follower = FleetFollower(at)
                follower.start(at.book.read_to)
                stack.callback(follower.end)
                stack.callback(at.stop.set)
            return at

        yield once_more


def request(link: OpenLink, name: str) -> Promotion:
    return Promotion(
        link=link.name, name=name, state=PromotionStage.ASKED.value, topics=(), dry_run=False,
        user="u", host="h", at=1,
    )  # fmt: skip


def led(at: PromotionResources, name: str) -> None:
    asked = request(at.link, name)
    at.book.renew()
    assert at.book.take(asked)
    at.fleet.join(name, ["t"])


def test_all_hold_what_one_asks_and_go_on_where_the_record_says(made: Made) -> None:
    one, other = made(), made()
    routes = other.gateway.routes
    routes.seen.saw("g", "m-2")
    facts = one.fleet.facts()
    assert any("would take part" in each for each in facts.told)
    assert facts.forbidden == []
    assert facts.groups == {"g"}, "hidden groups of the other one are looked for, too"
    assert one.fleet.unseen({"g": ["m-1", "m-2"]}) == {"g": ["m-1"]}

    led(one, "there")
    assert routes.lease.is_joined
    one.fleet.ask(GatewayTask.GATHER, groups=("g",), others=("h",))
    assert routes.gathering is not None
    routes.gathering.joins("g", "m-2")
    assert one.fleet.missing({"g": ["m-1", "m-2"]}) == {"g": ["m-1"]}
    patience = Deadline.after(10)
    for task in (GatewayTask.CLOSE, GatewayTask.HOLD):
        one.fleet.ask(task, patience, topics=("t",), others=("h",))
    assert (sorted(routes.held), routes.gathering.closed) == (["t"], True)
    one.book.promote(Promoted(link=one.link.name, name="there", topics=(), groups=("g",), at=1))
    wait_until(lambda: not routes.held, "producers go on")
    assert routes.gathering is not None, "members wait until the link copies no more"
    assert (sorted(routes.groups), sorted(routes.of_source)) == (["g"], ["h"])
    one.book.take_over("there")  # as any gateway may write what became of it
    wait_until(lambda: routes.gathering is None, "members go on")
    wait_until(lambda: not routes.lease.is_joined, "it need not tell of itself any more")


def test_who_leads_is_fenced_by_who_takes_over_and_members_join_anew(made: Made) -> None:
    one, other = made(), made()
    led(one, "lost")
    one.fleet.ask(GatewayTask.HOLD, Deadline.after(10), topics=("t",))
    routes = other.gateway.routes
    assert routes.held == {"t"}
    other.book.read()
    (running,) = other.book.led_by_others()
    assert not other.book.is_lost(running), "it lives"
    other.book.take_over("lost")
    wait_until(lambda: not routes.held, "producers go on at the source")
    assert routes.is_interrupted, "members of the other one may think that they have nothing"
    with pytest.raises(LedgerError, match="leads since"):
        one.fleet.ask(GatewayTask.HOLD, Deadline.after(10), topics=("t",))


def test_who_reads_of_a_promotion_once_it_is_over_holds_nobody(made: Made) -> None:
    one, _other = made(), made()
    led(one, "short")
    one.book.take_over("short")
    late = made(follows=False)
    follower = FleetFollower(late)
    lease = late.gateway.routes.lease
    for _ in range(2):  # it reads all of it, and then its own word
        follower.turn()
    follower.end()
    assert not lease.is_joined


def test_a_word_that_came_late_is_taken_back(made: Made) -> None:
    one, other = made(), made()
    led(one, "short")
    one.book.take_over("short")
    lease = other.gateway.routes.lease
    wait_until(lambda: not lease.is_joined, "it takes part no more")
    one.book.read()
    word = one.book.replies[other.book.name]
    assert not word.joined
    words = list[bool]()
    take_in = one.book.take_in

    def heard(entry: ReadEntry) -> None:
        if isinstance(entry, GatewayReply):
            words.append(entry.joined)
        take_in(entry)

    one.book.take_in = heard  # type: ignore[method-assign]
    one.book.tell([replace(word, joined=True)])

    def taken_back() -> bool:
        one.book.read()
        return words == [True, False]

    wait_until(taken_back, "it says so again")


def test_a_gateway_that_does_not_take_part_forbids_it(made: Made) -> None:
    """As one does that is frozen, and any other one until brokers have got all that it sent."""
    one, other = made(), made(follows=False)
    (why,) = one.fleet.facts().forbidden
    assert (why.code, dict(why.values)["why"]) == (
        ReasonCode.PROMOTE_GATEWAYS,
        "it does not answer",
    )
    one.book.tell([replace(one.book.signs[other.book.name], over=True)])
    one.book.read()
    assert one.book.others() == []
    (late,) = one.book.company()
    assert late.name == other.book.name, "brokers may still get what it sent"
    assert not one.book.is_held(late.name)
