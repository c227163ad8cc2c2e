"""Which kind of cluster a target is, and what it takes."""

from __future__ import annotations

import pytest

from towpath.model.target_kinds import TargetKind, accepted_configs
from towpath.topics.target_kinds import kind_of, remark

KAFKA = frozenset({"retention.ms", "min.insync.replicas", "segment.ms"})
CLOUD = "seed-1.abc.fmc.prd.cloud.redpanda.com"
CELL = "abc.any.eu-central-1.mpx.prd.cloud.redpanda.com"


@pytest.mark.parametrize(
    ("cluster_id", "known", "host", "kind", "sure"),
    [
        ("Xy3k", KAFKA, "kafka-1", TargetKind.KAFKA, True),
        ("redpanda.0b1e", KAFKA, "panda-1", TargetKind.REDPANDA, False),
        ("Xy3k", KAFKA | {"redpanda.remote.read"}, "panda-1", TargetKind.REDPANDA, False),
        ("Xy3k", frozenset(), CLOUD, TargetKind.REDPANDA, True),
        ("Xy3k", frozenset(), CELL, TargetKind.SERVERLESS, True),
        ("Xy3k", frozenset(), f"x{CELL}.example.com", TargetKind.KAFKA, True),
    ],
)
def test_a_cluster_shows_what_it_is(
    cluster_id: str, known: frozenset[str], host: str, kind: TargetKind, sure: bool
) -> None:
    assert kind_of(cluster_id, known, [host]) is kind
    assert bool(remark(kind, None, [host])) is not sure
    assert remark(kind, kind, [host]) == ""


def test_kafka_takes_what_it_knows_and_redpanda_what_is_listed() -> None:
    assert accepted_configs(TargetKind.KAFKA, KAFKA) == KAFKA
    assert accepted_configs(TargetKind.REDPANDA, KAFKA) == {"retention.ms", "segment.ms"}
    assert accepted_configs(TargetKind.SERVERLESS, KAFKA) == {"retention.ms"}


def test_a_guess_is_told() -> None:
    assert remark(TargetKind.REDPANDA, None, ["panda-1"]) == (
        "the target is Redpanda; Redpanda Serverless, which accepts fewer topic configs, is"
        " recognised only by host names that end with .cloud.redpanda.com; if it is Serverless, say"
        " so with `target.kind: serverless`, and with `target.kind: redpanda` if not"
    )


def test_what_the_file_says_is_compared_with_what_the_cluster_shows() -> None:
    assert remark(TargetKind.REDPANDA, TargetKind.SERVERLESS, ["panda-1"]) == ""
    assert remark(TargetKind.KAFKA, TargetKind.SERVERLESS, ["kafka-1"]) == (
        "the file says that it is Redpanda Serverless, but it shows itself as Kafka: topics are"
        " made as Redpanda Serverless takes them; correct `target.kind` if that is wrong"
    )
    assert "is Kafka, but it shows itself as Redpanda" in remark(
        TargetKind.REDPANDA, TargetKind.KAFKA, [CLOUD]
    )
