"""`towpath verify --schemas`: both registries are asked for each id in real records."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.here import Here
from tests.support.kafka import Record, produce
from tests.support.mirror import Mirror
from tests.support.registries.registry import LocalRegistry, record, refers
from towpath.dev.broker import LocalCluster

NewName = Callable[[str], str]
NewRegistry = Callable[..., LocalRegistry]
SIDES = ("source", "target")


def framed(number: int, payload: bytes = b"...") -> bytes:
    """Return what a serializer of Confluent makes."""
    return b"\0" + number.to_bytes(4, "big") + payload


def file_of(mirror: Mirror, *registries: str, **more: Any) -> str:
    """Write a file of the link with a block `schemas`."""
    mirror.config  # noqa: B018  # writes the file without it
    plain = mirror.folder / f"{mirror.topic}.yaml"
    file = mirror.folder / f"{mirror.topic}-schemas.yaml"
    sides = {
        side: {"url": url, "timeout": "2s"} for side, url in zip(SIDES, registries, strict=True)
    }
    file.write_text(plain.read_text() + f"schemas: {json.dumps(sides | more)}\n")
    return str(file)


@pytest.mark.broker
@pytest.mark.spark
def test_each_id_is_answered_equally_or_named(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: NewName,
    new_registry: NewRegistry,
    here: Here,
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("proof"))
    mirror.create(2)
    ours, theirs = new_registry(), new_registry()
    address = ours.register("address", record("Address", "street"))
    customer = record("Customer", "id", of={"home": "Address"})
    refs = refers(("Address", "address", 1))
    customers = ours.register(f"{mirror.topic}-key", customer, references=refs)
    orders = ours.register(f"{mirror.topic}-value", record("Order", "x"))
    file = file_of(mirror, ours.url, theirs.url)
    assert here("schemas", "sync", file).code == 0

    values = [framed(orders), framed(orders), framed(orders), b"{}", None]
    produce(
        source.bootstrap,
        mirror.topic,
        [Record(framed(customers), value, partition=i % 2) for i, value in enumerate(values * 9)],
    )
    mirror.catch_up()
    proven = here.on_spark("verify", file, "--schemas")
    assert proven.code == 0, proven.said
    told = "schemas: the target answers equally for 2 of 2 schema ids; 45 records looked at"
    assert told in proven.out

    # The source gives more ids than the target has, or gives others, or has none of them.
    wrong = ours.register("refunds-value", record("Refund", "why"))
    theirs.register("someone-else", record("Other", "y"))
    unknown = 4_000
    late = [
        Record(b"\0\0\1", framed(wrong), partition=1),
        Record(framed(unknown), framed(orders), (("__value_schema_id", framed(address)),)),
    ]
    produce(source.bootstrap, mirror.topic, late)
    mirror.catch_up()
    failed = here.on_spark("verify", file, "--schemas", "-o", "json")
    assert failed.code == 3, failed.said
    said = failed.json
    assert [each["verdict"] for each in said["partitions"]] == ["equal", "equal"]
    answers = {(each["part"], each["id"]): each for each in said["schemas"]["ids"]}
    verdicts = {key: each["verdict"] for key, each in answers.items()}
    assert verdicts == {
        ("key", customers): "equal",
        ("key", unknown): "lost",
        ("value", orders): "equal",
        ("value", address): "equal",
        ("value", wrong): "different",
    }
    found = answers["value", wrong]
    assert (found["partition"], found["offset"], found["records"]) == (1, 22, 1)
    assert found["why"] == (
        f"the target has another schema; at the source, id {wrong} is refunds-value version 1, and"
        " these bytes may be no id"
    )
    assert answers["value", orders]["records"] == 27
    assert said["equal"] is said["schemas"]["equal"] is False

    theirs.ask("DELETE", f"/subjects/{mirror.topic}-value")
    theirs.ask("DELETE", f"/subjects/{mirror.topic}-value?permanent=true")
    shown = here.on_spark("verify", file, "--schemas", "--one-in", "2", "--seed", "3")
    assert shown.code == 3
    assert "the target has no such id; at the source, id " in " ".join(shown.out.split())
    assert "(one in 2, --seed 3)" in shown.out
    ours.stop()
    away = here("verify", file, "--schemas", "--master", "local[2]")
    assert away.code == 4, away.said


@pytest.mark.broker
@pytest.mark.spark
@pytest.mark.soak
def test_rewritten_ids_are_answered_as_those_at_the_source(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: NewName,
    new_registry: NewRegistry,
    here: Here,
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("rewritten"))
    mirror.create(1)
    ours, theirs = new_registry(), new_registry()
    theirs.register("taken", record("Taken", "x"))
    orders = ours.register(f"{mirror.topic}-value", record("Order", "x"))
    values = [framed(orders)] * 20 + [framed(77), b"{}", None]
    produce(source.bootstrap, mirror.topic, [Record(b"k", value) for value in values])
    file = file_of(mirror, ours.url, theirs.url, ids="translate")
    changes = {
        "topics": [".*"],
        "drop": [{"name": "none", "tombstones": True}],
        "ids": {"wait": "1s"},
        "headers": [{"name": "env", "value": "test"}],
    }
    Path(file).write_text(Path(file).read_text() + f"changes: {json.dumps([changes])}\n")
    ran = here.run(file, "--until-caught-up")
    assert ran.code == 0, ran.said
    proven = here.on_spark("verify", file, "--schemas", "-o", "json")
    assert proven.code == 0, proven.said
    said = proven.json
    [partition] = said["partitions"]
    assert (partition["verdict"], partition["equal"]) == ("equal", 22)
    assert partition["changes"] == {"ids": 20, "dropped:none": 1} | partition["changes"]
    answers = {each["id"]: each for each in said["schemas"]["ids"]}
    there = theirs.version(f"{mirror.topic}-value")["id"]
    assert (answers[there]["verdict"], answers[there]["source_ids"]) == ("equal", [orders])
    assert there != orders
    assert answers[77]["verdict"] in {"no id", "lost"}
    shown = here.on_spark("verify", file)
    assert "1 record left out: dropped by rule none" in shown.out

    # Another schema under the id that records have now.
    for path in ("", "?permanent=true"):
        theirs.ask("DELETE", f"/subjects/{mirror.topic}-value{path}")
    assert here.on_spark("verify", file, "--schemas").code == 3


def test_it_needs_registries_and_records(here: Here, tmp_path: Path) -> None:
    file = tmp_path / "link.yaml"
    file.write_text(
        "source: {bootstrap: 'a:1'}\ntarget: {bootstrap: 'b:1'}\nlink: x\ntopics: {include: [x]}\n"
    )
    refused = here("verify", str(file), "--schemas")
    assert (refused.code, "schemas: is required for --schemas" in refused.err) == (2, True)
    refused = here("verify", str(file), "--one-in", "5")
    assert (refused.code, "--one-in: needs --schemas" in refused.err) == (2, True)
