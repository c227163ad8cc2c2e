"""Brokers start, die, come back, and say why when they cannot."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from tests.support.kafka import Record, consume, create_topic, produce
from towpath.dev import ports
from towpath.dev.broker import LocalCluster
from towpath.dev.errors import BrokerError, PortTakenError

pytestmark = pytest.mark.broker


@pytest.mark.soak  # tests of `lone` and `three` kill and restart in each run
def test_records_outlive_a_kill_and_a_new_start(tmp_path: Path) -> None:
    (port,) = ports.reserve(1)
    cluster = LocalCluster(home=tmp_path, client_ports=[port])
    with cluster:
        first = cluster.cluster_id
        create_topic(cluster.bootstrap, "kept")
        produce(cluster.bootstrap, "kept", [Record(b"k", b"1")])
        cluster.kill9(1)
        assert ports.is_free(port)
        assert cluster.identities == ()
    with LocalCluster(home=tmp_path, client_ports=[port]) as again:
        assert again.cluster_id == first
        assert [r.value for r in consume(again.bootstrap, "kept")] == [b"1"]
    assert again.identities == ()


@pytest.mark.soak
def test_three_brokers_go_on_without_any_one(
    three: LocalCluster, new_name: Callable[[str], str], rng: Random
) -> None:
    topic = create_topic(three.bootstrap, new_name("three"), partitions=3)
    dead = rng.choice((1, 2, 3))
    three.kill9(dead)
    records = [Record(b"k", b"while %d was dead" % dead, partition=each) for each in range(3)]
    produce(three.bootstrap, topic, records, {"acks": "all"})
    three.restart(dead)
    assert len(consume(three.bootstrap, topic, (0, 1, 2))) == 3


@pytest.fixture
def frozen(lone: LocalCluster) -> Iterator[LocalCluster]:
    lone.pause(1)
    yield lone
    lone.resume(1)


def test_a_frozen_broker_keeps_its_port_but_does_not_answer(frozen: LocalCluster) -> None:
    host, _, port = frozen.bootstrap.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=0.5) as connection:
        # ApiVersions, version 0, of a client without a name.
        connection.sendall(bytes([0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 255, 255]))
        with pytest.raises(TimeoutError):
            connection.recv(4)
        frozen.resume(1)
        connection.settimeout(10)
        assert connection.recv(4)


def test_a_taken_port_is_said_before_anything_starts(tmp_path: Path) -> None:
    (port,) = ports.reserve(1)
    with socket.create_server(("127.0.0.1", port)), pytest.raises(PortTakenError, match=str(port)):
        LocalCluster(home=tmp_path / "c", client_ports=[port]).start()
    assert not (tmp_path / "c").exists()


def test_a_broker_that_ends_while_starting_shows_its_log(tmp_path: Path) -> None:
    cluster = LocalCluster(home=tmp_path, properties={"message.max.bytes": "not a number"})
    with pytest.raises(BrokerError) as caught:
        cluster.start()
    text = str(caught.value)
    assert "could not be formatted" in text or "ended while starting" in text
    assert "message.max.bytes" in text
    assert cluster.identities == ()
