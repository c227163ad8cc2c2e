"""What the ledger keeps of transactional ids that came through gateways, and for how long."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.links import Link
from towpath.gateway.promotion import gateway_entries
from towpath.gateway.promotion.gateway_book import GatewayBook
from towpath.gateway.promotion.promotion_resources import PromotionResources
from towpath.gateway.promotion.relayed_ids import RelayedIds
from towpath.gateway.routes import Routes
from towpath.ledger.entries import RelayedId
from towpath.ledger.link import open_link
from towpath.runtime.clock import now_ms
from towpath.settings import load

pytestmark = pytest.mark.broker
DAY = 86_400_000


@pytest.fixture
def started(
    tmp_path: Path, source: SharedCluster, target: SharedCluster, new_name: Callable[[str], str]
) -> Iterator[Callable[[], PromotionResources]]:
    """What starts gateways of one link that serve nobody."""
    file = Link(tmp_path, source, target, new_name("ids"), timeout="10s").file
    with ExitStack() as stack:

        def once_more() -> PromotionResources:
            link = stack.enter_context(open_link(load(file)))
            link.prepare()
            gateway = cast("Any", SimpleNamespace(routes=Routes()))
            at = PromotionResources(link, GatewayBook(link), gateway, stop=threading.Event())
            at.book.begin()
            stack.callback(at.book.end)
            return at

        yield once_more


def kept(at: PromotionResources, name: str, *, days: int) -> None:
    """Write an entry of some days ago to the ledger."""
    entry = RelayedId(
        link=at.link.name, id=name, producers=(1,), topics=("t",), groups=(),
        at=now_ms() - days * DAY,
    )  # fmt: skip
    at.book.tell([entry])


def names(at: PromotionResources) -> set[str]:
    at.book.read()
    return {*at.book.relayed}


def test_ids_of_long_ago_leave_the_ledger(started: Callable[[], PromotionResources]) -> None:
    first, second = started(), started()
    for name, days in (("today", 0), ("yesterday", 1), ("old", 3)):
        kept(first, name, days=days)
    assert names(second) == {"today", "yesterday", "old"}
    RelayedIds(second).note()
    assert names(first) == {"today", "yesterday", "old"}, "the one that began first does that"
    RelayedIds(first).note()
    assert names(second) == {"today", "yesterday"}
    learned = started()
    assert names(learned) == {"today", "yesterday"}
    RelayedIds(learned).learn()
    assert {*learned.gateway.routes.transactions.seen()} == {"today"}, "a day counts"


def test_ids_beyond_those_that_are_remembered_leave_the_ledger(
    started: Callable[[], PromotionResources], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway_entries, "MOST", 2)
    at = started()
    for name, days in (("third", 1), ("first", 0), ("second", 0)):
        kept(at, name, days=days)
    at.book.read()
    RelayedIds(at).note()
    assert names(at) == {"first", "second"}


def test_a_gateway_that_ends_writes_when_it_last_heard_of_ids(
    started: Callable[[], PromotionResources],
) -> None:
    at = started()
    kept(at, "mine", days=1)
    kept(at, "another's", days=1)
    at.book.read()
    ids, relayed = at.gateway.routes.transactions, RelayedIds(at)
    ids.learn({"mine": ids.saw("mine", 1, ["t"]), "another's": ids.saw("another's", 1, ["t"])})
    ids.unnoted(every=True)
    ids.saw("mine", 1, ["t"])
    relayed.note()
    assert names(at) == {"mine", "another's"}
    assert [each.id for each in at.book.relayed_lately()] == [], "nothing new was done"
    relayed.note(every=True)
    at.book.read()
    assert [each.id for each in at.book.relayed_lately()] == ["mine"]
