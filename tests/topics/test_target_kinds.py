"""Which kind of cluster a target is, and what it takes."""

from __future__ import annotations

import pytest

from towpath.topics.target_kinds import TargetKind, accepted_configs, kind_of, uncertain

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
    assert bool(uncertain(kind, [host])) is not sure


def test_kafka_takes_what_it_knows_and_redpanda_what_is_listed() -> None:
    assert accepted_configs(TargetKind.KAFKA, KAFKA) == KAFKA
    assert accepted_configs(TargetKind.REDPANDA, KAFKA) == {"retention.ms", "segment.ms"}
    assert accepted_configs(TargetKind.SERVERLESS, KAFKA) == {"retention.ms"}


def test_a_guess_is_told() -> None:
    assert uncertain(TargetKind.REDPANDA, ["panda-1"]) == (
        "the target is Redpanda; Redpanda Serverless, which accepts fewer topic configs, is"
        " recognised only by host names that end with .cloud.redpanda.com; if it is Serverless it"
        " may refuse topics: then exclude the configs that it names under `topics.configs`"
    )
