"""Mirror topics that exist follow their topics, and only ours are deleted; on real brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.kafka import Record, create_topic, produce, wait_until
from tests.support.subjects.topic_sides import Sides, apply_all, changes, creates, texts
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import TopicName, TopicPartition
from towpath.topics.apply import check_all
from towpath.topics.owned import OwnedTopics
from towpath.topics.steps import AddPartitions, CreateTopic, DeleteTopic, SetConfigs

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]


@pytest.fixture
def sides(source: LocalCluster, target: LocalCluster) -> Iterator[Sides]:
    made = Sides(source, target)
    with made.source, made.target:
        yield made


def test_configs_are_followed_and_what_is_not_ours_stays(sides: Sides, new_name: NewName) -> None:
    name = sides.create(new_name("drifting"), cleanup_policy="compact", segment_ms="600000")
    made = sides.diff(name, replication_factor="broker_default", records={"start": "latest"}).steps
    assert not apply_all(made, sides.target).failed
    # Somebody changes the mirror topic, and somebody else the topic.
    sides.target.configs.change(name, {"segment.ms": "700000", "flush.ms": "5"})
    sides.source.configs.change(name, {"cleanup.policy": None, "max.message.bytes": "2000000"})
    ours = OwnedTopics.of(made)
    found = sides.diff(name, ours=ours)
    assert found.steps == (
        changes(
            name,
            {"max.message.bytes": "2000000", "segment.ms": "600000"},
            remove=("cleanup.policy",),
            before={"cleanup.policy": "compact", "max.message.bytes": None, "segment.ms": "700000"},
            owned=("cleanup.policy", "segment.ms"),
            id=sides.id(name),
        ),
    )
    assert "configs that the source does not have: flush.ms=5" in texts(found, name)
    for _ in range(2):  # a step done twice is done
        assert apply_all(found.steps, sides.target).done == found.steps
    blindly = {"min.compaction.lag.ms": "0", "delete.retention.ms": "86400000"}
    assert sides.own(name) == {  # a target without a topic tells no defaults
        "flush.ms": "5", "max.message.bytes": "2000000", "segment.ms": "600000", **blindly,
    }  # fmt: skip
    assert not sides.diff(name, ours=OwnedTopics.of((*made, *found.steps))).steps
    override = {"override": {"retention.ms": 86400000, "flush.ms": 6}}
    wanted = sides.diff(name, configs=override).steps
    assert not apply_all(wanted, sides.target).failed
    assert sides.own(name)["flush.ms"] == "6"
    assert not sides.diff(name, configs=override).steps


def test_old_records_stay_on_the_target_until_the_copy_is_filled(
    sides: Sides, target: LocalCluster, new_name: NewName
) -> None:
    name = sides.create(new_name("held"), retention_ms="1000")
    witness = create_topic(target.bootstrap, new_name("unheld"), 1, {"retention.ms": "1000"})
    made = sides.diff(name).steps
    assert made == (creates(name, configs={"retention.ms": "-1"}, held={"retention.ms": "1000"}),)
    assert not apply_all(made, sides.target).failed

    def begins(topic: str) -> int:
        tp = TopicPartition(TopicName(topic), 0)
        return sides.target.offsets.earliest([tp])[tp]

    for topic in (name, witness):
        produce(target.bootstrap, topic, [Record(b"k", b"v", timestamp=1_500_000_000_000)])
    wait_until(lambda: begins(witness) == 1, "retention has deleted what is old")
    assert begins(name) == 0
    assert not sides.diff(name, ours=OwnedTopics.of(made)).steps
    assert "held back" in texts(sides.diff(name, ours=OwnedTopics.of(made)), name)
    released = sides.diff(name, ours=OwnedTopics.of(made, [name])).steps
    assert released == (
        changes(
            name,
            {"retention.ms": "1000"},
            before={"retention.ms": "-1"},
            owned=("retention.ms",),
            id=sides.id(name),
        ),
    )
    assert not apply_all(released, sides.target).failed
    wait_until(lambda: begins(name) == 1, "retention deletes what is old in the mirror topic, too")
    assert not sides.diff(name, ours=OwnedTopics.of((*made, *released), [name])).steps


def test_only_copies_of_ours_are_pruned(sides: Sides, new_name: NewName) -> None:
    prefix = new_name("pruned")
    gone, excluded, kept = (sides.create(f"{prefix}.{end}") for end in "abc")
    wanted, rename = rf"{prefix}\..", "copy.{topic}"
    made = sides.diff(wanted, rename=rename).steps
    assert not apply_all(made, sides.target).failed
    foreign = TopicName(f"copy.{prefix}.d")
    sides.target.topics.create(foreign, 1, 1, {})
    ours = OwnedTopics.of(made)
    sides.source.topics.delete(gone, sides.source.topics.describe([gone])[gone].id)
    options: dict[str, Any] = {"rename": rename, "exclude": (excluded,), "ours": ours}
    unpruned = sides.diff(wanted, **options)
    assert not unpruned.steps
    assert "the source no longer has it" in texts(unpruned, gone)
    assert "the file no longer asks for it" in texts(unpruned, excluded)
    assert not sides.diff(wanted, prune=True, rename=rename, exclude=(excluded,)).steps
    found = sides.diff(wanted, prune=True, **options)
    there = sides.target.topics.describe()
    assert found.steps == tuple(
        DeleteTopic(name, copy, there[copy].id, 1)
        for name, copy in ((name, TopicName(f"copy.{name}")) for name in (gone, excluded))
    )
    assert not check_all(found.steps, sides.target)
    for _ in range(2):
        assert apply_all(found.steps, sides.target).done == found.steps
    left = [name for name in sides.target.topics.describe() if name.startswith(f"copy.{prefix}")]
    assert sorted(left) == [f"copy.{kept}", foreign]
    again = sides.diff(
        wanted, prune=True, **{**options, "ours": OwnedTopics.of((*made, *found.steps))}
    )
    assert (again.steps, again.notes) == ((), ())
    renamed = sides.diff(wanted, prune=True, rename="{topic}.new", ours=OwnedTopics.of(made))
    assert not [step for step in renamed.steps if isinstance(step, DeleteTopic)]
    assert f"the mirror topic copy.{kept} that this link made stays" in texts(renamed, kept)


def test_values_come_to_rest_however_they_are_written(sides: Sides, new_name: NewName) -> None:
    written = {
        "min.cleanable.dirty.ratio": "0.60", "preallocate": "TRUE", "segment.ms": " 600000",
        "max.message.bytes": "+2000000", "retention.ms": "0086400000",
        "cleanup.policy": "delete , compact",
    }  # fmt: skip
    rules: dict[str, Any] = {
        "configs": {"override": written}, "records": {"start": "latest"}, "may_delete": (".*",)
    }  # fmt: skip
    new, old = sides.create(new_name("spelt")), sides.create(new_name("spelt"))
    sides.target.topics.create(old, 1, 1, {})
    ours = OwnedTopics(caught_up=frozenset({new, old}))
    steps = sides.diff(new, old, ours=ours, **rules).steps
    assert [type(step) for step in steps] == [CreateTopic, SetConfigs]
    for _ in range(2):  # a step done twice is done
        assert apply_all(steps, sides.target).done == steps
    assert sides.own(new) == sides.own(old)
    assert sides.own(new).items() >= {"preallocate": "true", "segment.ms": "600000"}.items()
    assert not sides.diff(new, old, ours=ours, **rules).steps


def test_growth_is_followed(sides: Sides, new_name: NewName) -> None:
    name = sides.create(new_name("grown"), 2)
    apply_all(sides.diff(name).steps, sides.target)
    sides.source.topics.grow(name, 5)
    found = sides.diff(name)
    assert found.steps == (AddPartitions(name, name, 2, 5),)
    assert not apply_all(found.steps, sides.target).failed
    assert len(sides.target.topics.describe([name])[name].partitions) == 5
    assert not sides.diff(name).steps
