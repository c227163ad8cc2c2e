"""What would make a restore wait, or slow it down, is told before it begins."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.archive.archives import CLUSTER
from tests.support.subjects.topic_models import topic
from towpath.archive.config import RestoreConfig
from towpath.archive.restore.limits import of_cold, too_large, unwritable
from towpath.archive.restore.model import RestoreTopic
from towpath.model.findings import Note, Problem
from towpath.model.nouns import TopicName
from towpath.store.objects import StoredObject
from towpath.store.s3.s3 import is_cold

COLD = StoredObject(
    key="eu/orders/0/2/0-9.parquet",
    size=5 << 30,
    tag="t",
    modified=0,
    storage_class="GLACIER",
    cold=True,
)


def rules(timeout: str) -> RestoreConfig:
    return RestoreConfig.model_validate({"late": {"timeout": timeout}})


def test_cold_objects_are_waited_for_if_there_is_time() -> None:
    [note] = of_cold(rules("1d"), [COLD, replace(COLD, key="other")])
    assert isinstance(note, Note)
    assert "2 objects with 10" in note.text
    assert "storage class GLACIER must be thawed" in note.text
    assert "such as eu/orders/0/2/0-9.parquet" in note.text
    assert "the restore waits for them meanwhile" in note.text


@pytest.mark.parametrize(("name", "timeout"), [("GLACIER", "6h"), ("DEEP_ARCHIVE", "1d")])
def test_cold_objects_that_would_be_lost_are_a_problem(name: str, timeout: str) -> None:
    [problem] = of_cold(rules(timeout), [replace(COLD, storage_class=name)])
    assert isinstance(problem, Problem)
    assert "raise `restore.late.timeout`" in problem.text


def test_no_cold_object_is_nothing_to_tell() -> None:
    assert not list(of_cold(rules("1s"), []))


@pytest.mark.parametrize(
    ("storage_class", "answer", "cold"),
    [
        ("", {}, False),
        ("STANDARD_IA", {}, False),
        ("GLACIER_IR", {}, False),
        ("GLACIER", {}, True),
        ("GLACIER", {"Restore": 'ongoing-request="true"'}, True),
        ("DEEP_ARCHIVE", {"Restore": 'ongoing-request="false", expiry-date="…"'}, False),
        ("INTELLIGENT_TIERING", {"ArchiveStatus": "DEEP_ARCHIVE_ACCESS"}, True),
        ("INTELLIGENT_TIERING", {}, False),
    ],
)
def test_objects_that_must_be_thawed(
    storage_class: str, answer: dict[str, str], cold: bool
) -> None:
    assert is_cold(storage_class, answer) is cold


def test_a_topic_with_too_few_replicas_is_a_problem() -> None:
    there = topic("orders", replicas=2, configs={"min.insync.replicas": "3"})
    [problem] = unwritable(TopicName("orders"), there)
    assert "min.insync.replicas=3 and 2 replicas" in problem.text
    assert not list(unwritable(TopicName("orders"), replace(there, replication_factor=3)))


@pytest.mark.parametrize(
    ("archived", "request_bytes", "told"),
    [("30000000", 20_000_000, 1), ("30000000", 40_000_000, 0), ("30000000", None, 0)],
)
def test_brokers_that_take_no_request_as_large_as_archived_batches_are_told(
    archived: str, request_bytes: int | None, told: int
) -> None:
    was = topic("orders", configs={"max.message.bytes": archived})
    found = RestoreTopic(topic=was, cluster=CLUSTER, target=was.name, parts=())
    texts = [*too_large(found, request_bytes)]
    assert len(texts) == told
    assert all("requests of at most 20000000 bytes" in each for each in texts)
