"""Schema ids in what two real brokers hold, collected while it is compared."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest

from tests.support.ledger.runs import run
from tests.support.logs.compare import Pair, Row, row
from towpath.compare.named import SeenIds
from towpath.dev.broker import LocalCluster
from towpath.wire.naming import IdSample, NamedId, Part

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
ALL = IdSample()


@pytest.fixture
def pair(source: LocalCluster, target: LocalCluster, new_name: NewName) -> Pair:
    return Pair.make(source, target, new_name("named"))


def records(ids: Sequence[int]) -> list[Row]:
    """Return records whose values name these ids."""
    return [
        row(b"key", b"\0" + number.to_bytes(4, "big") + b"payload", at)
        for at, number in enumerate(ids)
    ]


def test_ids_are_found_in_batches_that_are_equal_and_cut_in_another_way(
    pair: Pair, rng: random.Random
) -> None:
    ids = [rng.randint(1, 3) for _ in range(600)]
    made = records(ids)
    for codec, at in enumerate(range(0, 600, 120)):
        pair.source.write([made[at : at + 60], made[at + 60 : at + 120]], codec)
        pair.target.write([made[at : at + 60], made[at + 60 : at + 90]], codec)
        pair.target.write([made[at + 90 : at + 120]], codec)
    found = pair.compare(600, ids=ALL)
    assert found.equal
    assert found.counts.unopened >= 300
    assert found.ids.named.looked == 600
    expected = [NamedId(Part.VALUE, n, ids.count(n), ids.index(n)) for n in sorted(set(ids))]
    assert list(found.ids.named.ids) == expected
    assert pair.compare(600).ids == SeenIds()

    borders = [0, *sorted(rng.sample(range(1, 600), 3)), 600]
    part = SeenIds()
    for first, end in pairwise(borders):
        facts: dict[str, Any] = {"first": first, "target_first": first, "target_end": end}
        part = part.then(pair.compare(end, [run(0, 0, 600)], ALL, **facts).ids)
    assert part == found.ids


def test_all_records_of_the_link_count_and_those_of_others_do_not(pair: Pair) -> None:
    pair.source.write([records([1] * 10)])
    pair.source.delete_before(4)
    pair.target.write([records([1] * 10)])
    pair.target.write([records([9])], producer=-1)
    pair.target.write([records([2])])
    following = ((next(iter({1 << 41})), 10),)
    found = pair.compare(
        10, [run(0, 0, 10)], ALL, first=4, target_first=4, front=0, following=following
    )
    ids = [NamedId(Part.VALUE, 1, 10, 0), NamedId(Part.VALUE, 2, 1, 11)]
    assert list(found.ids.named.ids) == ids
