"""Events on a real broker: written from a thread of their own, read, and what happens where not."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.kafka import Record, produce, wait_until
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.ledger import event_log
from towpath.ledger.entries import Journal, LinkIdentity, Phase
from towpath.ledger.event_log import EventLog
from towpath.ledger.events import Event, EventReader, Origin, What
from towpath.ledger.ledger import Ledger
from towpath.model.errors import UnreachableError
from towpath.model.nouns import EVENTS, LEDGER, NO_TOPIC_ID, ClusterId, LinkName, Side
from towpath.settings import ClusterConfig
from towpath.settings.units import Duration

LINK = LinkName("shop")
STEP = Journal(
    link=LINK,
    subject="topics",
    name="orders",
    do="CreateTopic",
    part="",
    step={"source": "orders"},
    phase=Phase.DONE,
    plan="",
    owned=True,
    topic_id=NO_TOPIC_ID,
    error="",
    at=5,
)
EVENT = Event(
    id="a", at=1_700_000_000_000, link=LINK, what=What.ROUND_ENDED, about="", facts={"number": 3},
    origin=Origin(user="ann", login="", host="h", pid=1, version="0.2"),
)  # fmt: skip
GOLDEN = (
    b'{"id":"a","at":1700000000000,"link":"shop","what":"round.ended","about":"",'
    b'"facts":{"number":3},"origin":{"user":"ann","login":"","host":"h","pid":1,"version":"0.2"},'
    b'"v":1}'
)


def test_the_bytes_of_an_event_stay() -> None:
    assert EVENT.encode() == (b"shop", GOLDEN)
    assert Event.decode(GOLDEN) == EVENT


def test_a_later_version_may_add_kinds_and_fields() -> None:
    body = json.loads(GOLDEN)
    later = json.dumps({**body, "what": "group.moved", "why": "x"}).encode()
    assert Event.decode(later) == replace(EVENT, what="group.moved")
    assert Event.decode(json.dumps({**body, "v": 2}).encode()) is None
    assert Event.decode(b"{}") is None
    assert Event.decode(None) is None


@pytest.fixture
def config(lone: LocalCluster) -> ClusterConfig:
    return ClusterConfig(bootstrap=lone.addresses)


@pytest.fixture
def admin(lone: LocalCluster, config: ClusterConfig) -> Iterator[Admin]:
    """Connect to a cluster without events."""
    with Admin(config, Side.TARGET) as made:
        forget(lone, made)
        yield made


def forget(cluster: LocalCluster, admin: Admin) -> None:
    door = AdminClient({"bootstrap.servers": cluster.bootstrap})
    for name in admin.topics.describe([EVENTS, LEDGER]):
        door.delete_topics([name])[name].result(10)
    wait_until(lambda: not admin.topics.describe([EVENTS, LEDGER]), "both are gone")


def read(config: ClusterConfig, admin: Admin, link: LinkName | None = None) -> list[Event]:
    with Client(config, Side.TARGET, admin) as client:
        return list(EventReader(admin, client).read(link))


@pytest.mark.broker
def test_events_are_kept_in_order(config: ClusterConfig, admin: Admin) -> None:
    assert read(config, admin) == []
    log = EventLog(config, admin, LINK)
    for number in range(1200):
        log.tell(What.ROUND_ENDED, number=number)
    log.close()
    assert (log.lost, log.trouble) == (0, "")
    found = read(config, admin)
    assert [event.facts["number"] for event in found] == list(range(1200))
    assert {(event.link, event.origin.pid) for event in found} == {(LINK, os.getpid())}
    configs = admin.configs.describe([EVENTS])[EVENTS]
    assert configs["cleanup.policy"].value == "delete"
    assert configs["retention.ms"].value == str(90 * 24 * 60 * 60 * 1000)


@pytest.mark.broker
def test_what_the_ledger_takes_is_told(config: ClusterConfig, admin: Admin) -> None:
    identity = LinkIdentity(LINK, ClusterId("s"), ClusterId("t"))
    with Client(config, Side.TARGET, admin) as client:
        log = EventLog(config, admin, LINK)
        ledger = Ledger(admin, client, log.heard)
        ledger.create()
        ledger.append([identity, replace(STEP, phase=Phase.BEGUN), STEP])
        ledger.append([replace(STEP, phase=Phase.FAILED, error="no room")])
        ledger.append([replace(STEP, phase=Phase.FAILED, error="")])  # somebody has mended it
        log.close()
    told = [(event.what, event.about, event.facts.get("error")) for event in read(config, admin)]
    assert told == [
        ("link.changed", "", None), ("step.done", "orders", None),
        ("step.failed", "orders", "no room"),
    ]  # fmt: skip
    assert read(config, admin, LinkName("another")) == []


@pytest.mark.broker
def test_a_repeated_event_is_read_once_and_a_foreign_record_is_counted(
    lone: LocalCluster, config: ClusterConfig, admin: Admin
) -> None:
    log = EventLog(config, admin, LINK)
    log.tell(What.RUN_STARTED)
    log.close()
    twice = replace(EVENT, what=What.RUN_ENDED).encode()
    records = [Record(*twice), Record(b"shop", b"not an event"), Record(*twice)]
    produce(lone.bootstrap, EVENTS, records)
    with Client(config, Side.TARGET, admin) as client:
        reader = EventReader(admin, client)
        assert [event.what for event in reader.read()] == [What.RUN_STARTED, What.RUN_ENDED]
        assert reader.foreign == 1
        assert [event.what for event in reader.read(since=EVENT.at + 1)] == [What.RUN_STARTED]


@pytest.mark.broker
def test_an_error_that_passes_costs_the_last_events_nothing(
    config: ClusterConfig, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = EventLog(config, admin, LINK)
    write, failed = log._client.produce, list[UnreachableError]()

    def refuse_twice(*arguments: Any) -> Any:
        if len(failed) == 2:
            return write(*arguments)
        failed.append(UnreachableError(Side.TARGET, "writing events", "the connection was cut"))
        raise failed[-1]

    monkeypatch.setattr(log._client, "produce", refuse_twice)
    log.tell(What.RUN_ENDED)
    log.close()
    assert (len(failed), log.lost, log.trouble) == (2, 0, "")
    assert [event.what for event in read(config, admin)] == [What.RUN_ENDED]


def test_a_target_that_is_away_costs_events_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(event_log, "_GOODBYE", 0.5)
    config = ClusterConfig(bootstrap=("127.0.0.1:1",), request_timeout=Duration.parse("200ms"))
    with Admin(config, Side.TARGET) as admin:
        log = EventLog(config, admin, LINK)
        log.tell(What.RUN_STARTED)
        wait_until(lambda: bool(log.why), "the first attempt failed")
        assert log.trouble.startswith("1 event is not written to topic __towpath_events: target:")
        began = time.monotonic()
        log.close()
        assert time.monotonic() - began > 0.5, "it is tried again until the end"
        log.tell(What.RUN_ENDED)
    assert log.lost == 2
