"""The difference of observed clusters, without any cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.subjects.topic_models import (
    DEFAULTS,
    compare,
    created,
    notes,
    observed,
    only,
    topic,
)
from towpath.model.findings import Cause
from towpath.model.nouns import NO_TOPIC_ID, ClusterId, TopicName
from towpath.model.target_kinds import TargetKind
from towpath.plan.subject import Difference
from towpath.topics.observed import Orphan
from towpath.topics.owned import OwnedTopics
from towpath.topics.steps import AddPartitions, DeleteTopic, TopicStep


def test_only_configs_of_the_topic_itself_are_copied() -> None:
    found = compare(observed(topic(own={"segment.ms": "5"}, configs={"retention.ms": "9"})))
    assert created(found).configs == {"segment.ms": "5"}
    assert not found.notes


def test_configs_that_the_target_does_not_know_are_noted() -> None:
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
        " remote.storage.enable; set them on the target if it has tiered storage"
    ]


def test_log_append_time_is_not_copied() -> None:
    found = compare(observed(topic(own={"message.timestamp.type": "LogAppendTime"})))
    assert created(found).configs == {}
    assert notes(found) == [
        "message.timestamp.type=LogAppendTime is not copied, so that records keep their times;"
        " `towpath cutover` sets it behind the last record"
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
    configs = {"retention.ms": "-1", "max.message.bytes": "5000000", "cleanup.policy": "compact"}
    found = compare(observed(topic(configs=configs)))
    assert created(found).configs == configs
    assert sorted(notes(found)) == [
        "cleanup.policy is set to compact, as on the source: the target's default is delete",
        "max.message.bytes is set to 5000000, as on the source: the target's default is 1048588",
        "retention.ms is set to -1, as on the source: the target's default is 604800000",
    ]


def test_a_wider_default_of_the_target_stays() -> None:
    configs = {"retention.ms": "1000", "max.message.bytes": "1000"}
    assert created(compare(observed(topic(configs=configs)))).configs == {}


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


def test_a_target_with_more_partitions_is_noted() -> None:
    found = compare(observed(topic(), target=(topic(partitions=4),)))
    assert not found.steps
    assert notes(found) == [
        "has 4 partitions on the target and 1 on the source; the additional ones get no mirrored"
        " records, and producers there distribute keys differently"
    ]


def test_a_topic_that_is_there_and_stamps_records_is_noted() -> None:
    there = topic(own={"message.timestamp.type": "LogAppendTime"})
    found = compare(observed(topic(), target=(there,)))
    assert not found.steps
    assert notes(found) == [
        "the target replaces record timestamps with its own time; set"
        " message.timestamp.type=CreateTime there to keep the source's timestamps"
    ]


def test_two_topics_with_one_name_on_the_target_are_both_left_out() -> None:
    three = observed(topic("a"), topic("b"), topic("c"))
    a, b, c = three.names
    found = compare(replace(three, names={a: TopicName("same"), b: TopicName("same"), c: c}))
    assert [step.source for step in found.steps] == ["c"]
    assert found.topics == {c: c}
    assert [(each.about, each.cause, each.text) for each in found.problems] == [
        (
            one,
            Cause.FILE,
            f"would be named same on the target, as {other} would; change `topics.rename`, or"
            " exclude all but one",
        )
        for one, other in (("a", "b"), ("b", "a"))
    ]


def of_one_cluster(names: dict[str, str], circular: tuple[str, ...]) -> Difference[TopicStep]:
    """Compare within one cluster topics that have these mirror topics."""
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
    [problem] = found.problems
    assert problem.cause is Cause.FILE
    assert f"{problem.about}: {problem.text}" == (
        "topics.rename: source and target are the same cluster (id-1), so a, b, c and 1 more would"
        " be copied onto itself; give the mirror topics another name, such as copy.{topic}, or"
        " correct `target.bootstrap`"
    )


def test_copies_are_not_copied_again() -> None:
    found = of_one_cluster({"a": "copy.a", "b": "other.b"}, ("a",))
    assert list(found.topics) == ["b"]
    [problem] = found.problems
    assert problem.cause is Cause.FILE
    assert f"{problem.about}: {problem.text}" == (
        "topics.include: source and target are the same cluster (id-1) and the mirror topics match"
        " `topics.include` again (copy.a), so mirror topics would be mirrored without end; name the"
        " mirror topics under `topics.exclude`"
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


def test_a_number_of_replicas_is_capped_to_the_brokers() -> None:
    three = topic(replicas=3, own={"min.insync.replicas": "2"})
    two = compare(observed(three), replication_factor=2)
    assert (created(two).replication_factor, notes(two)) == (2, [])
    capped = compare(observed(three, brokers=1), replication_factor=5)
    assert created(capped).replication_factor == 1
    assert created(capped).configs == {"min.insync.replicas": "1"}
    assert (
        "replication factor 1 instead of 5, which `topics.replication_factor` asks for: the target"
        " has no more brokers"
    ) in notes(capped)


def test_the_target_may_choose_the_replicas() -> None:
    own = topic(replicas=3, own={"min.insync.replicas": "2"})
    found = compare(observed(own), replication_factor="broker_default")
    assert (created(found).replication_factor, created(found).configs) == (-1, dict(own.own))
    told = compare(replace(observed(own), default_replicas=1), replication_factor="broker_default")
    assert created(told).configs == {"min.insync.replicas": "1"}


def test_fewer_replicas_of_a_copy_are_noted() -> None:
    found = compare(observed(topic(replicas=3), target=(topic(replicas=1),)))
    assert not found.steps
    assert notes(found) == [
        "has replication factor 1 on the target instead of 3; the replication factor of an existing"
        " topic is not changed: reassign its replicas"
    ]


def test_redpanda_gets_the_configs_of_its_list_and_odd_replicas() -> None:
    own = {"segment.ms": "5", "min.insync.replicas": "2", "retention.ms": "7"}
    seen = observed(topic(replicas=3, own=own), brokers=2)
    found = compare(replace(seen, kind=TargetKind.REDPANDA))
    assert created(found).configs == {"segment.ms": "5", "retention.ms": "7"}
    assert created(found).replication_factor == 1
    assert notes(found) == [
        "not copied, as Redpanda does not take them: min.insync.replicas",
        "replication factor 1 instead of the source's 3: Redpanda takes odd ones only",
    ]
    serverless = compare(replace(seen, kind=TargetKind.SERVERLESS), start="earliest")
    assert created(serverless).configs == {"retention.ms": "-1"}
    assert created(serverless).held == {"retention.ms": "7"}
    assert created(serverless).replication_factor == -1
    assert "the replication factor is left to Redpanda Serverless" in notes(serverless)


def test_serverless_decides_on_replicas_and_refuses_what_it_does_not_take() -> None:
    known = frozenset({"retention.ms", "segment.ms", "write.caching"})
    seen = replace(observed(topic(replicas=3)), kind=TargetKind.SERVERLESS, known=known)
    configs = {"override": {"segment.ms": 5, "write.caching": "true"}}
    found = compare(seen, replication_factor=3, configs=configs)
    assert created(found).replication_factor == -1
    [problem] = found.problems
    assert problem.about == "topics.configs.override.segment.ms"
    assert problem.text == (
        "Redpanda Serverless does not take segment.ms; it takes cleanup.policy, max.message.bytes,"
        " retention.ms, write.caching: remove it"
    )


def test_configs_that_the_target_does_not_tell_follow_the_source() -> None:
    known = frozenset({"retention.ms", "max.message.bytes", "cleanup.policy"})
    blind = replace(observed(topic()), defaults={}, known=known)
    found = compare(blind)
    assert created(found).configs == {key: DEFAULTS[key] for key in sorted(known)}
    assert notes(found)[0] == (
        "cleanup.policy is set to delete, as on the source: the target does not tell its default"
    )


def test_retention_waits_until_a_new_copy_is_filled() -> None:
    own = {"retention.ms": "1000", "retention.bytes": "700"}
    found = compare(observed(topic(own=own)), start="earliest")
    assert created(found).configs == dict.fromkeys(own, "-1")
    assert created(found).held == own
    assert notes(found)[0] == (
        "retention.ms is held back (-1) while the mirror topic is filled, else the target would"
        " delete old records as they arrive; it is set to 1000 once the mirror topic has caught up"
    )
    inherited = compare(observed(topic()), start="committed")
    assert created(inherited).held == {"retention.ms": None}
    assert "the target's default holds once the mirror topic has caught up" in notes(inherited)[0]


@pytest.mark.parametrize(
    ("own", "start"),
    [
        ({"retention.ms": "1000"}, "latest"),
        ({"retention.ms": "1000", "cleanup.policy": "compact"}, "latest"),
        ({"retention.ms": "-1"}, "earliest"),
    ],
)
def test_retention_waits_for_nothing_else(own: dict[str, str], start: str) -> None:
    found = compare(observed(topic(own=own)), start=start)
    assert (created(found).configs, created(found).held, notes(found)) == (own, {}, [])


def test_what_appears_while_a_link_runs_is_copied_whole_and_waits() -> None:
    found = compare(
        observed(topic(own={"retention.ms": "1000"})), "latest", OwnedTopics(begun=True)
    )
    assert created(found).held == {"retention.ms": "1000"}


def test_the_file_says_which_configs_are_copied() -> None:
    own = {"segment.ms": "5", "retention.ms": "7", "retention.bytes": "9"}
    seen = observed(topic(own=own, configs={"max.message.bytes": "5000000"}))
    rules = {"exclude": [r"retention\.bytes", r"max\..*"], "override": {"retention.ms": 8}}
    found = compare(seen, configs=rules)
    assert created(found).configs == {"segment.ms": "5", "retention.ms": "8"}
    assert notes(found) == [
        "the target accepts batches of at most 1048588 bytes, the source has up to 5000000; larger"
        " batches are split, but a larger record stops its partition: raise max.message.bytes there"
        " to 5000000"
    ]
    assert created(compare(seen, configs={"include": ["segment.*"]})).configs == {"segment.ms": "5"}


def test_an_override_that_the_target_does_not_know_is_refused() -> None:
    found = compare(observed(topic()), configs={"override": {"retention.mss": 8}})
    assert [(each.about, each.text, each.cause) for each in found.problems] == [
        (
            "topics.configs.override.retention.mss",
            "the target knows no topic config retention.mss, or does not take 8; correct it",
            Cause.FILE,
        )
    ]
    assert created(found).configs == {}


def test_an_override_cannot_ask_for_more_in_sync_than_there_are() -> None:
    found = compare(observed(topic()), configs={"override": {"min.insync.replicas": 2}})
    assert created(found).configs == {"min.insync.replicas": "1"}


def test_limits_that_harm_records_are_noted() -> None:
    own = {"message.timestamp.before.max.ms": "5", "max.message.bytes": "900"}
    seen = observed(topic(own=own))
    found = compare(replace(seen, known=frozenset(own), request_bytes=800))
    assert notes(found) == [
        "the target's brokers accept requests of at most 800 bytes, the source has batches of up to"
        " 900: a record of that size stops its partition; raise socket.request.max.bytes there",
        "the target refuses records that are older than message.timestamp.before.max.ms (5 ms) when"
        " they arrive, which stops their partition; mirrored records arrive late, so set"
        " message.timestamp.before.max.ms to a larger value under `topics.configs.override` until"
        " the cutover",
    ]
    future = {"message.timestamp.after.max.ms": "7200000"}
    [text] = notes(
        compare(observed(topic(own=future)), configs={"exclude": [r"message\.timestamp\..*"]})
    )
    assert text.startswith(
        "the target refuses records whose timestamp is more than message.timestamp.after.max.ms"
        " (3600000 ms) in the future, which stops their partition; the source allows 7200000 ms"
    )


def test_an_older_source_limits_times_under_another_name() -> None:
    old = topic(own={"message.timestamp.difference.max.ms": "7200000"})
    configs = {k: v for k, v in old.configs.items() if "after" not in k}
    found = compare(observed(replace(old, configs=configs)))
    assert created(found).configs == {"message.timestamp.after.max.ms": "7200000"}


def test_a_template_without_placeholder_names_one_topic_only() -> None:
    one, other = topic("a"), topic("b")
    same = {one.name: TopicName("same"), other.name: TopicName("same")}
    found = compare(replace(observed(one, other), names=same), rename="same")
    assert (found.topics, found.steps) == ({}, ())
    assert [(each.about, each.text, each.cause) for each in found.problems] == [
        (
            "topics.rename",
            "has no placeholder such as {topic}, so a, b would all be named same; add one, or"
            " exclude all but one of them",
            Cause.FILE,
        )
    ]
    alone = compare(replace(observed(one), names={one.name: TopicName("same")}), rename="same")
    assert only(alone).target == "same"


def test_many_topics_with_one_name_are_told_in_few_words() -> None:
    many = observed(*(topic(f"t{number}") for number in range(6)))
    found = compare(replace(many, names=dict.fromkeys(many.names, TopicName("same"))))
    assert len(found.problems) == 6
    assert found.problems[0].text.startswith(
        "would be named same on the target, as t1, t2, t3 and 2 more would; change"
    )


def test_copies_of_ours_that_nobody_asks_for_are_pruned_only_on_demand() -> None:
    gone = Orphan(TopicName("gone"), topic("eu.gone", 3), gone=True)
    excluded = Orphan(TopicName("excluded"), topic("eu.excluded"), gone=False)
    seen = replace(observed(), orphans=(gone, excluded))
    kept = compare(seen, ours=OwnedTopics(held={excluded.mirror.name: {"retention.ms": "7"}}))
    assert not kept.steps
    assert [(note.about, note.text) for note in kept.notes] == [
        (
            "gone",
            "the source no longer has it; this link made its mirror topic eu.gone, which `prune:"
            " true` would delete",
        ),
        (
            "excluded",
            "the file no longer asks for it; this link made its mirror topic eu.excluded, which"
            " `prune: true` would delete; held back there, as it was never filled:"
            " retention.ms",
        ),
    ]
    assert compare(seen, prune=True).steps == (
        DeleteTopic(gone.source, gone.mirror.name, gone.mirror.id, 3),
        DeleteTopic(excluded.source, excluded.mirror.name, excluded.mirror.id, 1),
    )


def test_a_copy_that_brokers_may_use_for_themselves_is_never_deleted() -> None:
    """An older Towpath mirrored it; the target may have begun to use tiered storage since."""
    own = TopicName("__remote_log_metadata")
    seen = replace(observed(), orphans=(Orphan(own, topic(own), gone=False),))
    found = compare(seen, prune=True)
    assert not found.steps
    assert [(note.about, note.text) for note in found.notes] == [
        (
            own,
            f"the file no longer asks for it; this link made its mirror topic {own}, which the"
            " target's brokers may use by now, so it is never deleted",
        )
    ]


def test_a_copy_that_no_id_proves_ours_is_never_deleted() -> None:
    seen = replace(
        observed(),
        orphans=(
            Orphan(TopicName("a"), replace(topic("a"), id=NO_TOPIC_ID), gone=True),
            Orphan(TopicName("b"), topic("b"), gone=False),
        ),
    )
    found = compare(seen, prune=True, ours=OwnedTopics(unsure=frozenset({TopicName("b")})))
    assert not found.steps
    assert [(note.about, note.text) for note in found.notes] == [
        (
            name,
            f"{why}; this link made its mirror topic {name}, or another topic that had this name:"
            " without topic ids they cannot be told apart, so it is never deleted; delete it by"
            " hand if it is not needed",
        )
        for name, why in (
            ("a", "the source no longer has it"),
            ("b", "the file no longer asks for it"),
        )
    ]


def test_a_copy_may_grow_and_change_at_once() -> None:
    two = topic(partitions=2, own={"segment.ms": "5"})
    grow, change = compare(observed(two, target=(topic(),))).steps
    assert grow == AddPartitions(two.name, two.name, 1, 2)
    assert (type(change).__name__, change.about) == ("SetConfigs", "orders")
