"""Kafka 4.4 closes a connection whose request has an array of more than 1,000,000 elements.

The limit holds for each array by itself (`MessageUtil.MAX_ARRAY_LENGTH`), so what counts is how
many elements one array of ours gets. Requests about partitions have an array of topics, and one of
partitions in each. Whatever grows with work to do, and not with the cluster, goes out in parts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from towpath.cluster.admin import configs, disks, markers, offsets, rights, topic_changes
from towpath.cluster.admin.groups import asking, changing
from towpath.cluster.admin.markers import Marker
from towpath.cluster.admin.numbers import TOPIC, describe_configs
from towpath.cluster.admin.rights import Right
from towpath.cluster.admin.topic_changes import NewTopic, config_change, creation
from towpath.cluster.connect import control
from towpath.model.groups import ClientGroup, Commit, GroupKind
from towpath.model.nouns import ProducerId, TopicName, TopicPartition
from towpath.records.target import marking

_MOST = 1_000_000
_TOPICS, _PARTITIONS = 300, 400
"""120,000 partitions of one leader. With a hundred times as many topics an array of topics has
30,000 elements."""

_NAMES = [TopicName(f"t-{number}") for number in range(_TOPICS)]


@cache
def tps() -> list[TopicPartition]:
    """Return all partitions; made when a test needs them, not when it is read."""
    return [TopicPartition(name, number) for name in _NAMES for number in range(_PARTITIONS)]


def longest(request: Any) -> int:
    """Return the length of the longest array in a request."""
    return _longest(request.to_dict())


def _longest(part: Any) -> int:
    if isinstance(part, dict):
        return max([0, *map(_longest, part.values())])
    return max([len(part), *map(_longest, part)]) if isinstance(part, (list, tuple)) else 0


def _commits() -> Any:
    group = ClientGroup("g", GroupKind.CONSUMER)
    some = tps()[: changing._PARTITIONS]
    return changing._commits(group, some, dict.fromkeys(some, Commit(1)))


ABOUT_PARTITIONS: dict[str, Callable[[], Any]] = {
    "Metadata": lambda: control._for_metadata(_NAMES),
    "Metadata for rights": lambda: rights._request(dict.fromkeys(_NAMES, (Right.READ,))),
    "OffsetForLeaderEpoch": lambda: offsets._for_epochs(tps(), dict.fromkeys(tps(), 1)),
    "DescribeLogDirs": lambda: disks._request(dict.fromkeys(_NAMES, _PARTITIONS)),
    "DescribeConfigs": lambda: describe_configs(TOPIC, _NAMES),
    "CreateTopics": lambda: creation(1).request({n: NewTopic(n, _PARTITIONS, 1) for n in _NAMES}),
    "IncrementalAlterConfigs": lambda: config_change().request(
        {name: {"retention.ms": "1"} for name in _NAMES}
    ),
    "OffsetCommit": _commits,
}


@pytest.mark.parametrize("request_of", ABOUT_PARTITIONS.values(), ids=ABOUT_PARTITIONS)
def test_an_array_grows_with_topics_or_with_the_partitions_of_one(
    request_of: Callable[[], Any],
) -> None:
    assert 1 <= longest(request_of()) <= max(_TOPICS, _PARTITIONS, changing._PARTITIONS)


def test_markers_go_out_in_parts() -> None:
    """Each fills one offset, so a gap of millions of offsets would otherwise be one array."""
    made = [Marker(ProducerId(1), 0, 0)] * marking.AT_ONCE
    assert longest(markers._request({TopicPartition(_NAMES[0], 0): made})) == marking.AT_ONCE


def test_what_goes_out_in_parts_stays_far_below() -> None:
    parts = (
        configs._TOPICS_AT_ONCE, topic_changes._TOPICS_AT_ONCE, topic_changes._PARTITIONS_AT_ONCE,
        asking._GROUPS, changing._PARTITIONS, marking.AT_ONCE,
    )  # fmt: skip
    assert max(parts) * 100 <= _MOST
