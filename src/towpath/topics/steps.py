"""Changes to the target's topics, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from towpath.model.nouns import TopicName


@dataclass(frozen=True, slots=True)
class CreateTopic:
    """Create `target`; requires that there is no topic of this name."""

    source: TopicName
    target: TopicName
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class AddPartitions:
    """Let `target` grow to `to_count` partitions; requires that it still has `from_count`."""

    source: TopicName
    target: TopicName
    from_count: int
    to_count: int


Step = CreateTopic | AddPartitions
