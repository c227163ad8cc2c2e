"""What a link holds back of the configs of its mirror topics is set when these move."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.support.clients.gateways import promoted, served
from tests.support.here import Here
from tests.support.kafka import Record, create_topic, produce, topic_config, wait_until
from tests.support.links import Link, end
from towpath.cluster.admin import Admin
from towpath.cluster.admin.configs import ConfigAdmin
from towpath.cluster.metadata import Answers
from towpath.dev.broker import LocalCluster
from towpath.ledger.link import open_link
from towpath.model.errors import RefusedError, UnreachableError
from towpath.model.nouns import Side, TopicName
from towpath.model.reasons import ReasonCode
from towpath.settings import ClusterConfig, load
from towpath.topics.final_configs import set_as_source, set_final

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]
OF_SOURCE = {"retention.ms": "86400000", "segment.ms": "3600000", "max.message.bytes": "2000000"}


def change(cluster: LocalCluster, topic: str, configs: Mapping[str, str]) -> None:
    with Admin(ClusterConfig(bootstrap=cluster.bootstrap), Side.SOURCE) as admin:
        assert not admin.configs.change_all({TopicName(topic): dict(configs)}).failed


def copied(link: Link, name: str) -> TopicName:
    """Make a topic, and let a run copy it that ends then."""
    topic = TopicName(create_topic(link.source.bootstrap, f"{link.name}.{name}", 1, OF_SOURCE))
    produce(link.source.bootstrap, topic, [Record(b"k", b"v")] * 100)
    run = link.run_inside()
    wait_until(lambda: end(link.target, topic) == 100, lambda: f"it is copied: {run.said}", 120)
    run.stop()
    return topic


@pytest.mark.timeout(600)
def test_a_topic_that_is_promoted_at_once_gets_the_configs_of_the_source(
    gateway_link: Link, here: Here
) -> None:
    link = gateway_link
    topic = create_topic(link.source.bootstrap, f"{link.name}.configs", 1, OF_SOURCE)
    produce(link.source.bootstrap, topic, [Record(b"k", b"v")] * 100)
    link.run_inside()
    served(link)
    wait_until(lambda: end(link.target, topic) == 100, "it is copied", 120)
    later = {**OF_SOURCE, "retention.ms": "172800000", "max.message.bytes": "3000000"}
    change(link.source, topic, later)
    assert promoted(here, link)["reasons"] == []
    found = {key: topic_config(link.target.bootstrap, topic, key) for key in OF_SOURCE}
    assert found == later


@pytest.mark.timeout(600)
def test_what_the_target_refuses_to_set_is_named(
    gateway_link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = gateway_link
    topic = copied(link, "refused")
    why = RefusedError("target", "changing configs", 29, "TOPIC_AUTHORIZATION_FAILED", "no right")
    with open_link(load(link.file)) as found:
        found.read()
        with monkeypatch.context() as patched:
            answers = Answers[TopicName, float]({}, {topic: why})
            patched.setattr(ConfigAdmin, "change_all", lambda _, __: answers)
            (reason,) = set_final(found, [topic]).values()
        assert reason.code is ReasonCode.PROMOTE_CONFIGS
        assert f"topic {topic} has moved without configs" in str(reason)
        assert "retention.ms=86400000" in str(reason)
        assert set_final(found, [topic]) == {}
        assert topic_config(link.target.bootstrap, topic, "retention.ms") == "86400000"
        assert set_final(found, [topic]) == {}, "nothing is held back any more"


@pytest.mark.timeout(600)
def test_what_changed_since_the_last_sync_is_brought_or_named(
    gateway_link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = gateway_link
    topic = copied(link, "changed")
    later = {"retention.ms": "172800000", "segment.ms": "7200000", "max.message.bytes": "1500000"}
    change(link.source, topic, later)
    away = UnreachableError("source", "asking", "no answer")
    with open_link(load(link.file)) as found:
        found.read()
        with monkeypatch.context() as patched:
            patched.setattr(
                ConfigAdmin, "change_all", lambda _, each: Answers({}, dict.fromkeys(each, away))
            )
            (reason,) = set_as_source(found, [topic])
        assert reason.code is ReasonCode.PROMOTE_CONFIGS
        assert "retention.ms=172800000" in str(reason)
        assert set_as_source(found, [topic]) == []
        assert {key: topic_config(link.target.bootstrap, topic, key) for key in later} == later
        with monkeypatch.context() as patched:
            patched.setattr(found.source.cluster.__class__, "pulse", lambda *_: raised(away))
            (reason,) = set_as_source(found, [topic])
        assert "changed since the link last looked" in str(reason)


def raised(error: Exception) -> None:
    raise error
