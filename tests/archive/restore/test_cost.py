"""What the plan of a restore reckons: objects, requests, bytes, time, and a price."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.archive.stored import StoredArchive, old_records
from towpath.archive.config.restore_section import RestoreCosts
from towpath.archive.log import Archive
from towpath.archive.restore.cost import RestoreCost, cost_of
from towpath.archive.restore.preflight import objects_of
from towpath.archive.restore.scope import scope_of


def reckoned(stored: StoredArchive, **restore: object) -> RestoreCost:
    config = stored.config(**restore)
    archive = Archive.newest(stored.store, stored.region)
    scope = scope_of(archive, config.restore)
    return cost_of(archive.log.state, scope, objects_of(archive, scope), config.restore.costs)


def test_only_what_is_read_counts(tmp_path: Path) -> None:
    stored = StoredArchive(tmp_path, "shop", "127.0.0.1:1")
    made = stored.put("orders", old_records(60), cuts=[20, 40])
    stored.put("other", old_records(60))
    sizes = [each.place.size for each in made if each.place]
    topics = {"include": ["orders"]}
    found = reckoned(stored, topics=topics)
    assert (found.objects, found.bytes, found.requests) == (3, sum(sizes), 9)
    assert found.records_bytes == sum(each.raw_bytes for each in made)
    assert found.price is None
    part = reckoned(stored, topics=topics, range={"from": 25, "to": 30})
    assert (part.objects, part.bytes) == (1, sizes[1])


def test_time_and_price_come_from_the_file() -> None:
    cost = RestoreCost(
        objects=2, bytes=3 << 30, requests=3076, records_bytes=6000 << 20, seconds=60.0,
        price=0.27, currency="EUR",
    )  # fmt: skip
    assert cost.told(100 << 20) == (
        "reads 2 objects of 3.0 GiB in about 3,076 requests and takes about 1m 00s at 100.0 MiB/s"
        " of records; about 0.27 EUR"
    )
    rules = RestoreCosts.model_validate({"thousand_gets": 0.4, "egress_gib": 0.09})
    assert (rules.currency, rules.rate) == ("USD", 100 << 20)


@pytest.mark.parametrize("wrong", [{"egress_gib": -1}, {"rate": "0B"}, {"currency": ""}])
def test_impossible_prices_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="1 validation error"):
        RestoreCosts.model_validate(wrong)


def test_prices_are_multiplied(tmp_path: Path) -> None:
    stored = StoredArchive(tmp_path, "shop", "127.0.0.1:1")
    stored.put("orders", old_records(60))
    free = reckoned(stored)
    found = reckoned(stored, costs={"thousand_gets": 1000.0, "egress_gib": 2.0**30, "rate": "1KiB"})
    assert found.price == free.requests + free.bytes
    assert found.seconds == pytest.approx(free.records_bytes / 1024)
