"""What a plan says of topics that clean themselves."""

from __future__ import annotations

from towpath.mirror.plan.purged import purged
from towpath.model.nouns import TopicName


def test_repartition_topics_of_streams_are_named_beforehand() -> None:
    [note] = purged(map(TopicName, ("orders", "app-b-repartition", "app-a-repartition")))
    assert str(note).count("app-a-repartition, app-b-repartition: Kafka Streams deletes") == 1
    assert "`records.on_gap`" in str(note)
    assert [*purged([TopicName("orders"), TopicName("app-x-changelog")])] == []


def test_of_many_some_are_named() -> None:
    [note] = purged(TopicName(f"a-{n}-repartition") for n in range(9))
    assert "a-4-repartition and 4 more" in str(note)
