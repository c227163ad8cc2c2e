"""Transactions of many ids, and a coordinator that dies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.kafka import consume, create_topic, end_offsets, wait_until
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.model.errors import RefusedError
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]


def test_many_ids_share_a_connection(target: LocalCluster, new_name: NewName) -> None:
    """A slice may fill gaps of a thousand partitions, and has as many files as others."""
    config = ClusterConfig(bootstrap=target.addresses)
    with Admin(config, Side.TARGET) as admin:
        before = len(list(Path("/dev/fd").iterdir()))
        kept = [admin.producers.transactions(new_name("many")) for _ in range(30)]
        producers = {each.fence(Deadline.after(30)).producer_id for each in kept}
        assert len(producers) == 30
        assert len(list(Path("/dev/fd").iterdir())) - before <= 2


def test_a_coordinator_that_died_is_looked_for_elsewhere(
    three: LocalCluster, new_name: NewName
) -> None:
    name = create_topic(three.bootstrap, new_name("moved"))
    tp = TopicPartition(TopicName(name), 0)
    config = ClusterConfig(bootstrap=three.addresses)
    with Admin(config, Side.TARGET) as admin:
        transactions = admin.producers.transactions(name)
        who = transactions.fence(Deadline.after(30))
        died = transactions._coordinator
        assert died is not None
        three.kill9(died.id)
        try:
            transactions.add(who, [tp], Deadline.after(60))
            transactions.end(who, Deadline.after(60), commit=True)
            assert transactions._coordinator != died
        finally:
            three.restart(died.id)


def test_one_that_was_fenced_hears_of_it(target: LocalCluster, new_name: NewName) -> None:
    name = create_topic(target.bootstrap, new_name("fenced"))
    tp = TopicPartition(TopicName(name), 0)
    with Admin(ClusterConfig(bootstrap=target.addresses), Side.TARGET) as admin:
        first, second = admin.producers.transactions(name), admin.producers.transactions(name)
        old = first.fence(Deadline.after(30))
        new = second.fence(Deadline.after(30))
        assert (new.producer_id, new.epoch) == (old.producer_id, old.epoch + 1)
        with pytest.raises(RefusedError, match=r"adding .* INVALID_PRODUCER_EPOCH \(47\)"):
            first.add(old, [tp], Deadline.after(30))
        second.add(new, [tp], Deadline.after(30))
        second.end(new, Deadline.after(30), commit=True)
    wait_until(lambda: end_offsets(target.bootstrap, name)[1] == 1, "the marker is written")
    assert consume(target.bootstrap, name) == []
