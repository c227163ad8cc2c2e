"""The shared fixtures do what `tests/conftest.py` promises."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.certificates import Vault
from tests.support.clusters.fleet import USERS
from tests.support.kafka import Record, consume, create_topic, end_offsets, produce, raw_batches
from tests.support.network.toxiproxy import Toxiproxy
from towpath.dev.broker import LocalCluster

pytestmark = pytest.mark.broker


def test_records_come_back_as_they_went(
    source: LocalCluster, new_name: Callable[[str], str], rng: Random
) -> None:
    topic = create_topic(source.bootstrap, new_name("fixtures"), partitions=2)
    sent = [
        Record(
            key=None if n % 3 else rng.randbytes(4),
            value=b"" if n % 2 else rng.randbytes(100),
            headers=(("h", None), ("h", b"\xff")),
            timestamp=1_700_000_000_000 + n,
            partition=n % 2,
        )
        for n in range(20)
    ]
    produce(source.bootstrap, topic, sent, {"compression.type": "zstd"})
    got = consume(source.bootstrap, topic, (0, 1))
    assert [(r.key, r.value, r.headers, r.timestamp) for r in got if r.partition == 1] == [
        (r.key, r.value, r.headers, r.timestamp) for r in sent if r.partition == 1
    ]
    assert end_offsets(source.bootstrap, topic) == (0, 10)


def test_raw_batches_begin_with_the_batch_asked_for(
    source: LocalCluster, new_name: Callable[[str], str]
) -> None:
    topic = create_topic(source.bootstrap, new_name("raw"))
    produce(source.bootstrap, topic, [Record(b"k", b"v")] * 3, {"batch.num.messages": 1})
    raw = raw_batches(source.bootstrap, topic, offset=2)
    base, length = struct.unpack_from(">qi", raw)
    assert (base, len(raw), raw[16]) == (2, 12 + length, 2)


def test_a_secured_cluster_lets_in_whom_it_should(
    secured_source: LocalCluster, vault: Vault
) -> None:
    settings: dict[str, str | int | float | bool] = {
        "bootstrap.servers": secured_source.bootstrap,
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(vault.ca),
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "admin",
        "sasl.password": USERS["admin"].reveal(),
    }
    metadata = AdminClient(settings).list_topics(timeout=10)
    assert metadata.cluster_id == secured_source.cluster_id
    with pytest.raises(KafkaException, match=r"TRANSPORT|AUTHENTICATION|timed out"):
        AdminClient(settings | {"sasl.password": "wrong"}).list_topics(timeout=2)


def test_the_proxy_cuts_and_heals(
    toxiproxy: Toxiproxy, source: SharedCluster, new_name: Callable[[str], str]
) -> None:
    topic = create_topic(source.bootstrap, new_name("proxied"))
    proxied = source.through("PROXIED").bootstrap
    direct = AdminClient({"bootstrap.servers": source.bound("PROXIED")[0]})
    [broker] = direct.list_topics(timeout=10).brokers.values()
    assert f"{broker.host}:{broker.port}" == proxied, "clients cannot get around the proxy"
    produce(proxied, topic, [Record(None, b"before")])
    toxiproxy.cut(source)
    with pytest.raises(KafkaException):
        AdminClient({"bootstrap.servers": proxied}).list_topics(timeout=1)
    toxiproxy.heal(source)
    assert [r.value for r in consume(proxied, topic)] == [b"before"]


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="only Linux tells")
def test_brokers_start_from_the_archive_of_their_classes(source: LocalCluster) -> None:
    """The JVM passes over one that does not fit without a word."""
    [broker] = source.identities
    assert "/classes/kafka-" in Path(f"/proc/{broker.pid}/maps").read_text()
