"""Topics of a restore: made and held back, also by a process that is killed, and then released."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest

from tests.support.kafka import Record, create_topic, produce
from towpath.archive.config import RestoreConfig
from towpath.archive.model import PartitionId
from towpath.archive.restore.applying import apply, release
from towpath.archive.restore.holding import ANY
from towpath.archive.restore.model import RestorePart, RestoreScope, RestoreTopic
from towpath.archive.restore.topics import TopicRestorer
from towpath.dev.broker import LocalCluster
from towpath.ledger.link import OpenTarget, open_target
from towpath.model.nouns import ClusterId, LinkName, SourceOffset, TopicId, TopicName
from towpath.plan.subject import Difference, SubjectContext
from towpath.settings import ClusterConfig
from towpath.topics.configs import TIMESTAMP_TYPE
from towpath.topics.observe import look_at_target
from towpath.topics.observed import Topic
from towpath.topics.steps import CreateTopic, SetConfigs, TopicStep

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
OWN = {
    "cleanup.policy": "compact",
    TIMESTAMP_TYPE: "LogAppendTime",
    "retention.ms": "3600000",
    "segment.ms": "60000",
}


def scope(name: str, own: Mapping[str, str], partitions: int = 2) -> RestoreScope:
    topic = Topic(TopicName(name), TopicId("archived"), partitions, 1, own, own)
    part_id = PartitionId(ClusterId("gone"), topic.id, 0)
    part = RestorePart(id=part_id, start=SourceOffset(0), end=SourceOffset(1))
    made = RestoreTopic(topic=topic, cluster=ClusterId("gone"), target=topic.name, parts=(part,))
    return RestoreScope(region="eu", version=1, at=0, topics={topic.name: made})


@contextmanager
def restorer(
    target: LocalCluster, wanted: RestoreScope, rules: RestoreConfig | None = None
) -> Iterator[TopicRestorer]:
    """Return one as each new process has it."""
    [name] = wanted.topics
    where = ClusterConfig(bootstrap=target.addresses)
    with open_target(LinkName(f"restore.{name}"), where) as to:
        to.ledger.create()
        to.read()
        yield TopicRestorer(to, wanted, rules or RestoreConfig())


def planned(made: TopicRestorer) -> Difference[TopicStep]:
    return made.diff(made.observe(), SubjectContext())


def own_configs(to: OpenTarget, name: str) -> dict[str, str]:
    found = to.target.configs.describe([TopicName(name)])[TopicName(name)]
    return {
        key: entry.value
        for key, entry in found.items()
        if entry.source.name == "TOPIC" and entry.value is not None
    }


def test_a_topic_gets_its_configs_once_it_is_restored(
    target: LocalCluster, new_name: NewName
) -> None:
    name = TopicName(new_name("orders"))
    wanted = scope(name, OWN)
    with restorer(target, wanted) as one:
        [step] = planned(one).steps
        assert isinstance(step, CreateTopic)
        applied = apply(one, one.check([step]))
        assert (applied.complete, applied.done) == (True, [step])
    with restorer(target, wanted) as after_a_kill:
        there = own_configs(after_a_kill.to, name)
        assert there["cleanup.policy"] == "delete"
        assert there[TIMESTAMP_TYPE] == "CreateTime"
        assert there["retention.ms"] == "-1"
        assert there["segment.ms"] == "60000"
        assert planned(after_a_kill).steps == (), "what it held back before stays"
        released, _ = release(after_a_kill, [name])
        assert released.complete
    with restorer(target, wanted) as another:
        assert own_configs(another.to, name) == OWN
        assert release(another, [name])[0].done == []


def test_a_topic_that_was_made_before_a_kill_is_ours(
    target: LocalCluster, new_name: NewName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies between the creation and the journal's word that it is done."""
    name = TopicName(new_name("orders"))
    wanted = scope(name, OWN)

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with restorer(target, wanted) as one:
        checked = one.check(planned(one).steps)
        with monkeypatch.context() as patch:
            patch.setattr("towpath.plan.journal.JournalWriter.done", die)
            with pytest.raises(KeyboardInterrupt):
                apply(one, checked)
    with restorer(target, wanted) as another:
        apply(another, another.check(planned(another).steps))
        assert release(another, [name])[0].complete
        assert own_configs(another.to, name) == OWN


def test_an_empty_topic_grows_and_gets_its_own_configs_back(
    target: LocalCluster, new_name: NewName
) -> None:
    name = TopicName(new_name("orders"))
    mine = {"cleanup.policy": "compact", "max.message.bytes": "20000"}
    create_topic(target.bootstrap, name, 1, mine)
    wanted = scope(name, OWN, partitions=3)
    with restorer(target, wanted) as one:
        found = planned(one)
        assert any("exists on the target and is empty" in str(note) for note in found.notes)
        assert apply(one, one.check(found.steps)).complete
        assert len(one.to.target.topics.describe([name])[name].partitions) == 3
        there = own_configs(one.to, name)
        assert (there["cleanup.policy"], there["max.message.bytes"]) == ("delete", "16777216")
    with restorer(target, wanted) as another:
        assert planned(another).steps == ()
        [step] = release(another, [name])[0].done
        assert isinstance(step, SetConfigs)
        assert own_configs(another.to, name) == mine


def test_a_topic_with_records_is_left_alone(target: LocalCluster, new_name: NewName) -> None:
    name = TopicName(new_name("orders"))
    create_topic(target.bootstrap, name, 2)
    produce(target.bootstrap, name, [Record(None, b"mine", partition=1)] * 3)
    with restorer(target, scope(name, OWN)) as one:
        found = planned(one)
        assert found.steps == ()
        [problem] = found.problems
        assert problem.about == name
        assert "has records (partition 1, offsets 0 to 2), so no part" in problem.text


def test_a_cluster_without_any_topic_says_what_can_be_held_back(
    target: LocalCluster, new_name: NewName
) -> None:
    """A new cluster, as after a disaster, shows no topic whose configs could be listed."""
    name = TopicName(new_name("orders"))
    wanted, rules = scope(name, {}), RestoreConfig().topics
    topics = tuple(each.topic for each in wanted.topics.values())
    with restorer(target, wanted) as one:
        where = one.to.where
        seen = look_at_target(one.to.target, {}, topics, {name: name}, rules, where, ANY)
    assert ANY.keys() <= seen.known
