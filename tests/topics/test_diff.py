"""The difference of observed clusters, without any cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from towpath.config import RecordsConfig, StartAt
from towpath.model.nouns import ClusterId, TopicId, TopicName
from towpath.topics.diff import Difference, diff
from towpath.topics.findings import Cause
from towpath.topics.observe import Observed, Topic
from towpath.topics.steps import AddPartitions, CreateTopic, Step

KNOWN = ("retention.ms", "cleanup.policy", "max.message.bytes", "min.insync.replicas", "segment.ms")
DEFAULTS = {
    "cleanup.policy": "delete",
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.type": "CreateTime",
    "min.insync.replicas": "1",
    "retention.ms": "604800000",
}


def topic(
    name: str = "orders",
    partitions: int = 1,
    replicas: int = 1,
    own: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
) -> Topic:
    """Return a topic; its settings are the defaults, then `settings`, then its own."""
    all_of_them = {**DEFAULTS, **(settings or {}), **(own or {})}
    return Topic(
        TopicName(name), TopicId(f"id-{name}"), partitions, replicas, own or {}, all_of_them
    )


def observed(*source: Topic, target: tuple[Topic, ...] = (), brokers: int = 3) -> Observed:
    """Return two clusters whose topics have the same names."""
    return Observed(
        source=source,
        names={each.name: each.name for each in source},
        target={each.name: each for each in target},
        brokers=brokers,
        known=frozenset(KNOWN),
        defaults=DEFAULTS,
    )


def compare(found: Observed, start: StartAt = StartAt.LATEST) -> Difference:
    return diff(found, RecordsConfig(start=start))


def created(found: Difference) -> CreateTopic:
    (step,) = found.steps
    assert isinstance(step, CreateTopic)
    return step


def notes(found: Difference) -> list[str]:
    return [note.text for note in found.notes]


def test_only_settings_of_the_topic_itself_are_copied() -> None:
    found = compare(observed(topic(own={"segment.ms": "5"}, settings={"retention.ms": "9"})))
    assert created(found).configs == {"segment.ms": "5"}
    assert not found.notes


def test_settings_that_the_target_does_not_know_are_noted() -> None:
    own = {"confluent.value.schema.validation": "true", "redpanda.iceberg.mode": "x"}
    found = compare(observed(topic(own=own)))
    assert created(found).configs == {}
    assert notes(found) == [
        "not copied, as the target does not know them: confluent.value.schema.validation,"
        " redpanda.iceberg.mode"
    ]


def test_throttles_and_message_formats_are_never_copied() -> None:
    own = {
        "leader.replication.throttled.replicas": "*",
        "follower.replication.throttled.replicas": "*",
        "message.format.version": "0.11.0",
    }
    everything = replace(observed(topic(own=own)), known=frozenset(own))
    found = compare(everything)
    assert created(found).configs == {}
    assert not found.notes


def test_tiered_storage_is_left_to_the_target() -> None:
    own = {"remote.storage.enable": "true", "local.retention.ms": "1000"}
    found = compare(replace(observed(topic(own=own)), known=frozenset(own)))
    assert created(found).configs == {}
    assert notes(found) == [
        "not copied, as tiered storage belongs to a cluster: local.retention.ms,"
        " remote.storage.enable; set it on the target if that has tiered storage"
    ]


def test_log_append_time_is_not_copied() -> None:
    found = compare(observed(topic(own={"message.timestamp.type": "LogAppendTime"})))
    assert created(found).configs == {}
    assert notes(found) == [
        "message.timestamp.type=LogAppendTime is not copied, so that records keep their times;"
        " after the cutover set it on the target topic"
    ]


def test_a_target_that_stamps_records_is_told_not_to() -> None:
    defaults = {**DEFAULTS, "message.timestamp.type": "LogAppendTime"}
    found = compare(replace(observed(topic()), defaults=defaults))
    assert created(found).configs == {"message.timestamp.type": "CreateTime"}
    assert notes(found) == [
        "message.timestamp.type is set to CreateTime so that records keep their times: the"
        " target's default is LogAppendTime"
    ]


def test_defaults_of_the_target_never_refuse_or_delete_more() -> None:
    settings = {"retention.ms": "-1", "max.message.bytes": "5000000", "cleanup.policy": "compact"}
    found = compare(observed(topic(settings=settings)))
    assert created(found).configs == settings
    assert sorted(notes(found)) == [
        "cleanup.policy is set to compact, as on the source: the target's default is delete",
        "max.message.bytes is set to 5000000, as on the source: the target's default is 1048588",
        "retention.ms is set to -1, as on the source: the target's default is 604800000",
    ]


def test_a_wider_default_of_the_target_stays() -> None:
    settings = {"retention.ms": "1000", "max.message.bytes": "1000"}
    assert created(compare(observed(topic(settings=settings)))).configs == {}


def test_replicas_are_capped_to_the_brokers_and_in_sync_ones_to_the_replicas() -> None:
    one = topic(replicas=3, own={"min.insync.replicas": "2"})
    found = compare(observed(one, brokers=1))
    assert created(found).replication_factor == 1
    assert created(found).configs == {"min.insync.replicas": "1"}
    assert notes(found) == [
        "min.insync.replicas 1 instead of 2: it must not be above the replication factor",
        "replication factor 1 instead of the source's 3: the target has no more brokers",
    ]


def test_a_default_of_in_sync_replicas_above_the_replicas_is_lowered() -> None:
    defaults = {**DEFAULTS, "min.insync.replicas": "2"}
    found = compare(replace(observed(topic()), defaults=defaults))
    assert created(found).configs == {"min.insync.replicas": "1"}


def test_retention_that_deletes_on_arrival_is_noted_with_start_earliest() -> None:
    one = observed(topic(own={"retention.ms": "1000"}))
    assert notes(compare(one, StartAt.EARLIEST)) == [
        "the target deletes records older than retention.ms (1000) soon after they arrive; to keep"
        " them, set retention.ms there to -1 until the cutover"
    ]
    assert not notes(compare(one, StartAt.LATEST))
    compacted = topic(own={"retention.ms": "1000", "cleanup.policy": "compact"})
    assert not notes(compare(observed(compacted), StartAt.EARLIEST))
    assert not notes(compare(observed(topic(own={"retention.ms": "-1"})), StartAt.EARLIEST))


def test_a_target_with_more_partitions_is_noted() -> None:
    found = compare(observed(topic(), target=(topic(partitions=4),)))
    assert not found.steps
    assert notes(found) == [
        "has 4 partitions on the target and 1 on the source; the others stay without mirrored"
        " records, and producers there spread keys otherwise"
    ]


def test_a_topic_that_is_there_and_stamps_records_is_noted() -> None:
    there = topic(own={"message.timestamp.type": "LogAppendTime"})
    found = compare(observed(topic(), target=(there,)))
    assert not found.steps
    assert notes(found) == [
        "the target stamps records with its own time; set message.timestamp.type=CreateTime there"
        " to keep the source's times"
    ]


def test_a_topic_that_is_there_and_takes_smaller_batches_is_noted() -> None:
    there = topic(own={"max.message.bytes": "1000"})
    assert notes(compare(observed(topic(), target=(there,)))) == [
        "the target takes batches of at most 1000 bytes, the source has up to 1048588; larger ones"
        " are split, but a larger record stops its partition: raise max.message.bytes there to"
        " 1048588"
    ]


def test_a_topic_that_is_there_and_keeps_less_is_noted() -> None:
    ours = topic(own={"retention.ms": "5000", "retention.bytes": "-1"})
    there = topic(own={"retention.ms": "1000", "retention.bytes": "700"})
    assert notes(compare(observed(ours, target=(there,)))) == [
        f"the target keeps less than the source: {key} is {theirs} there and {kept} on the source;"
        " records may be deleted soon after they arrive"
        for key, theirs, kept in (("retention.ms", 1000, 5000), ("retention.bytes", 700, -1))
    ]
    assert not notes(compare(observed(there, target=(ours,))))
    compacted = topic(own={"cleanup.policy": "compact"})
    assert notes(compare(observed(topic(), target=(compacted,)))) == [
        "the target compacts the topic and the source does not: of records with the same key only"
        " the last stays, and records without a key are refused; set cleanup.policy=delete there"
    ]
    assert len(notes(compare(observed(compacted, target=(topic(),))))) == 1


def test_two_topics_with_one_name_on_the_target_are_both_left_out() -> None:
    three = observed(topic("a"), topic("b"), topic("c"))
    a, b, c = three.names
    found = compare(replace(three, names={a: TopicName("same"), b: TopicName("same"), c: c}))
    assert [step.source for step in found.steps] == ["c"]
    assert found.topics == {c: c}
    assert [(each.about, each.cause, each.text) for each in found.obstacles] == [
        (
            one,
            Cause.FILE,
            f"would be named same on the target, as {other} would; change `topics.rename`, or"
            " exclude all but one",
        )
        for one, other in (("a", "b"), ("b", "a"))
    ]


def of_one_cluster(names: dict[str, str], circular: tuple[str, ...]) -> Difference:
    """Compare within one cluster topics that have these copies."""
    return compare(
        replace(
            observed(*map(topic, names)),
            names={TopicName(name): TopicName(copy) for name, copy in names.items()},
            one_cluster=ClusterId("id-1"),
            circular=frozenset(map(TopicName, circular)),
        )
    )


def test_a_topic_is_never_copied_onto_itself() -> None:
    found = of_one_cluster({name: name for name in "abcd"}, ("a", "b", "c", "d"))
    assert (found.topics, found.steps) == ({}, ())
    [obstacle] = found.obstacles
    assert obstacle.cause is Cause.FILE
    assert f"{obstacle.about}: {obstacle.text}" == (
        "topics.rename: source and target are the same cluster (id-1), so a, b, c and 1 more would"
        " be copied onto itself; give the copies another name, such as copy.{topic}, or correct"
        " `target.bootstrap`"
    )


def test_copies_are_not_copied_again() -> None:
    found = of_one_cluster({"a": "copy.a", "b": "other.b"}, ("a",))
    assert list(found.topics) == ["b"]
    [obstacle] = found.obstacles
    assert obstacle.cause is Cause.FILE
    assert f"{obstacle.about}: {obstacle.text}" == (
        "topics.include: source and target are the same cluster (id-1) and the copies match"
        " `topics.include` again (copy.a), so copies would be copied without end; name the copies"
        " under `topics.exclude`"
    )


def test_names_that_metrics_cannot_tell_apart_are_noted() -> None:
    found = compare(observed(topic("a.b"), target=(topic("a_b"),)))
    assert [note.about for note in found.notes] == ["a.b"]
    assert notes(found) == [
        "a.b differs from a_b only by '.' and '_', which Kafka's metrics cannot tell apart; brokers"
        " refuse to create the second one"
    ]
    there = observed(topic("a.b"), target=(topic("a_b"), topic("a.b")))
    assert not compare(there).notes


names = st.text("abc._", min_size=1, max_size=4).filter(lambda name: name not in {".", ".."})
configs = st.dictionaries(st.sampled_from((*KNOWN, "unknown.key")), st.integers(-1, 9).map(str))


@st.composite
def clusters(draw: st.DrawFn) -> Observed:
    def some() -> tuple[Topic, ...]:
        return tuple(
            topic(name, draw(st.integers(1, 5)), draw(st.integers(1, 5)), draw(configs))
            for name in sorted(draw(st.sets(names, max_size=5)))
        )

    return observed(*some(), target=some(), brokers=draw(st.integers(1, 5)))


def after(step: Step, there: Mapping[TopicName, Topic]) -> Topic:
    """Return what a target makes of a step whose precondition holds."""
    match step:
        case CreateTopic():
            assert step.target not in there
            assert step.configs.keys() <= set(KNOWN)
            return topic(step.target, step.partitions, step.replication_factor, dict(step.configs))
        case AddPartitions():
            assert there[step.target].partitions == step.from_count < step.to_count
            return replace(there[step.target], partitions=step.to_count)


@given(clusters(), st.sampled_from(StartAt))
def test_applied_steps_leave_nothing_to_do(before: Observed, start: StartAt) -> None:
    records = RecordsConfig(start=start, group="g" if start is StartAt.COMMITTED else None)
    found = diff(before, records)
    target = dict(before.target)
    for step in found.steps:
        target[step.target] = after(step, target)
    assert not diff(replace(before, target=target), records).steps
    for each in before.source:
        assert target[each.name].partitions >= each.partitions
