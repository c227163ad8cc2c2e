"""Saved plans and journalled steps as earlier versions wrote them: every later version reads them.

`golden_plan.json` and `golden_schemas.json` hold a step of every kind, byte by byte as it was
saved. Further files may join them; they are never changed.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from towpath.access.steps import (
    CreateAcl,
    DeleteAcl,
    DeleteUser,
    RemoveQuota,
    SetQuota,
    SetUser,
)
from towpath.group_configs.steps import RemoveHolderConfig, SetHolderConfig
from towpath.ledger import entries
from towpath.ledger.entries import Journal
from towpath.mirror.subjects import SUBJECTS
from towpath.model.acl import Acl, Operation, Pattern, Permission, Resource
from towpath.model.findings import Cause, Note, Problem
from towpath.model.holders import ConfigHolder
from towpath.model.nouns import ClusterId, LinkName, TopicId, TopicName
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.model.schemas import SchemaId
from towpath.model.scram import Credential, Mechanism
from towpath.plan.kinds import as_data
from towpath.plan.model import ClusterFacts, Plan
from towpath.plan.saved import load_plan
from towpath.schemas.steps import (
    MarkDeleted,
    RegisterSchemas,
    RestoreSubject,
    SetSubjectConfig,
    WantedVersion,
)
from towpath.topics.steps import AddPartitions, CreateTopic, DeleteTopic, SetConfigs

FILE = Path(__file__).parent / "golden_plan.json"
OF_SCHEMAS = Path(__file__).parent / "golden_schemas.json"
WITH_CONFIGS = Path(__file__).parent / "golden_schemas_with_configs.json"
WITH_REGISTRIES = Path(__file__).parent / "golden_schemas_with_registries.json"
OF_GROUPS = Path(__file__).parent / "golden_group_configs.json"
HELD = Path(__file__).parent / "golden_plan_with_held.json"
LEDGER = Path(__file__).parent.parent / "ledger" / "golden.tsv"
ORDERS, COPY = TopicName("orders"), TopicName("eu.orders")
ACL = Acl(
    resource=Resource.TOPIC,
    name="eu.",
    pattern=Pattern.PREFIXED,
    principal="User:ann",
    host="*",
    operation=Operation.READ,
    permission=Permission.ALLOW,
)
ANN = Credential("ann", Mechanism.SHA_512)
QUOTA = Quota(
    (Entity(EntityKind.USER, "ann"), Entity(EntityKind.CLIENT_ID, None)),
    QuotaKey.PRODUCER_BYTE_RATE,
)
PLAN = Plan(
    link=LinkName("gold"),
    source=ClusterFacts(("a:9092",), ClusterId("A"), "3.9", 3, "mirror"),
    target=ClusterFacts(("b:9092", "b:9093"), ClusterId("B"), "4.3", 1),
    topics={ORDERS: COPY},
    steps=(
        CreateTopic(
            source=ORDERS,
            target=COPY,
            partitions=3,
            replication_factor=-1,
            configs={"retention.ms": "-1"},
            held={"retention.ms": "5", "retention.bytes": None},
        ),
        AddPartitions(ORDERS, COPY, 1, 2),
        SetConfigs(
            source=ORDERS,
            target=COPY,
            set={"segment.ms": "7"},
            remove=("flush.ms",),
            before={"segment.ms": None, "flush.ms": "2"},
            owned=("flush.ms",),
            id=TopicId("0dc8849c-8073-45e1-b453-207abcf4931c"),
        ),
        SetUser(ANN, 8192, None),
        SetQuota(QUOTA, 2.5, 1.0),
        CreateAcl(ACL, "what asks for it"),
        DeleteAcl(ACL),
        RemoveQuota(QUOTA, 3.0),
        DeleteUser(ANN, 4096),
        DeleteTopic(ORDERS, COPY, TopicId("0dc8849c-8073-45e1-b453-207abcf4931c"), 2),
    ),
    notes=(Note("orders", "a note"),),
    problems=(Problem("payments", "a problem", Cause.TOPIC),),
)


SCHEMAS = replace(
    PLAN,
    steps=(
        RestoreSubject("eu.a", None, "FULL", keep=True),
        RegisterSchemas(
            name="eu.orders-value",
            source="orders-value",
            versions=(
                WantedVersion(1, SchemaId(7), "0a"),
                WantedVersion(3, SchemaId(100_001), "0b", deleted=True),
            ),
            wave=1,
            needs=("eu.money",),
            had=1,
            mode="READONLY",
            compatibility=None,
            keep=True,
        ),
        MarkDeleted("eu.orders-value", (3,), 1),
        SetSubjectConfig("eu.orders-value", "READONLY", "FULL", normalize=True, had="BACKWARD"),
    ),
)


_SESSION, _INTERVAL = "consumer.session.timeout.ms", "interval.ms"
GROUPS = replace(
    PLAN,
    steps=(
        SetHolderConfig(ConfigHolder.GROUP, "eu.app", _SESSION, "50000", None, "app"),
        SetHolderConfig(ConfigHolder.CLIENT_METRICS, "all", _INTERVAL, "10000", "5000", "all"),
        RemoveHolderConfig(ConfigHolder.GROUP, "eu.app", "share.isolation.level", "read_committed"),
    ),
)


def test_an_old_plan_of_group_configs_is_read() -> None:
    assert load_plan(OF_GROUPS, SUBJECTS.kinds).plan == GROUPS
    old = json.loads(OF_GROUPS.read_text())
    now = json.loads(json.dumps(GROUPS.as_data()))
    assert {key: old[key] for key in now} == now


def test_an_old_plan_of_schemas_is_read() -> None:
    assert load_plan(OF_SCHEMAS, SUBJECTS.kinds).plan == SCHEMAS
    assert load_plan(WITH_CONFIGS, SUBJECTS.kinds).plan == SCHEMAS
    assert load_plan(WITH_REGISTRIES, SUBJECTS.kinds).plan == SCHEMAS
    old = json.loads(WITH_REGISTRIES.read_text())
    now = json.loads(json.dumps(SCHEMAS.as_data()))
    assert {key: old[key] for key in now} == now


def test_an_old_plan_is_read() -> None:
    saved = load_plan(FILE, SUBJECTS.kinds)
    assert saved.plan == PLAN
    assert saved.made == "2026-11-22 21:50:00"
    assert saved.digest == json.loads(FILE.read_text())["digest"]


def test_a_plan_is_still_written_as_it_was() -> None:
    assert load_plan(HELD, SUBJECTS.kinds).plan == PLAN
    old = json.loads(HELD.read_text())
    now = json.loads(json.dumps(PLAN.as_data()))
    assert {key: old[key] for key in now} == now
    steps = (*PLAN.steps, *SCHEMAS.steps, *GROUPS.steps)
    assert {type(step) for step in steps} == {kind.step for kind in SUBJECTS.kinds}


def test_steps_of_old_journals_are_read_and_written_as_they_were() -> None:
    lines = [line.encode().split(b"\t") for line in LEDGER.read_text().splitlines()]
    found = [entries.decode(key, value) for key, value in lines if key.startswith(b'["step"')]
    steps = [entry.step for entry in found if isinstance(entry, Journal) and len(entry.step) > 2]
    assert len(steps) == 4
    for step in steps:
        written = as_data(SUBJECTS.kinds.from_data(step, "ledger"))
        assert {key: written[key] for key in step} == step
