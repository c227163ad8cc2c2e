"""What a login may not see or do with topics, on clusters that hold ACLs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin._acl import AclOperation

from tests.support.clusters import rights
from tests.support.clusters.certificates import Vault
from tests.support.clusters.fleet import USERS
from tests.support.kafka import create_topic, wait_until
from tests.support.links import link
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side, TopicId, TopicName
from towpath.plan.subject import Difference
from towpath.topics.apply import check_all
from towpath.topics.diff import diff
from towpath.topics.observe import observe
from towpath.topics.owned import OwnedTopics
from towpath.topics.steps import AddPartitions, DeleteTopic, SetConfigs, TopicStep

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]

DESCRIBE, CONFIGS, READ = (
    AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS, AclOperation.READ,
)  # fmt: skip


@pytest.fixture
def login(vault: Vault, tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "password").write_text(USERS["mirror"].reveal())
    return {
        "tls": {"ca": str(vault.ca)},
        "sasl": {
            "mechanism": "SCRAM-SHA-256", "username": "mirror",
            "password": f"file:{tmp_path / 'password'}",
        },
    }  # fmt: skip


def allow(cluster: LocalCluster, name: str, *operations: AclOperation) -> None:
    """Let the login `mirror` do this with a topic, which need not be there."""
    rights.allow(cluster, rights.TOPIC, name, operations, pattern=rights.LITERAL)


def made(cluster: LocalCluster, name: str, *allowed: AclOperation) -> TopicName:
    """Create a topic with which the login may do this."""
    create_topic(cluster.back_door, name)
    allow(cluster, name, *allowed)
    return TopicName(name)


def test_rights_that_are_missing_are_told_and_prune_nothing(
    secured_source: LocalCluster,
    secured_target: LocalCluster,
    login: dict[str, Any],
    new_name: NewName,
) -> None:
    prefix = new_name("rights")
    hidden = made(secured_source, f"{prefix}-hidden")
    deleted, doubtful = (TopicName(f"{prefix}-{why}") for why in ("deleted", "doubtful"))
    allow(secured_source, deleted, DESCRIBE)
    for name in (hidden, deleted, doubtful):
        made(secured_target, name, DESCRIBE)
    unseen = [made(secured_source, f"{prefix}-unseen{n}", DESCRIBE, READ) for n in range(2)]
    blind = [made(secured_source, f"{prefix}-blind{n}", DESCRIBE, CONFIGS, READ) for n in range(2)]
    for name in blind:
        made(secured_target, name, READ, AclOperation.WRITE, AclOperation.DELETE)
    made(secured_target, f"{prefix}-told", DESCRIBE, CONFIGS)
    held, able = (
        made(secured_source, f"{prefix}-{end}", CONFIGS, READ) for end in ("held", "able")
    )
    for name, last in ((held, CONFIGS), (able, AclOperation.ALTER_CONFIGS)):
        create_topic(secured_target.back_door, name, 1, {"retention.ms": "-1"})
        allow(secured_target, name, READ, AclOperation.WRITE, AclOperation.DELETE, last)
    waiting = {key: {"retention.ms": "7"} for key in (held, able)}
    ours = OwnedTopics(created={name: name for name in (hidden, deleted, doubtful)}, held=waiting)
    config = link(
        secured_source.bootstrap, secured_target.bootstrap, f"{prefix}-.*", security=login,
        prune=True,
    )  # fmt: skip
    with Admin(config.source, Side.SOURCE) as source, Admin(config.target, Side.TARGET) as target:
        wait_until(
            lambda: {*unseen, *blind, *waiting} <= source.topics.describe().keys(),
            "all of the source is seen",
        )
        wait_until(
            lambda: {*ours.created, *blind, held, able} <= target.topics.describe().keys(),
            "all of the target is seen",
        )
        assert hidden not in source.topics.describe()
        found = diff(observe(source, target, config, ours), config, ours)
        said = {note.about: note.text for note in found.notes}
        _hidden_configs_are_told(found, unseen, blind)
        _what_cannot_be_released_is_told(found, held, able)
        # None is in the list of all topics, but only of one it is told that it does not exist.
        for name in (hidden, doubtful):
            assert "TOPIC_AUTHORIZATION_FAILED (29)" in said[name]
            assert said[name].endswith(f"until then its mirror topic {name} stays")
        assert deleted not in said
        assert found.steps == (
            DeleteTopic(deleted, deleted, target.topics.describe([deleted])[deleted].id, 1),
        )
        _steps_without_rights_are_refused(found.steps, deleted, blind, target)


def _hidden_configs_are_told(
    found: Difference[TopicStep], unseen: list[TopicName], blind: list[TopicName]
) -> None:
    assert {each.about: each.text for each in found.problems} == dict.fromkeys(
        unseen,
        "source: the login mirror lacks the ACL DescribeConfigs on this topic, so its configs"
        " are not known; add it there",
    )
    said = {note.about: note.text for note in found.notes}
    for name in blind:
        assert said[name] == (
            "target: the login mirror lacks the ACL DescribeConfigs on this topic, so its"
            " configs are not known; add it there"
        )


def _what_cannot_be_released_is_told(
    found: Difference[TopicStep], held: TopicName, able: TopicName
) -> None:
    lacking = {note.about for note in found.notes if "AlterConfigs" in note.text}
    assert (lacking, {held, able} <= found.topics.keys()) == ({held}, True)
    [text] = [note.text for note in found.notes if "AlterConfigs" in note.text]
    assert text == (
        f"target: the login mirror lacks the ACL AlterConfigs on topic {held}, so configs that are"
        " held back while the mirror topic is filled cannot be released: retention.ms;"
        " add it there"
    )


def _steps_without_rights_are_refused(
    steps: Sequence[TopicStep], deleted: TopicName, blind: list[TopicName], target: Admin
) -> None:
    refusals = check_all(
        (
            *steps,
            AddPartitions(blind[0], blind[0], 1, 2),
            SetConfigs(
                source=blind[1],
                target=blind[1],
                set={"segment.ms": "9"},
                remove=(),
                before={"segment.ms": None},
            ),
            DeleteTopic(TopicName("none"), TopicName("none"), TopicId("x"), 1),
        ),
        target,
    )
    assert {step.source: str(error).rpartition("; ")[2] for step, error in refusals} == {
        deleted: f"the login needs the ACL Delete on topic {deleted}",
        blind[0]: f"the login needs the ACL Alter on topic {blind[0]}",
        blind[1]: f"the login needs the ACL AlterConfigs on topic {blind[1]}",
    }
