"""Records arrive with the ids of the target's registry, also those whose schemas come late."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.clients.serialized import FORMATS, read, write
from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from tests.support.kafka import (
    Record,
    consume,
    create_topic,
    produce,
    set_config,
    wait_for,
    wait_until,
)
from tests.support.links import Link, registries
from tests.support.pages.scrape import Scrape
from tests.support.program import Program
from tests.support.registries.registry import LocalRegistry, record
from tests.support.registries.registry_proxy import Body, Changed, RegistryProxy
from towpath.dev import ports

pytestmark = [pytest.mark.broker, pytest.mark.spark]
COUNT = 100
LATE, NO_ID, FORBIDDEN = 5000, 77_777, 88_888
COUNTED = {
    "temporary": 1, "ids": 3, "redacted": 3, "headers": 4, "ID_ZERO": 1, "RECORD_TOO_LARGE": 1,
}  # fmt: skip


def named(number: int) -> bytes:
    """Return an Avro record of one int, 3, that names a schema."""
    return b"\0" + number.to_bytes(4, "big") + b"\6"


@dataclass
class Shop:
    """A topic whose records are changed in each way, and set aside."""

    topic: str
    ours: LocalRegistry
    source: SharedCluster
    target: SharedCluster

    def __post_init__(self) -> None:
        create_topic(self.source.bootstrap, self.topic, 1, {"max.message.bytes": "20000"})
        number = self.ours.register(f"{self.topic}-value", record("Sold", "x"))
        self.ours.ask("PUT", f"/config/{self.topic}-value", {"compatibility": "FULL"})
        secret = ("secret", b"hunter2")
        good = [Record(b"k", named(number), (secret,)) for _ in range(3)]
        bad = Record(b"bad", named(0), (secret,))
        produce(self.source.bootstrap, self.topic, [Record(b"tmp-1", b"x"), *good, bad])

    @property
    def change(self) -> dict[str, object]:
        """Its entry under `changes`."""
        return {
            "topics": [self.topic],
            "drop": [{"name": "temporary", "key": {"prefixes": ["tmp-"]}}],
            "ids": {"malformed": "quarantine"},
            "redact": ["secret"],
            "headers": [{"name": "env", "value": "prod"}],
            "undeliverable": "quarantine",
        }

    def sell_large(self) -> None:
        """Write a record that the target refuses, and one behind it."""
        set_config(self.target.bootstrap, self.topic, "max.message.bytes", "20000")
        set_config(self.source.bootstrap, self.topic, "max.message.bytes", "100000")
        large = Record(b"large", b"\1" + random.Random(7).randbytes(30_000))
        for each in (large, Record(b"last", b"\1last")):
            produce(self.source.bootstrap, self.topic, [each])

    def counted(self, seen: Scrape) -> dict[str, float | None]:
        """What the run serves of what became of the records."""
        return {
            rule: seen.get(name, topic=self.topic, **{label: rule})
            for name, label, rule in (
                ("towpath_dropped_records", "rule", "temporary"),
                ("towpath_rewritten_parts", "what", "ids"),
                ("towpath_rewritten_parts", "what", "redacted"),
                ("towpath_rewritten_parts", "what", "headers"),
                ("towpath_quarantined_records", "reason", "ID_ZERO"),
                ("towpath_quarantined_records", "reason", "RECORD_TOO_LARGE"),
            )
        }

    def assert_set_aside(self, here: Here, file: Path) -> None:
        """Two records are in quarantine, and the one that fits now is replayed, once."""
        only = str(file), "--topics", self.topic
        listed = here("quarantine", "ls", *only, "-o", "json")
        assert listed.code == 3, listed.said
        assert [each["offset"] for each in listed.json["records"]] == [4, 5]
        set_config(self.target.bootstrap, self.topic, "max.message.bytes", "100000")
        for code in (0, 3):  # then nothing is left that could be replayed
            done = here("quarantine", "replay", *only, "--reason", "RECORD_TOO_LARGE", "--yes")
            assert done.code == code, done.said
        found = consume(self.target.bootstrap, self.topic, [0])
        assert [each.key for each in found] == [b"k"] * 3 + [b"last", b"large"]
        assert found[0].headers == (("secret", b"REDACTED"), ("env", b"prod"))


def assert_served(seen: Scrape, raw: str, created: int) -> None:
    """What a run serves of schemas, when it has registered so many versions."""
    prefix = "redpanda_migrator_sr_"
    found = {
        "passed": seen.get("towpath_unchanged_ids", topic=raw, reason="ID_NONE"),
        "untranslated": seen.of("towpath_schema_ids_untranslated"),
        "created": seen.get(f"{prefix}schemas_created_total"),
        "create times": seen.get(f"{prefix}schema_create_latency_ns_count"),
        "create errors": seen.get(f"{prefix}schema_create_errors_total"),
        "updates": seen.get(f"{prefix}compatibility_updates_total"),
        "update times": seen.get(f"{prefix}compatibility_update_latency_ns_count"),
        "update errors": seen.get(f"{prefix}compatibility_update_errors_total"),
        "versions": seen.of("towpath_schema_versions"),
        "skipped": sum(seen.of("towpath_schemas_skipped").values()),
    }
    assert found == {
        "passed": 1, "untranslated": {("SCHEMA_ID_ABSENT",): 1}, "created": created,
        "create times": created, "create errors": 0, "updates": 1, "update times": 1,
        "update errors": 0, "versions": {("missing",): 0, ("there",): created}, "skipped": 0,
    }  # fmt: skip
    assert min(seen.of("towpath_registry_requests_total").values()) > created


def test_ids_in_records_become_those_of_the_target(
    source: SharedCluster,
    target: SharedCluster,
    new_registry: Callable[..., LocalRegistry],
    new_name: Callable[[str], str],
    here: Here,
    tmp_path: Path,
) -> None:
    ours, theirs = new_registry(), new_registry()
    for number in range(20):  # so that the same schemas get other ids
        theirs.register(f"before-{number}", record(f"Before{number}", "x"))
    name = new_name("translated")
    late, raw, strict = (f"{name}-{each}" for each in ("late", "raw", "strict"))
    for each in (*(f"{name}-{format_}" for format_ in FORMATS), late, raw, strict):
        create_topic(source.bootstrap, each, 1)
    written = write(source.bootstrap, ours.url, name, COUNT)
    shop = Shop(f"{name}-shop", ours, source, target)
    changes = [
        {"topics": [raw], "ids": {"wait": "1s", "strict": False}},
        {"topics": [strict], "ids": {"wait": "1s"}},
        shop.change,
    ]
    between = registries(ours.url, theirs.url, ids="translate", interval="1h", strict=True)
    (port,) = ports.reserve(1)
    link = Link(
        tmp_path, source, target, name, schemas=between, changes=json.dumps(changes),
        listen=f"127.0.0.1:{port}", configs="{exclude: [max.message.bytes]}",
    )  # fmt: skip
    file = link.file

    def there(topic: str) -> list[bytes | None]:
        return [each.value for each in consume(target.bootstrap, topic, [0])]

    run = link.run_inside()
    try:
        produce(source.bootstrap, late, [Record(b"k", named(LATE)), Record(b"k", b"\1later")])
        produce(source.bootstrap, raw, [Record(b"k", named(NO_ID))])
        produce(source.bootstrap, strict, [Record(b"k", named(FORBIDDEN))])
        waits = f"waiting for id {LATE} in values of {late}"
        wait_until(lambda: waits in "".join(run.progress.ids), waits, 120)
        assert read(target.bootstrap, theirs.url, name, COUNT) == written
        assert there(late) == [], "nothing behind it goes first"

        ours.ask("PUT", f"/mode/{late}-value", {"mode": "IMPORT"})
        ours.register(f"{late}-value", record("Late", "x"), id=LATE, version=1)
        wait_until(lambda: len(there(late)) == 2, "its schema and the record are there")
        number = theirs.version(f"{late}-value")["id"]
        assert number not in {LATE, 0}
        assert there(late) == [named(number), b"\1later"]

        wait_until(lambda: there(raw) == [named(NO_ID)], "what is no id passes")
        wait_until(lambda: "SCHEMA_ID_REFUSED" in here("status", str(file)).said, "strict")
        assert there(strict) == []
        shop.sell_large()
        wait_for(lambda: shop.counted(Scrape(link.listen)), COUNTED, "what is counted", 30)
        assert_served(Scrape(link.listen), raw, len(theirs.schemas()) - 20)
    finally:
        run.stop()
    shop.assert_set_aside(here, file)
    told = here("status", str(file), "--output", "json").json["schema_ids"]
    assert told["untranslated"] == {"SCHEMA_ID_ABSENT": 1}
    assert told["awaited"] == []
    again = here("schemas", "diff", str(file))
    assert again.code == 0, again.said


def test_a_registry_that_never_answers_holds_up_nothing_else(
    source: SharedCluster,
    target: SharedCluster,
    new_registry: Callable[..., LocalRegistry],
    new_name: Callable[[str], str],
    tmp_path: Path,
) -> None:
    ours, theirs = new_registry(), new_registry()
    name = new_name("silent")
    first, late, more = (f"{name}-{each}" for each in ("first", "late", "more"))
    for topic in (first, late):
        create_topic(source.bootstrap, topic, 1)
    number = ours.register(f"{first}-value", record("First", "x"))
    produce(source.bootstrap, first, [Record(b"k", named(number))])
    silent, over = threading.Event(), threading.Event()

    def answer(_method: str, _path: str, body: Body) -> Changed:
        if silent.is_set():
            over.wait()
        return body

    proxies = [RegistryProxy(each.url, answer) for each in (ours, theirs)]
    sides = {
        side: {"url": proxy.url, "timeout": "5m"}
        for side, proxy in zip(("source", "target"), proxies, strict=True)
    }
    schemas = json.dumps({**sides, "ids": "translate", "interval": "1s"})
    link = Link(tmp_path, source, target, name, schemas=schemas)
    run = link.run_inside()
    try:
        link.wait_for(run, first, seconds=120)
        silent.set()
        produce(source.bootstrap, late, [Record(b"k", named(LATE))])
        wait_until(lambda: any(proxy.waiting for proxy in proxies), "a request hangs")
        # The main loop finds new topics, and shows how far copying came.
        create_topic(source.bootstrap, more, 1)
        produce(source.bootstrap, more, [Record(b"k", b"\1 no id")] * 3)
        link.wait_for(run, more)
        wait_until(lambda: any(row.topic == more for row in run.progress.rows), "it is shown")
        began = time.monotonic()
        run.stop()
        assert time.monotonic() - began < 30, "no request is waited for"
    finally:
        over.set()
        for proxy in proxies:
            proxy.stop()


@pytest.mark.soak
@pytest.mark.spark(own=True)
def test_a_run_that_is_killed_between_registering_and_the_map_registers_nothing_twice(
    source: SharedCluster,
    target: SharedCluster,
    new_registry: Callable[..., LocalRegistry],
    new_name: Callable[[str], str],
    here: Here,
    tmp_path: Path,
) -> None:
    ours, theirs = new_registry(), new_registry()
    theirs.register("before", record("Before", "x"))
    name = new_name("killed-map")
    topics = [f"{name}-{number}" for number in range(3)]
    for number, topic in enumerate(topics):
        create_topic(source.bootstrap, topic, 1)
        id_ = ours.register(f"{topic}-value", record(f"Killed{number}", "x"))
        produce(source.bootstrap, topic, [Record(b"k", named(id_))] * 50)
    registered = threading.Event()
    left = {"posts": 2}

    def register_then_hang(method: str, path: str, body: Body) -> Changed:
        if method == "POST" and path.endswith("/versions") and left["posts"]:
            left["posts"] -= 1
            if not left["posts"]:
                answer = theirs.answer(method, path, body)
                registered.set()
                time.sleep(60)
                return answer
        return body

    proxy = RegistryProxy(theirs.url, register_then_hang)
    between = registries(ours.url, proxy.url, ids="translate")
    file = Link(tmp_path, source, target, name, schemas=between).file
    program = Program(tmp_path, "run", str(file), name="killed")
    assert registered.wait(120), program.said
    program.kill9()
    done = here.run(str(file), "--until-caught-up")
    assert done.code == 0, done.said
    made = theirs.schemas()
    assert len(made) == 4, "each schema was registered once"
    for topic in topics:
        id_, _ = made[f"{topic}-value", 1]
        assert [each.value for each in consume(target.bootstrap, topic, [0])] == [named(id_)] * 50
    proxy.stop()


@pytest.mark.soak
def test_a_registry_that_is_away_leads_to_no_decision(
    source: SharedCluster,
    target: SharedCluster,
    new_registry: Callable[..., LocalRegistry],
    new_proxy: Callable[..., RegistryProxy],
    new_name: Callable[[str], str],
    here: Here,
    tmp_path: Path,
) -> None:
    """Its id would stay untranslated for ever (docs/decisions/0058)."""
    ours, theirs = new_registry(), new_registry()
    theirs.register("before", record("Before", "x"))
    topic = new_name("away")
    create_topic(source.bootstrap, topic, 1)
    number = ours.register(f"{topic}-value", record("Away", "x"))
    produce(source.bootstrap, topic, [Record(b"k", named(number))])
    away = threading.Event()
    away.set()
    down = 503, {"error_code": 503, "message": "down"}
    proxy = new_proxy(ours.url, lambda _m, _p, body: down if away.is_set() else body)
    sides = {"source": {"url": proxy.url, "timeout": "1s"}, "target": {"url": theirs.url}}
    link = Link(
        tmp_path, source, target, topic, schemas=json.dumps({**sides, "ids": "translate"}),
        changes=json.dumps([{"topics": [topic], "ids": {"wait": "2s"}}]),
    )  # fmt: skip
    file = str(link.file)
    stopped = here.run(file, "--until-caught-up")
    assert stopped.code == 3, stopped.said
    assert "SCHEMA_ID_REFUSED" in stopped.said
    assert consume(target.bootstrap, topic, [0]) == []
    away.clear()
    done = here.run(file, "--until-caught-up")
    assert done.code == 0, done.said
    made = theirs.version(f"{topic}-value")["id"]
    assert made != number
    assert [each.value for each in consume(target.bootstrap, topic, [0])] == [named(made)]
