"""Observe, diff and apply on real brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from tests.support.kafka import Record, create_topic, produce, wait_until
from tests.support.links import link
from towpath.cluster.admin import Admin
from towpath.cluster.connect.control import Control
from towpath.cluster.metadata import non_default
from towpath.config import LinkConfig
from towpath.dev.broker import LocalCluster
from towpath.model.errors import StepOutdatedError, TowpathError
from towpath.model.findings import Cause
from towpath.model.nouns import NO_TOPIC_ID, Side, TopicId, TopicName, TopicPartition
from towpath.model.outcome import Outcome
from towpath.plan.subject import Difference
from towpath.topics.apply import apply, check_all
from towpath.topics.diff import diff
from towpath.topics.observe import observe
from towpath.topics.observed import ObservedTopics
from towpath.topics.owned import NOTHING, OwnedTopics
from towpath.topics.refused_configs import narrowed
from towpath.topics.steps import AddPartitions, CreateTopic, DeleteTopic, SetConfigs, TopicStep

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]


class Sides:
    """Both clusters' control planes, and what is done with them."""

    def __init__(self, source: LocalCluster, target: LocalCluster) -> None:
        self._addresses = source.bootstrap, target.bootstrap
        config = self.link(".*")
        self.source = Admin(config.source, Side.SOURCE)
        self.target = Admin(config.target, Side.TARGET)

    def link(self, *include: str, **options: Any) -> LinkConfig:
        return link(*self._addresses, *include, **options)

    def observe(self, *include: str, ours: OwnedTopics = NOTHING, **options: Any) -> ObservedTopics:
        return observe(self.source, self.target, self.link(*include, **options), ours)

    def diff(
        self, *include: str, ours: OwnedTopics = NOTHING, **options: Any
    ) -> Difference[TopicStep]:
        seen = self.observe(*include, ours=ours, **options)
        return diff(seen, self.link(*include, **options), ours)

    def create(self, name: str, partitions: int = 1, **configs: str) -> TopicName:
        configs = {key.replace("_", "."): value for key, value in configs.items()}
        return TopicName(create_topic(self._addresses[0], name, partitions, configs))

    def id(self, topic: TopicName) -> TopicId:
        return self.target.topics.describe([topic])[topic].id

    def own(self, topic: TopicName) -> dict[str, str]:
        return non_default(self.target.configs.describe([topic])[topic])


def apply_all(steps: Iterable[TopicStep], target: Admin) -> Outcome[TopicStep]:
    """Do each step, whatever becomes of the others."""
    done: list[TopicStep] = []
    failed: dict[str, TowpathError] = {}
    for step in steps:
        try:
            apply(step, target)
            done.append(step)
        except TowpathError as error:
            failed[step.source] = error
    return Outcome(tuple(done), failed)


@pytest.fixture
def sides(source: LocalCluster, target: LocalCluster) -> Iterator[Sides]:
    made = Sides(source, target)
    with made.source, made.target:
        yield made


def texts(found: Difference[TopicStep], topic: str) -> str:
    return "\n".join(note.text for note in found.notes if note.about == topic)


def test_a_topic_is_created_as_on_the_source(sides: Sides, new_name: NewName) -> None:
    configs = {
        "cleanup.policy": "compact", "max.message.bytes": "2097152", "segment.ms": "600000",
        "delete.retention.ms": "1000", "min.compaction.lag.ms": "5",
        "max.compaction.lag.ms": "600000", "min.cleanable.dirty.ratio": "0.25",
        "unclean.leader.election.enable": "true", "segment.jitter.ms": "7",
        "file.delete.delay.ms": "1000", "index.interval.bytes": "2048", "compression.type": "lz4",
        "flush.ms": "10000",
    }  # fmt: skip
    name = TopicName(new_name("same"))
    sides.create(name, 3, **configs)
    found = sides.diff(name)
    assert found.steps == (
        CreateTopic(source=name, target=name, partitions=3, replication_factor=1, configs=configs),
    )
    assert found.topics == {name: name}
    assert not found.problems
    assert apply_all(found.steps, sides.target).done == found.steps
    assert sides.own(name) == configs
    assert not sides.diff(name).steps


def test_what_is_observed_carries_ids_and_configs(sides: Sides, new_name: NewName) -> None:
    name = sides.create(new_name("seen"), 2, message_timestamp_type="LogAppendTime")
    observed = sides.observe(name, rename="eu.{topic}")
    (topic,) = observed.source
    assert observed.names == {name: f"eu.{name}"}
    assert topic.id == sides.source.topics.describe([name])[name].id
    assert topic.own == {"message.timestamp.type": "LogAppendTime"}
    assert topic.configs["cleanup.policy"] == "delete"
    assert (topic.partitions, topic.replication_factor, observed.brokers) == (2, 1, 1)
    assert observed.defaults["retention.ms"] == "-1"
    assert observed.defaults["max.message.bytes"] == "1048588"


def test_groups_of_expressions_name_the_copies(sides: Sides, new_name: NewName) -> None:
    prefix = new_name("captured")
    eu, us, odd = (sides.create(f"{prefix}.{end}") for end in ("eu.orders", "us.orders", "orders"))
    wanted = [rf"{prefix}\.(?P<region>..)\.(?P<what>\w+)"]
    found = sides.diff(*wanted, rename="{what}.{1}")
    assert not apply_all(found.steps, sides.target).failed
    assert found.topics == {eu: "orders.eu", us: "orders.us"}
    assert odd not in found.topics
    assert not sides.diff(*wanted, rename="{what}.{1}").steps
    shared = sides.diff(*wanted, rename=f"{prefix}.{{what}}")
    assert [(each.about, each.cause) for each in shared.problems] == [
        (eu, Cause.FILE),
        (us, Cause.FILE),
    ]
    alike = sides.diff(*wanted, rename=prefix)
    assert [each.about for each in alike.problems] == ["topics.rename"]
    assert (alike.steps, alike.topics) == ((), {})


def test_growth_is_followed(sides: Sides, new_name: NewName) -> None:
    name = sides.create(new_name("grown"), 2)
    apply_all(sides.diff(name).steps, sides.target)
    sides.source.topics.grow(name, 5)
    found = sides.diff(name)
    assert found.steps == (AddPartitions(name, name, 2, 5),)
    assert not apply_all(found.steps, sides.target).failed
    assert len(sides.target.topics.describe([name])[name].partitions) == 5
    assert not sides.diff(name).steps


def test_times_of_records_are_kept_on_the_target(sides: Sides, new_name: NewName) -> None:
    name = sides.create(new_name("appended"), message_timestamp_type="LogAppendTime")
    found = sides.diff(name)
    assert not apply_all(found.steps, sides.target).failed
    configs = sides.target.configs.describe([name])[name]
    assert configs["message.timestamp.type"].value == "CreateTime"
    assert "LogAppendTime is not copied" in texts(found, name)


def test_one_refused_topic_does_not_stop_the_others(sides: Sides, new_name: NewName) -> None:
    first, bad, last = (sides.create(new_name("several")) for _ in range(3))
    good = sides.diff(first, last).steps
    wrong = CreateTopic(source=bad, target=bad, partitions=1, replication_factor=7, configs={})
    outcome = apply_all((good[0], wrong, good[1]), sides.target)
    assert outcome.done == good
    assert list(outcome.failed) == [bad]
    assert "INVALID_REPLICATION_FACTOR (38)" in str(outcome.failed[bad])


def test_a_step_done_twice_is_done(sides: Sides, new_name: NewName) -> None:
    name = sides.create(new_name("twice"), 2, retention_ms="86400000")
    (step,) = sides.diff(name).steps
    apply(step, sides.target)
    apply(step, sides.target)
    grow = AddPartitions(name, name, 2, 3)
    apply(grow, sides.target)
    apply(grow, sides.target)
    assert len(sides.target.topics.describe([name])[name].partitions) == 3


def test_a_step_is_refused_when_the_target_changed(sides: Sides, new_name: NewName) -> None:
    name = TopicName(new_name("changed"))
    apply(
        CreateTopic(
            source=name,
            target=name,
            partitions=2,
            replication_factor=1,
            configs={"retention.ms": "1000"},
        ),
        sides.target,
    )
    advice = "; look who else changes it, then plan again"
    changed = f"target: topic {name} changed since this was planned: it should have "
    for step, expected in (
        (
            CreateTopic(source=name, target=name, partitions=3, replication_factor=1, configs={}),
            "3 partitions and has 2 partitions",
        ),
        (
            CreateTopic(source=name, target=name, partitions=1, replication_factor=1, configs={}),
            "1 partition and has 2 partitions",
        ),
        (
            CreateTopic(
                source=name,
                target=name,
                partitions=2,
                replication_factor=1,
                configs={"retention.ms": "5"},
            ),
            "retention.ms=5 and has retention.ms=1000",
        ),
        (AddPartitions(name, name, 1, 4), "1 partition and has 2 partitions"),
        (
            SetConfigs(
                source=name,
                target=name,
                set={"retention.ms": "5"},
                remove=("segment.ms",),
                before={"retention.ms": "6"},
            ),
            "retention.ms=6 and has retention.ms=1000",
        ),
        (
            SetConfigs(
                source=name,
                target=name,
                set={"retention.ms": "5"},
                remove=(),
                before={"retention.ms": None},
            ),
            "no retention.ms of its own and has retention.ms=1000",
        ),
        (
            SetConfigs(
                source=name,
                target=name,
                set={"retention.ms": "5"},
                remove=(),
                before={},
                owned=(),
                id=TopicId("another"),
            ),
            "id another and has id ",
        ),
        (DeleteTopic(name, name, NO_TOPIC_ID, 2), "an id that nobody told and has id "),
        (DeleteTopic(name, name, TopicId("another"), 2), "id another and has id "),
    ):
        with pytest.raises(StepOutdatedError) as caught:
            apply(step, sides.target)
        assert str(caught.value).startswith(changed + expected)
        assert str(caught.value).endswith(advice)
    gone = TopicName(new_name("gone"))
    for lost, expected in (
        (AddPartitions(gone, gone, 2, 4), "2 partitions"),
        (SetConfigs(source=gone, target=gone, set={"a": "b"}, remove=(), before={"a": "c"}), "a=c"),
    ):
        with pytest.raises(StepOutdatedError, match=f"{expected} and has none: it is gone"):
            apply(lost, sides.target)
    apply(DeleteTopic(gone, gone, TopicId("any"), 2), sides.target)


def test_configs_that_only_the_source_knows_are_left_out(
    oldest: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    sides = Sides(oldest, target)
    with sides.source, sides.target:
        name = sides.create(
            new_name("old"), retention_ms="-1", message_timestamp_difference_max_ms="1000"
        )
        found = sides.diff(name)
        assert not apply_all(found.steps, sides.target).failed
        own = sides.own(name)
    assert own["retention.ms"] == "-1"
    assert "message.timestamp.difference.max.ms" not in own
    # Kafka 4 refuses records from the future by default, Kafka 3.9 does not.
    assert int(own["message.timestamp.after.max.ms"]) > 2**62
    assert "do not know them" not in texts(found, name)
    assert "does not know them: message.timestamp.difference.max.ms" in texts(found, name)


@pytest.mark.soak
def test_a_target_without_topics_is_asked_what_it_knows(
    oldest: LocalCluster, tmp_path: Any, new_name: NewName
) -> None:
    with LocalCluster(home=tmp_path / "empty") as empty:
        sides = Sides(oldest, empty)
        with sides.source, sides.target:
            name = sides.create(
                new_name("fresh"), retention_ms="7", message_timestamp_difference_max_ms="1000"
            )
            known = sides.observe(name).known
            assert {"retention.ms", "max.message.bytes", "cleanup.policy"} <= known
            assert "message.timestamp.difference.max.ms" not in known
            assert not sides.target.topics.describe()
            assert not apply_all(sides.diff(name).steps, sides.target).failed


def test_replicas_and_in_sync_replicas_fit_the_target(
    three: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    sides = Sides(three, target)
    with sides.source, sides.target:
        name = TopicName(new_name("replicated"))
        sides.source.topics.create(name, 1, 3, {"min.insync.replicas": "2"})
        found = sides.diff(name)
        assert found.steps == (
            CreateTopic(
                source=name,
                target=name,
                partitions=1,
                replication_factor=1,
                configs={"min.insync.replicas": "1"},
            ),
        )
        assert not apply_all(found.steps, sides.target).failed
    assert "replication factor 1 instead of the source's 3" in texts(found, name)
    assert "min.insync.replicas 1 instead of 2" in texts(found, name)


def test_configs_are_followed_and_what_is_not_ours_stays(sides: Sides, new_name: NewName) -> None:
    name = sides.create(new_name("drifting"), cleanup_policy="compact", segment_ms="600000")
    made = sides.diff(name, replication_factor="broker_default").steps
    assert not apply_all(made, sides.target).failed
    # Somebody changes the mirror topic, and somebody else the topic.
    sides.target.configs.change(name, {"segment.ms": "700000", "flush.ms": "5"})
    sides.source.configs.change(name, {"cleanup.policy": None, "max.message.bytes": "2000000"})
    ours = OwnedTopics.of(made)
    found = sides.diff(name, ours=ours)
    assert found.steps == (
        SetConfigs(
            source=name,
            target=name,
            set={"max.message.bytes": "2000000", "segment.ms": "600000"},
            remove=("cleanup.policy",),
            before={"cleanup.policy": "compact", "max.message.bytes": None, "segment.ms": "700000"},
            owned=("cleanup.policy", "segment.ms"),
            id=sides.id(name),
        ),
    )
    assert "configs that the source does not have: flush.ms=5" in texts(found, name)
    for _ in range(2):  # a step done twice is done
        assert apply_all(found.steps, sides.target).done == found.steps
    assert sides.own(name) == {
        "flush.ms": "5", "max.message.bytes": "2000000", "segment.ms": "600000",
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
    assert made == (
        CreateTopic(
            source=name,
            target=name,
            partitions=1,
            replication_factor=1,
            configs={"retention.ms": "-1"},
            held={"retention.ms": "1000"},
        ),
    )
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
        SetConfigs(
            source=name,
            target=name,
            set={"retention.ms": "1000"},
            remove=(),
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


def test_many_steps_are_checked_in_few_requests(
    sides: Sides, new_name: NewName, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = new_name("checked")
    new, bad, there, small, odd = (TopicName(f"{prefix}-{end}") for end in "abcde")
    for name in (there, small, odd):
        sides.target.topics.create(name, 2, 1, {})
    steps: tuple[TopicStep, ...] = (
        CreateTopic(
            source=new,
            target=new,
            partitions=3,
            replication_factor=-1,
            configs={"segment.ms": "600000"},
        ),
        CreateTopic(source=bad, target=bad, partitions=1, replication_factor=7, configs={}),
        CreateTopic(source=there, target=there, partitions=1, replication_factor=1, configs={}),
        AddPartitions(there, there, 2, 4),
        AddPartitions(small, small, 2, 1),
        SetConfigs(
            source=there,
            target=there,
            set={"segment.ms": "600000"},
            remove=(),
            before={"segment.ms": None},
        ),
        SetConfigs(
            source=odd,
            target=odd,
            set={"segment.ms": "soon"},
            remove=(),
            before={"segment.ms": None},
        ),
        *(
            CreateTopic(
                source=TopicName(f"{new}{n}"),
                target=TopicName(f"{new}{n}"),
                partitions=40,
                replication_factor=1,
                configs={},
            )
            for n in range(600)
        ),
    )
    asked: list[str] = []
    ask = Control.ask

    def told(control: Control, *args: Any) -> Any:
        asked.append(args[3])
        return ask(control, *args)

    monkeypatch.setattr(Control, "ask", told)
    refusals = check_all(steps, sides.target)
    assert {step.source: str(error).partition(";")[0] for step, error in refusals} == {
        bad: f"target: creating topic {bad} with 1 partition and replication factor 7:"
        " INVALID_REPLICATION_FACTOR (38)",
        small: f"target: growing topic {small} to 1 partitions: INVALID_PARTITIONS (37)",
        odd: f"target: changing segment.ms of topic {odd}: INVALID_CONFIG (40)",
    }
    # 24,000 partitions, of which a controller takes 10,000 at once.
    assert asked == ["checking changes of topics"] * 7
    assert new not in sides.target.topics.describe()
    assert len(sides.target.topics.describe([there])[there].partitions) == 2
    assert sides.own(there) == {}


def test_what_is_held_back_is_checked_as_it_will_be(sides: Sides, new_name: NewName) -> None:
    prefix = new_name("final")
    fine, typo, ended, there = (TopicName(f"{prefix}-{end}") for end in "abcd")
    sides.target.topics.create(there, 1, 1, {})
    held = {"retention.ms": "-1", "flush.ms": "-5"}
    steps = (
        CreateTopic(
            source=fine,
            target=fine,
            partitions=1,
            replication_factor=1,
            configs={"retention.ms": "-1"},
            held={"retention.ms": None},
        ),
        CreateTopic(
            source=typo,
            target=typo,
            partitions=1,
            replication_factor=1,
            configs=held,
            held={"retention.ms": "abc"},
        ),
        CreateTopic(
            source=ended,
            target=ended,
            partitions=1,
            replication_factor=7,
            configs={"retention.ms": "-1"},
            held={"retention.ms": "abc"},
        ),
        CreateTopic(
            source=there,
            target=there,
            partitions=1,
            replication_factor=1,
            configs={"retention.ms": "-1"},
            held={"retention.ms": "7"},
        ),
    )
    found = narrowed(steps, sides.target)
    assert found.possible == (steps[0], steps[3])
    assert [step.target for step, _ in found.refused] == [ended, typo]
    assert (len(found.steps), found.later) == (4, found.refused[1:])
    assert "which it gets" not in str(found.refused[0][1])
    why = str(found.refused[1][1])
    assert " with retention.ms=abc, which it gets once it is filled: INVALID_CONFIG (40); " in why
    assert "Invalid value abc for configuration retention.ms" in why


def test_refused_configs_are_left_out_one_by_one(sides: Sides, new_name: NewName) -> None:
    prefix = new_name("narrowed")
    new, pair, large, many, there, odd = (TopicName(f"{prefix}-{end}") for end in "abcdef")
    for name in (there, odd):
        sides.target.topics.create(name, 1, 1, {})
    fine, wrong = {"segment.ms": "600000"}, {"flush.ms": "-5", "flush.messages": "many"}
    steps: tuple[TopicStep, ...] = (
        CreateTopic(
            source=new,
            target=new,
            partitions=1,
            replication_factor=1,
            configs={**fine, **wrong, "retention.ms": "-1"},
            held={"retention.ms": "7"},
        ),
        CreateTopic(
            source=pair,
            target=pair,
            partitions=1,
            replication_factor=1,
            configs={"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "5"},
        ),
        CreateTopic(
            source=large,
            target=large,
            partitions=1,
            replication_factor=1,
            configs={**fine, **wrong, "max.message.bytes": "99999999999"},
        ),
        CreateTopic(source=many, target=many, partitions=1, replication_factor=7, configs=wrong),
        AddPartitions(there, there, 1, 2),
        SetConfigs(
            source=there,
            target=there,
            set={**fine, **wrong},
            remove=("retention.ms",),
            before=dict.fromkeys((*fine, *wrong, "retention.ms")),
            owned=("segment.ms", "flush.ms"),
        ),
        SetConfigs(source=odd, target=odd, set=wrong, remove=(), before=dict.fromkeys(wrong)),
    )
    found = narrowed(steps, sides.target)
    assert [step for step, _ in found.refused] == [steps[2], steps[3]]
    assert found.possible == (
        CreateTopic(
            source=new,
            target=new,
            partitions=1,
            replication_factor=1,
            configs={**fine, "retention.ms": "-1"},
            held={"retention.ms": "7"},
        ),
        CreateTopic(
            source=pair,
            target=pair,
            partitions=1,
            replication_factor=1,
            configs={"max.compaction.lag.ms": "5"},
        ),
        steps[4],
        SetConfigs(
            source=there,
            target=there,
            set=fine,
            remove=("retention.ms",),
            before=dict.fromkeys((*fine, "retention.ms")),
            owned=("segment.ms",),
        ),
    )
    assert found.steps == (*found.possible[:2], steps[2], steps[3], *found.possible[2:])
    named = {(each.about, each.text.partition(",")[0]) for each in found.problems}
    assert named == {
        *((n, f"the target refuses {k}={v}") for n in (new, there, odd) for k, v in wrong.items()),
        (pair, "the target refuses min.compaction.lag.ms=9"),
    }
    assert {each.cause for each in found.problems} == {Cause.SUBJECT}
    why = str(found.refused[0][1])
    assert "and not without max.message.bytes=99999999999: INVALID_CONFIG (40); " in why
    [flush] = [o.text for o in found.problems if (o.about, "flush.ms=" in o.text) == (odd, True)]
    assert flush.startswith(
        "the target refuses flush.ms=-5, so that is left out: INVALID_CONFIG (40); Invalid value -5"
        " for configuration flush.ms: "
    )
    assert flush.endswith(
        "; set the named topic config to a value that this cluster accepts: give it another value"
        " under `topics.configs.override`, or name it under `topics.configs.exclude`"
    )
    assert apply_all(found.possible, sides.target).done == found.possible
    assert sides.own(new) == {**fine, "retention.ms": "-1"}
    assert sides.own(there) == fine


def test_values_come_to_rest_however_they_are_written(sides: Sides, new_name: NewName) -> None:
    written = {
        "min.cleanable.dirty.ratio": "0.60", "preallocate": "TRUE", "segment.ms": " 600000",
        "max.message.bytes": "+2000000", "retention.ms": "0086400000",
        "cleanup.policy": "delete , compact",
    }  # fmt: skip
    rules: dict[str, Any] = {"configs": {"override": written}, "records": {"start": "latest"}}
    new, old = sides.create(new_name("spelt")), sides.create(new_name("spelt"))
    sides.target.topics.create(old, 1, 1, {})
    steps = sides.diff(new, old, **rules).steps
    assert [type(step) for step in steps] == [CreateTopic, SetConfigs]
    for _ in range(2):  # a step done twice is done
        assert apply_all(steps, sides.target).done == steps
    assert sides.own(new) == sides.own(old)
    assert sides.own(new).items() >= {"preallocate": "true", "segment.ms": "600000"}.items()
    assert not sides.diff(new, old, **rules).steps


def test_every_version_takes_what_is_sent(version_target: LocalCluster, new_name: NewName) -> None:
    config = link(version_target.bootstrap, version_target.bootstrap, ".*", rename="x.{topic}")
    name = TopicName(new_name("versions"))
    change = SetConfigs(
        source=name,
        target=name,
        set={"segment.ms": "600000"},
        remove=(),
        before={"segment.ms": None},
    )
    steps = (
        CreateTopic(
            source=name,
            target=name,
            partitions=1,
            replication_factor=-1,
            configs={"retention.ms": "-1"},
        ),
        change,
    )
    with Admin(config.target, Side.TARGET) as admin:
        assert not check_all(steps[:1], admin)
        assert apply_all(steps, admin).done == steps
        assert not check_all(steps[1:], admin)
        info = admin.topics.describe([name])[name]
        assert non_default(admin.configs.describe([name])[name]) == {
            "retention.ms": "-1", "segment.ms": "600000",
        }  # fmt: skip
        apply(DeleteTopic(name, name, info.id, 1), admin)
        assert name not in admin.topics.describe()
