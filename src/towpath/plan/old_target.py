"""Detection of targets whose brokers are too old."""

from __future__ import annotations

from collections.abc import Iterator

from towpath.cluster.connect.exchange import Versions
from towpath.model.findings import Cause, Problem

_PRODUCE, _DESCRIBE_PRODUCERS = 0, 61
_PRODUCE_WITH_ZSTD = 7


def old_target(versions: Versions) -> Iterator[Problem]:
    """Yield a problem for each request that the target's brokers are too old for."""
    newest = versions.get(_PRODUCE, (0, -1))[1]
    if newest < _PRODUCE_WITH_ZSTD:
        text = (
            f"the brokers take Produce requests up to version {newest}, and zstd batches need"
            f" {_PRODUCE_WITH_ZSTD}; upgrade the target to Kafka 2.8 or newer"
        )
        yield Problem("target", text, Cause.CLUSTER)
    if _DESCRIBE_PRODUCERS not in versions:
        text = (
            "the brokers do not tell the state of producers (DescribeProducers), from which a run"
            " knows where it stands; upgrade the target to Kafka 2.8 or newer"
        )
        yield Problem("target", text, Cause.CLUSTER)
