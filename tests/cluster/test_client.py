"""The blocking client of the data path, where logins and certificates do not fit."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from tests.support.clusters.certificates import Vault
from tests.support.clusters.fleet import USERS
from tests.support.kafka import Record, create_topic, produce
from towpath.cluster.admin import Admin
from towpath.cluster.admin.topics import TopicAdmin
from towpath.cluster.data import frames
from towpath.cluster.data.client import Client
from towpath.cluster.metadata import Metadata
from towpath.dev.broker import LocalCluster
from towpath.model.errors import ClusterError
from towpath.model.nouns import NO_TOPIC_ID, Side, TopicName, TopicPartition
from towpath.model.secret import Secret
from towpath.settings import ClusterConfig

pytestmark = pytest.mark.broker


def config(cluster: LocalCluster, password: Secret, tls: Any, user: str = "admin") -> ClusterConfig:
    sasl = {"mechanism": "SCRAM-SHA-512", "username": user, "password": password}
    return ClusterConfig(bootstrap=cluster.addresses, request_timeout="120s", tls=tls, sasl=sasl)


def sentence(call: Callable[[], object]) -> str:
    began = time.monotonic()
    with pytest.raises(ClusterError) as caught:
        call()
    assert time.monotonic() - began < 60, "request_timeout is 120 s"
    return str(caught.value)


@pytest.mark.parametrize("fault", ["password", "authority"])
@pytest.mark.parametrize("known", [False, True], ids=["at first", "with the leader known"])
def test_trouble_with_security_is_told_at_once(
    secured_source: LocalCluster,
    vault: Vault,
    new_name: Callable[[str], str],
    fault: str,
    known: bool,
) -> None:
    tp = TopicPartition(TopicName(create_topic(secured_source.back_door, new_name("told"))), 0)
    trusted = {"ca": str(vault.ca)}
    good = config(secured_source, USERS["admin"], trusted)
    bad = {
        "password": config(secured_source, Secret("wr0ng"), trusted),
        "authority": config(secured_source, USERS["admin"], True),
    }[fault]
    with Admin(bad, Side.SOURCE) as refused:
        of_control = sentence(refused.cluster.id)
    with Admin(good if known else bad, Side.SOURCE) as admin, Client(bad, Side.SOURCE, admin) as c:
        of_data = sentence(lambda: c.fetch(tp, 0, max_bytes=1000))
        assert sentence(lambda: c.produce(tp, bytearray(100))) == of_data
    assert of_data == of_control
    assert {
        "password": "SASL_AUTHENTICATION_FAILED (58)",
        "authority": "signed by none of the system's authorities; give the PEM file",
    }[fault] in of_data


def test_a_topic_without_id_is_fetched_by_name(
    source: LocalCluster, new_name: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some brokers take fetches by id, and have topics from before there were ids."""
    tp = TopicPartition(TopicName(create_topic(source.bootstrap, new_name("nameless"))), 0)
    produce(source.bootstrap, tp.topic, [Record(b"k", b"v")])
    plain = ClusterConfig(bootstrap=source.addresses)
    with_brokers = TopicAdmin.with_brokers

    def nameless(self: TopicAdmin, *names: Any) -> Metadata:
        found = with_brokers(self, *names)
        topics = {name: replace(topic, id=NO_TOPIC_ID) for name, topic in found.topics.items()}
        return replace(found, topics=topics)

    monkeypatch.setattr(TopicAdmin, "with_brokers", nameless)
    with Admin(plain, Side.SOURCE) as admin, Client(plain, Side.SOURCE, admin) as client:
        found = client.fetch(tp, 0, max_bytes=1000)
    assert found.end > found.start


def test_a_wait_in_another_thread_ends_with_its_own_connection(
    source: LocalCluster, new_name: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A socket that is closed under a thread may be another one's by the time it waits."""
    tp = TopicPartition(TopicName(create_topic(source.bootstrap, new_name("closed"))), 0)
    about_to_wait, closed, descriptors = threading.Event(), threading.Event(), list[int]()

    def held(connection: socket.socket, *rest: Any) -> None:
        about_to_wait.set()
        closed.wait(30)
        descriptors.append(connection.fileno())
        frames.receive(connection, *rest)

    where = ClusterConfig(bootstrap=source.addresses)
    with Admin(where, Side.SOURCE) as admin:
        client = Client(where, Side.SOURCE, admin)
        monkeypatch.setattr("towpath.cluster.data.client.receive", held)
        with ThreadPoolExecutor(1) as pool:
            fetched = pool.submit(client.fetch, tp, 0, max_bytes=1000, wait=30)
            assert about_to_wait.wait(30)
            client.close()
            closed.set()
            sentence(fetched.result)
    assert descriptors[0] >= 0
    assert not client._connections


def test_a_topic_that_the_login_may_not_see_is_told_so(
    secured_source: LocalCluster, vault: Vault, new_name: Callable[[str], str]
) -> None:
    """It has a leader, which brokers do not show to this login."""
    tp = TopicPartition(TopicName(create_topic(secured_source.back_door, new_name("hidden"))), 0)
    stranger = config(secured_source, USERS["nobody"], {"ca": str(vault.ca)}, "nobody")
    with Admin(stranger, Side.SOURCE) as admin, Client(stranger, Side.SOURCE, admin) as client:
        said = sentence(lambda: client.produce(tp, bytearray(100)))
    assert "TOPIC_AUTHORIZATION_FAILED (29)" in said
