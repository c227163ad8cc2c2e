"""What is told of a cutover beside whether everything is equal. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.ledger.standings import ROW
from tests.support.subjects.topic_models import observed, topic
from towpath.access.subject import ACCESS, WITHHELD
from towpath.mirror.cutover.beside import (
    acls_held,
    holds_out,
    mapped,
    offsets_differ,
    rights_first,
    to_stop,
)
from towpath.mirror.cutover.writers import Writing
from towpath.mirror.status.partition_status import State
from towpath.model.nouns import TopicName, TopicPartition
from towpath.plan.differences import Differences, SubjectPart
from towpath.plan.subject import Difference
from towpath.settings import LinkConfig
from towpath.topics.owned import OwnedTopics
from towpath.topics.subject import TOPICS, TopicSnapshot

ORDERS = TopicName("orders")
CONFIG = {"source": {"bootstrap": "a:9092"}, "target": {"bootstrap": "b:9092"}, "link": "l"}


def config(**topics: Any) -> LinkConfig:
    return LinkConfig.model_validate({**CONFIG, "topics": {"include": [".*"], **topics}})


def looked(source: str, target: str) -> Differences:
    """Return a look at a topic and its copy, which have these clocks."""
    clocks = [{"message.timestamp.type": each} for each in (source, target)]
    ours, theirs = (topic(own=each) for each in clocks)
    seen = TopicSnapshot(None, {}, {}, observed(ours, target=(theirs,)), OwnedTopics())  # type: ignore[arg-type]
    part = SubjectPart(TOPICS, seen, Difference({ORDERS: ORDERS}))
    counts = {(WITHHELD, "WRITE"): 2, (WITHHELD, "ALL"): 1}
    return Differences((part, SubjectPart(ACCESS, None, Difference(counts=counts))), {})


def test_partitions_whose_offsets_differ_are_told_in_one_line_with_what_that_means() -> None:
    rows = [replace(ROW, partition=n, mode="mapped", reason=f"why {n}") for n in range(5)]
    away = replace(rows[0], partition=9, state=State.EXCLUDED)
    assert mapped([ROW, *rows, away]) == tuple(rows)
    [note] = offsets_differ(rows)
    assert note.text.startswith(
        "5 partitions are mapped (orders-0: why 0, orders-1: why 1, orders-2: why 2 and 2 more):"
    )
    assert "(checkpoints of Spark and Flink, sinks, databases) mean other records" in note.text
    assert list(offsets_differ([])) == []


def test_traffic_in_a_rehearsal_is_one_sentence_however_many_partitions_it_meets() -> None:
    grew = [Writing(TopicPartition(ORDERS, n), 10, 20, ()) for n in range(74)]
    waits = Writing(TopicPartition(ORDERS, 99), 5, 5, ())
    lost = Writing(TopicPartition(ORDERS, 98), 20, 10, ())
    assert to_stop([*grew, waits, lost]) == [
        "74 partitions are written to (orders-0, orders-1, orders-2 and 71 more): stop the"
        " producers",
        "1 partition has an open transaction (orders-99): its producer must commit or abort it",
    ]
    assert to_stop([lost]) == []


def test_a_clock_that_was_held_out_is_set_unless_the_file_names_one() -> None:
    append, create = "LogAppendTime", "CreateTime"
    assert holds_out(looked(append, create), config())
    assert not holds_out(looked(append, append), config())
    assert not holds_out(looked(create, create), config())
    named = {"configs": {"override": {"message.timestamp.type": create}}}
    assert not holds_out(looked(append, create), config(**named))
    assert not holds_out(None, config())


def test_acls_that_are_held_back_are_counted() -> None:
    assert (acls_held(looked("CreateTime", "CreateTime")), acls_held(None)) == (3, 0)
    assert rights_first(3) == (
        "`acls: safe` still holds back 3 ACLs, without which clients may not write: set"
        " `access.acls: full` and give `towpath apply FILE --only acls` first; then "
    )
    assert rights_first(0) == ""
