"""What `status` says behind the end, up to Kafka 4, and of files of another mode. Pure."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.kraft.worlds import (
    at_stage,
    codes_of,
    kraft_config,
    start_of,
    walk,
    with_broker,
    with_controller,
    with_log,
)
from tests.support.pages.pictures import text_of
from towpath.kraft.decide.moves import Facts
from towpath.kraft.decide.next_steps import next_steps
from towpath.kraft.facts.nouns import BrokerMode, Goal, Stage
from towpath.kraft.facts.seen import Observation, Unseen
from towpath.kraft.files import kafka_4
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.show import data
from towpath.kraft.show import pictures as shown

_CONFIG = kraft_config()
_FINAL = walk(_CONFIG, start_of(_CONFIG), Goal.FINAL)[1]


def _upgraded(seen: Observation, level: int, kraft: int) -> Observation:
    features = {"metadata.version": level, "kraft.version": kraft}
    for node in seen.brokers:
        seen = with_broker(seen, node, software="4.4", features=features)
    for node in seen.controllers:
        seen = with_controller(seen, node, software="4.4", features=features)
    return with_log(seen, features={"metadata.version": level})


def _codes(seen: Observation) -> set[FindingCode]:
    return codes_of(next_steps(Facts.of(_CONFIG, seen)))


@pytest.mark.parametrize("stage", [each for each in Stage if each is not Stage.UNKNOWN])
def test_nothing_is_next_before_the_end(stage: Stage) -> None:
    if stage not in {Stage.FINAL, Stage.HEADLESS, Stage.COPYING}:
        assert _codes(at_stage(_CONFIG, stage)) == set()


def test_each_step_is_told_until_it_is_done() -> None:
    seen = _upgraded(_FINAL, 21, 0)
    for node in seen.controllers:
        seen = with_controller(seen, node, software="3.9")
    assert FindingCode.KAFKA_4_NEXT in _codes(seen)
    assert FindingCode.ZOOKEEPER_UNUSED in _codes(seen)
    assert FindingCode.KEPT_KEYS in _codes(seen)
    same = _upgraded(replace(_FINAL, zookeeper=None), 21, 0)
    assert FindingCode.METADATA_VERSION_NEXT in _codes(same)
    assert not _codes(same) & {FindingCode.KAFKA_4_NEXT, FindingCode.ZOOKEEPER_UNUSED}
    raised = _upgraded(_FINAL, 30, 0)
    assert FindingCode.QUORUM_STATIC in _codes(raised)
    assert FindingCode.METADATA_VERSION_NEXT not in _codes(raised)
    done = _upgraded(replace(_FINAL, zookeeper=None), 30, 1)
    for node in done.brokers:
        file = {"process.roles": "broker", "node.id": str(node)}
        done = with_broker(done, node, properties=file)
    assert _codes(done) == set()


def test_files_are_read_with_the_eyes_of_kafka_4() -> None:
    file = {
        **_FINAL.brokers[min(_FINAL.brokers)].properties,
        "log.message.format.version": "3.0",
        "zookeeper.session.timeout.ms": "9000",
        "log.segment.bytes": "1000",
        "num.replica.fetchers": "2",
    }
    facts = Facts.of(_CONFIG, with_broker(_FINAL, 0, properties=file))
    found = {each.code: each for each in next_steps(facts)}
    gone = str(found[FindingCode.KEYS_GONE_IN_4])
    assert "log.message.format.version" in gone
    assert "zookeeper.session.timeout.ms" in gone
    assert "towpath.kept" not in gone
    refused = str(found[FindingCode.VALUES_REFUSED_BY_4])
    assert "log.segment.bytes=1000 (at least 1048576) of node 0" in refused
    assert "num.replica" not in refused
    assert not list(kafka_4.refused({"log.segment.bytes": "1048576"}))


def test_a_zookeeper_that_is_gone_behind_the_end_is_no_trouble() -> None:
    seen = replace(_FINAL, zookeeper=None, unseen=(Unseen("ZooKeeper", "connection refused"),))
    text = text_of(shown.status_picture(Facts.of(_CONFIG, seen)))
    assert "no node of this cluster needs it any more" in text
    assert "connection refused" not in text


def test_status_tells_next_steps_and_files_of_another_mode() -> None:
    told = data.status_data(Facts.of(_CONFIG, _FINAL))
    assert {each["code"] for each in told["next"]} >= {FindingCode.KAFKA_4_NEXT}
    seen = at_stage(_CONFIG, Stage.DUAL_WRITE)
    file = {**seen.brokers[min(seen.brokers)].properties}
    file.pop("process.roles")
    other = Facts.of(_CONFIG, with_broker(seen, 0, properties=file))
    (found,) = data.status_data(other)["about_nodes"]
    assert found["code"] == FindingCode.FILE_OF_OTHER_MODE
    assert "0 (runs in kraft mode, its file is for zookeeper mode)" in found["what"]
    node = next(each for each in data.status_data(other)["nodes"] if each["id"] == 0)
    assert (node["mode"], node["file_mode"]) == (BrokerMode.KRAFT, BrokerMode.ZOOKEEPER)
    lost = with_controller(seen, 3002, meta=(), running=False, flag=None)
    told = data.status_data(Facts.of(_CONFIG, lost))
    assert {each["code"] for each in told["about_nodes"]} == {FindingCode.CONTROLLERS_LOST}


def test_the_page_names_each_key_and_value_that_kafka_4_does_not_take() -> None:
    page = Path(__file__).parents[3] / "docs/howto/to-kafka-4.md"
    named = set(re.findall(r"`([^`\n]+)`", page.read_text()))
    groups = {f"{each}*" for each in kafka_4.GONE_PREFIXES}
    assert named >= kafka_4.GONE | groups | set(kafka_4.LEAST)
