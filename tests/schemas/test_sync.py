"""Schemas move between two real registries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.brokers import SharedCluster
from tests.support.here import Here
from tests.support.registry import LocalRegistry, record, refers

pytestmark = pytest.mark.broker
NewRegistry = Callable[..., LocalRegistry]


def test_a_registry_moves_whole_and_with_its_ids(
    source: SharedCluster,
    target: SharedCluster,
    new_registry: NewRegistry,
    new_name: Callable[[str], str],
    here: Here,
    tmp_path: Path,
) -> None:
    ours, theirs = new_registry(), new_registry()
    for number in range(40):
        theirs.register("already-there", record(f"T{number}", "x"))  # takes the first ids
        theirs.answer("PUT", "/config/already-there", {"compatibility": "NONE"})
    ours.ask("PUT", "/mode", {"mode": "IMPORT"})
    ours.register("money", record("Money", "amount"), id=101, version=1)
    ours.ask("PUT", "/mode", {"mode": "READWRITE"})
    ours.register("money", record("Money", "amount", "currency"))
    of_money = refers(("Money", "money", 2))
    ours.register("orders-value", record("Order", of={"price": "Money"}), references=of_money)
    ours.register("same-value", record("Money", "amount"))
    ours.ask("PUT", "/config/money", {"compatibility": "NONE"})
    ours.register("money", '"string"')  # breaks what holds from now on
    ours.ask("PUT", "/config/money", {"compatibility": "FULL"})
    name = new_name("schemas")
    file = tmp_path / "link.yaml"
    file.write_text(
        f"source: {{bootstrap: '{source.bootstrap}'}}\n"
        f"target: {{bootstrap: '{target.bootstrap}'}}\n"
        f"link: {name}\n"
        f"topics: {{include: ['{name}.*']}}\n"
        f"schemas: {{source: {{url: '{ours.url}'}}, target: {{url: '{theirs.url}'}}}}\n"
    )
    assert {
        row["verdict"]
        for row in here("schemas", "verify", str(file), "-o", "json").json["versions"]
    } == {"missing"}
    assert here("schemas", "diff", str(file)).code == 3
    planned = here("plan", str(file), "--output", "json").json
    assert [step["do"] for step in planned["steps"]].count("RegisterSchemas") == 3

    applied = here("schemas", "sync", str(file))
    assert applied.code == 0, applied.said
    assert ours.schemas().items() <= theirs.schemas().items()
    assert theirs.version("orders-value")["references"] == of_money
    assert theirs.level("money") == "FULL"
    assert [theirs.mode(each) for each in ("money", "orders-value", "same-value")] == [None] * 3

    assert here("schemas", "diff", str(file)).code == 0
    assert "5 of 5 versions equal" in here("schemas", "verify", str(file)).out
    listed = here("schemas", "ls", str(file))
    assert "same-value" in listed.out
    again = here("plan", str(file), "--output", "json").json
    assert not [step for step in again["steps"] if step["subject"] == "schemas"]
    assert not again["problems"]
