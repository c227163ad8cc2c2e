"""Schemas move between two real registries."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from tests.support.links import Link, registries
from tests.support.program import Program
from tests.support.registries.registry import LocalRegistry, record, refers
from tests.support.registries.registry_proxy import Body, Changed, RegistryProxy

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
    file = Link(tmp_path, source, target, name, schemas=registries(ours.url, theirs.url)).file
    assert {
        row["verdict"]
        for row in here("schemas", "verify", str(file), "-o", "json").json["versions"]
    } == {"missing"}
    shown = here("schemas", "diff", str(file))
    assert shown.code == 3
    assert "schemas: 3 to register, 1 to set; 0 problems" in shown.out
    assert "topics" not in shown.out
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


@pytest.mark.soak
def test_a_process_that_is_killed_while_a_subject_is_in_import_leaves_nothing_behind(
    source: SharedCluster,
    target: SharedCluster,
    new_registry: NewRegistry,
    new_name: Callable[[str], str],
    here: Here,
    tmp_path: Path,
) -> None:
    ours, theirs = new_registry(), new_registry()
    for name in ("a", "b", "c"):
        ours.register(name, record(name, "x"))
        ours.register(name, record(name, "x", "y"))
    theirs.ask("PUT", "/mode/b", {"mode": "READONLY"})
    asked, go_on = threading.Event(), threading.Event()
    at = {"number": 0}

    def hang(method: str, path: str, body: Body) -> Changed:
        if method == "POST" and path.startswith("/subjects/") and not go_on.is_set():
            at["number"] += 1
            if at["number"] == stop_at:
                asked.set()
                go_on.wait(60)
        return body

    proxy = RegistryProxy(theirs.url, hang)
    name = new_name("killed")
    file = Link(tmp_path, source, target, name, schemas=registries(ours.url, proxy.url)).file
    for stop_at in (2, 3):  # of "a" the second version, then one of another subject
        at["number"] = 0
        program = Program(tmp_path, "schemas", "sync", str(file), name=f"sync-{stop_at}")
        assert asked.wait(60), program.said
        program.kill9()
        asked.clear()
        go_on.set()
        go_on = threading.Event()
    assert "IMPORT" in {theirs.mode(each) for each in "abc"}
    go_on.set()
    plan = here("schemas", "diff", str(file), "-o", "json")
    assert plan.code == 3
    ended = here("schemas", "sync", str(file))
    assert ended.code == 0, ended.said
    assert theirs.schemas() == ours.schemas()
    assert [theirs.mode(each) for each in "abc"] == [None, "READONLY", None]
    assert here("schemas", "diff", str(file)).code == 0
    proxy.stop()


@pytest.mark.soak
@pytest.mark.parametrize("ids", ["keep", "translate"])
def test_a_sync_that_is_killed_again_and_again_restores_what_it_changed(
    source: SharedCluster,
    target: SharedCluster,
    new_registry: NewRegistry,
    new_name: Callable[[str], str],
    here: Here,
    tmp_path: Path,
    ids: str,
) -> None:
    """It is killed at a random change, again while it recovers; the change may arrive or not."""
    ours, theirs = new_registry(), new_registry()
    for name in ("a", "b", "c"):
        for number in range(3):
            ours.ask("PUT", "/config", {"compatibility": "NONE"})
            ours.register(name, record(f"{name}{number}", "x"))
    ours.ask("PUT", "/config", {"compatibility": "BACKWARD"})
    theirs.ask("PUT", "/config/b", {"compatibility": "FULL", "compatibilityGroup": "major"})
    theirs.ask("PUT", "/mode/b", {"mode": "READONLY"})
    theirs.ask("PUT", "/mode/c", {"mode": "IMPORT" if ids == "translate" else "READWRITE"})
    before = {name: (theirs.mode(name), theirs.answer("GET", f"/config/{name}")) for name in "abc"}
    chance = random.Random(f"{os.environ['TOWPATH_SEED']} {ids}")
    asked, killed, left = threading.Event(), threading.Event(), 0

    def hang(method: str, path: str, body: Body) -> Changed:
        nonlocal left
        is_lookup = method == "POST" and not path.partition("?")[0].endswith("/versions")
        if method == "GET" or is_lookup or killed.is_set():
            return body
        left -= 1
        if left == 0:
            asked.set()
            assert killed.wait(60)
            if chance.random() < 0.5:
                return 503, {"error_code": 503, "message": "lost"}
        return body

    proxy = RegistryProxy(theirs.url, hang)
    name = new_name("again")
    between = registries(ours.url, proxy.url, ids=ids)
    file = Link(tmp_path, source, target, name, schemas=between).file
    kills = 0
    while kills < 12:
        asked.clear()
        killed.clear()
        left = chance.randint(2, 4)
        program = Program(tmp_path, "schemas", "sync", str(file), name=f"sync-{kills}")
        while program.running and not asked.wait(0.05):
            pass
        if not asked.is_set():
            break
        program.kill9()
        killed.set()
        kills += 1
    killed.set()
    assert kills >= 3
    ended = here("schemas", "sync", str(file))
    assert ended.code == 0, ended.said
    again = here("schemas", "diff", str(file))
    assert again.code == 0, again.said
    texts = [sorted(text for _, text in each.schemas().values()) for each in (ours, theirs)]
    assert texts[0] == texts[1]
    after = {name: (theirs.mode(name), theirs.answer("GET", f"/config/{name}")) for name in "abc"}
    assert after == before
    proxy.stop()
