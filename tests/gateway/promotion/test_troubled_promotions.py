"""Promotions go well whatever is killed, frozen or elected in their middle."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.support.clients.moving import PARTITIONS
from tests.support.clients.quick_links import quick_link
from tests.support.clients.troubled import Scene
from tests.support.clients.troubled_rounds import played
from tests.support.clients.troubles import (
    LedgerAway,
    drawn,
    drawn_of_brokers,
    frozen_at,
    killed_at,
)
from tests.support.clusters.clusters import Clusters
from tests.support.copying.chaos import soak_rounds
from tests.support.here import Here
from tests.support.kafka import PATIENCE, wait_until
from tests.support.links import Link, end
from tests.support.nursery import Nursery
from tests.support.program import environment

pytestmark = [pytest.mark.broker, pytest.mark.soak]
ROUNDS, BLOCK = 20, 12


@pytest.fixture
def troubled_link(
    request: pytest.FixtureRequest,
    clusters: Clusters,
    tmp_path: Path,
    new_name: Callable[[str], str],
) -> Iterator[Link]:
    made = quick_link(clusters, tmp_path, new_name("trouble"), getattr(request, "param", 1))
    made.nursery = Nursery(environment())
    yield made
    for program in made.programs:
        program.close()
    made.nursery.close()


def topics_of(link: Link) -> Iterator[str]:
    """Yield topics that the run has found, some at a time."""
    admin, number = AdminClient({"bootstrap.servers": link.source.bootstrap}), 0
    while True:
        names = [f"{link.name}.{number + each}" for each in range(BLOCK)]
        number += BLOCK
        made = admin.create_topics([NewTopic(each, PARTITIONS, -1) for each in names])
        for each in made.values():
            each.result(PATIENCE)
        wait_until(lambda: all(end(link.target, each) >= 0 for each in names), "all found", 120)  # noqa: B023
        yield from names


def numbers() -> range:
    """Return the numbers of the rounds to play, from the one that `TOWPATH_ROUND` names."""
    first = int(os.environ.get("TOWPATH_ROUND") or 0)
    return range(first, first + (soak_rounds() or ROUNDS))


def tell(here: Here, what: str) -> None:
    with here.shown.disabled():
        print(what, flush=True)  # noqa: T201


@pytest.mark.timeout(0)
def test_promotions_go_well_whatever_happens_to_processes(
    troubled_link: Link, here: Here, seed: int
) -> None:
    scene, topics = Scene(troubled_link, here), topics_of(troubled_link)
    for number in numbers():
        dice = random.Random(f"{seed}:{number}")
        tell(here, str(played(scene, topics, dice, drawn(dice), seed=seed, number=number)))


@pytest.mark.timeout(0)
@pytest.mark.parametrize("troubled_link", [3], indirect=True)
def test_promotions_go_well_whatever_happens_to_brokers(
    troubled_link: Link, here: Here, seed: int
) -> None:
    scene, topics = Scene(troubled_link, here), topics_of(troubled_link)
    for number in numbers():
        dice = random.Random(f"{seed}:{number}")
        trouble = drawn_of_brokers(dice)
        tell(here, str(played(scene, topics, dice, trouble, seed=seed, number=number)))


@pytest.mark.timeout(0)
@pytest.mark.parametrize("troubled_link", [3], indirect=True)
def test_members_that_were_held_while_the_ledger_was_away_go_on(
    troubled_link: Link, here: Here, seed: int
) -> None:
    """Gateways answer nobody meanwhile, so clients give up on requests that wait there."""
    scene, topics, happened = Scene(troubled_link, here), topics_of(troubled_link), 0
    for number in range(6):
        trouble = LedgerAway("the leader of the ledger frozen for 20 s")
        told = played(scene, topics, random.Random(f"{seed}:{number}"), trouble, number=number)
        happened += trouble.happened
        tell(here, str(told))
    assert happened


@pytest.mark.timeout(0)
@pytest.mark.parametrize("leads", [True, False], ids=["leader", "follower"])
@pytest.mark.parametrize("what", ["killed", "frozen"])
def test_promotions_go_well_with_a_gateway_that_ends_or_freezes_around_any_write(
    troubled_link: Link, here: Here, leads: bool, what: str
) -> None:
    """It ends with a write that does not come any more until the promotion is done."""
    dice, number, is_over = random.Random(what), 0, False
    scene, topics = Scene(troubled_link, here), topics_of(troubled_link)
    while not is_over:
        number += 1
        trouble = killed_at(number, leads=leads) if what == "killed" else frozen_at(
            number, dice.choice((1.0, 7.0)), leads=leads
        )  # fmt: skip
        told = played(scene, topics, dice, trouble, number=number)
        is_over = not trouble.happened
        tell(here, str(told))
    assert number > 10, "there are many writes before"
