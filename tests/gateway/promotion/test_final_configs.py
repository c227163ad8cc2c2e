"""What a link holds back of the configs of its mirror topics is set when these move."""

from __future__ import annotations

import pytest

from tests.support.clients.gateways import promoted, served
from tests.support.here import Here
from tests.support.kafka import Record, create_topic, produce, topic_config, wait_until
from tests.support.links import Link, end
from towpath.cluster.admin.configs import ConfigAdmin
from towpath.cluster.metadata import Answers
from towpath.ledger.link import open_link
from towpath.model.errors import RefusedError
from towpath.model.nouns import TopicName
from towpath.model.reasons import ReasonCode
from towpath.settings import load
from towpath.topics.final_configs import set_final

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]
OF_SOURCE = {"retention.ms": "86400000", "segment.ms": "3600000", "max.message.bytes": "2000000"}


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
    assert promoted(here, link)["reasons"] == []
    found = {key: topic_config(link.target.bootstrap, topic, key) for key in OF_SOURCE}
    assert found == OF_SOURCE


@pytest.mark.timeout(600)
def test_what_the_target_refuses_to_set_is_named(
    gateway_link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = gateway_link
    topic = TopicName(create_topic(link.source.bootstrap, f"{link.name}.refused", 1, OF_SOURCE))
    produce(link.source.bootstrap, topic, [Record(b"k", b"v")] * 100)
    run = link.run_inside()
    wait_until(lambda: end(link.target, topic) == 100, lambda: f"it is copied: {run.said}", 120)
    run.stop()
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
