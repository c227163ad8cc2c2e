"""`towpath apply` and `towpath diff` on real clusters: again, after a kill, too late, elsewhere."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.here import Ended, Here
from tests.support.kafka import Record, create_topic, grow, produce, wait_until
from towpath.cluster.admin import Admin
from towpath.cluster.metadata import non_default
from towpath.dev.broker import LocalCluster
from towpath.ledger.keys import new_name as new_run
from towpath.ledger.link import open_link
from towpath.mirror.plan.link_plan import build
from towpath.mirror.run.rounds import RoundPlan, plan_round
from towpath.mirror.subjects import SUBJECTS
from towpath.model.errors import TowpathError
from towpath.model.nouns import Side, TopicName
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.plan import kinds as step_kinds
from towpath.plan.apply import ApplyRequest, apply
from towpath.plan.finished import already_done
from towpath.plan.journal import JournalWriter
from towpath.plan.kinds import Step
from towpath.plan.saved import load_plan
from towpath.records.copy import copy
from towpath.settings import LinkConfig, load
from towpath.topics.steps import CreateTopic

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]


@dataclass
class Files:
    """The files of one link over the topics that begin with its name."""

    folder: Path
    source: LocalCluster
    target: LocalCluster
    name: str
    more: str = ""
    here: Here | None = None

    @property
    def yaml(self) -> str:
        file = self.folder / "link.yaml"
        file.write_text(
            f"source: {{bootstrap: '{self.source.bootstrap}'}}\n"
            f"target: {{bootstrap: '{self.target.bootstrap}'}}\n"
            f"link: {self.name}\n"
            f"topics: {{include: ['{self.name}.*'], rename: 'eu.{{topic}}'}}\n{self.more}"
        )
        return str(file)

    @property
    def plan(self) -> str:
        return str(self.folder / "plan.json")

    @property
    def config(self) -> LinkConfig:
        return load(Path(self.yaml))

    def copy(self) -> None:
        """Copy everything that the source has now, without Spark."""
        for work in plan_round(RoundPlan(self.config, new_run(), 1, once=True), 1):
            list(copy(work))

    def run(self, *arguments: str) -> Ended:
        assert self.here is not None
        return self.here(*arguments)

    def topic(self, name: str, partitions: int = 1, **config: str) -> str:
        configs = {key.replace("_", "."): value for key, value in config.items()}
        return create_topic(self.source.bootstrap, f"{self.name}.{name}", partitions, configs)


@pytest.fixture
def files(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName, here: Here
) -> Files:
    return Files(tmp_path, source, target, new_name("applied"), here=here)


def topics(cluster: LocalCluster, start: str) -> dict[str, int]:
    found = AdminClient({"bootstrap.servers": cluster.bootstrap}).list_topics(timeout=30).topics
    return {name: len(each.partitions) for name, each in found.items() if name.startswith(start)}


def delete(cluster: LocalCluster, *names: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    for answer in admin.delete_topics(list(names)).values():
        answer.result(30)
    wait_until(lambda: not topics(cluster, names[0]), f"{names[0]} is deleted")


def test_a_saved_plan_is_applied_once(files: Files) -> None:
    first, second = files.topic("a", 2, segment_ms="60000"), files.topic("b")
    assert files.run("diff", files.yaml).code == 3
    planned = files.run("plan", files.yaml, "--save", files.plan, "--output", "markdown")
    assert planned.code == 0, planned.said
    assert f"| `create` | `{first}` | `eu.{first}` | `2` | `1` |" in planned.out
    assert topics(files.target, f"eu.{files.name}") == {}
    done = files.run("apply", files.plan, "--yes", "--output", "json")
    assert done.code == 0, done.said
    assert [step["target"] for step in done.json["done"]] == [f"eu.{first}", f"eu.{second}"]
    assert topics(files.target, f"eu.{files.name}") == {f"eu.{first}": 2, f"eu.{second}": 1}
    assert files.run("diff", files.yaml).code == 0


def test_a_finished_plan_says_so_first_and_does_nothing(files: Files) -> None:
    files.topic("a"), files.topic("b")
    assert files.run("plan", files.yaml, "--save", files.plan).code == 0
    assert files.run("apply", files.plan, "--yes").code == 0
    with open_link(files.config) as link:
        link.look()
        entries = dict(link.books.journal)
    again = files.run("apply", files.plan)  # not a terminal: it would refuse to ask
    assert (again.code, again.err) == (0, "")
    shown = " ".join(again.out.split())
    assert "the plan is finished: all its 2 steps are done (2 by `towpath apply` of this" in shown
    assert shown.endswith("); nothing to do")
    data = files.run("apply", files.plan, "--output", "json").json
    assert (data["done"], len(data["done_before"]), data["complete"]) == ([], 2, True)
    with open_link(files.config) as link:
        link.look()
        assert link.books.journal == entries


def test_a_plan_of_which_some_is_done_says_so_before_it_asks(files: Files) -> None:
    first, second = files.topic("a"), files.topic("b")
    assert files.run("plan", files.yaml, "--save", files.plan).code == 0
    _apply_one(files)
    asked = files.run("apply", files.plan)
    assert asked.code == 2
    told = " ".join(asked.err.split())
    assert "note: 1 of 2 steps were done before by `towpath apply` of this plan, the last" in told
    ended = files.run("apply", files.plan, "--yes", "--output", "json").json
    assert (len(ended["done"]), len(ended["done_before"])) == (1, 1)
    assert topics(files.target, f"eu.{files.name}") == {f"eu.{first}": 1, f"eu.{second}": 1}


def _apply_one(files: Files) -> None:
    """Apply the saved plan, and stop behind its first step."""
    saved = load_plan(Path(files.plan), SUBJECTS.kinds)
    plan = replace(saved.plan, steps=saved.plan.steps[:1])
    wanted = ApplyRequest(saved.config, plan, saved.digest)
    assert apply(wanted, SUBJECTS, lambda _step, _error: None, threading.Event()).complete


def test_a_plan_that_another_command_or_a_person_has_done_is_finished(files: Files) -> None:
    by_run, by_hand = files.topic("a", 2), files.topic("b")
    assert files.run("plan", files.yaml, "--save", files.plan).code == 0
    create_topic(files.target.bootstrap, f"eu.{by_hand}", 1)
    assert not already_done(_saved(files), SUBJECTS).finished
    assert files.run("apply", files.yaml, "--yes").code == 0
    again = files.run("apply", files.plan, "--output", "json")
    assert (again.code, again.err) == (0, "")
    assert [step["source"] for step in again.json["done_elsewhere"]] == [by_run, by_hand]
    text = " ".join(files.run("apply", files.plan).out.split())
    assert "(2 by another command or by hand: the target is as the plan asks)" in text


def _saved(files: Files) -> ApplyRequest:
    saved = load_plan(Path(files.plan), SUBJECTS.kinds)
    return ApplyRequest(saved.config, saved.plan, saved.digest)


def test_a_plan_that_another_has_done_otherwise_is_not_finished(files: Files) -> None:
    name = files.topic("a", 2)
    assert files.run("plan", files.yaml, "--save", files.plan).code == 0
    create_topic(files.target.bootstrap, f"eu.{name}", 1)
    assert not already_done(_saved(files), SUBJECTS).finished


def test_a_step_that_came_too_late_stops_alone(files: Files) -> None:
    first, second = files.topic("a", 2), files.topic("b")
    assert files.run("plan", files.yaml, "--save", files.plan).code == 0
    create_topic(files.target.bootstrap, f"eu.{first}", 3)
    late = files.run("apply", files.plan, "--yes")
    assert late.code == 3
    assert (
        f"{first}: target: topic eu.{first} changed since this was planned: it should have 2"
        " partitions and has 3 partitions; look who else changes it, then plan again"
    ) in late.out.replace("\n", " ")
    assert topics(files.target, f"eu.{second}") == {f"eu.{second}": 1}
    status = files.run("status", files.yaml)
    assert f"step CreateTopic eu.{first} failed at 2" in status.out
    [failed] = files.run("status", files.yaml, "--output", "json").json["failed_steps"]
    assert "it should have 2 partitions and has 3 partitions" in failed["error"]


def test_a_plan_of_another_cluster_is_refused(files: Files) -> None:
    files.topic("a")
    assert files.run("plan", files.yaml, "--save", files.plan).code == 0
    plan = build(files.config)
    assert plan.target is not None
    config = files.config.model_copy(update={"source": files.config.target})
    with pytest.raises(TowpathError) as raised:
        apply(ApplyRequest(config, plan), SUBJECTS, lambda _step, _error: None, threading.Event())
    assert str(raised.value) == (
        f"source: the plan was made for cluster {files.source.cluster_id}, but"
        f" {files.target.bootstrap} is cluster {files.target.cluster_id} now; make the plan again"
    )


def test_what_cannot_be_meant(files: Files) -> None:
    files.topic("a")
    said = files.run("apply", files.yaml, "--only", "topics,schema")
    assert (said.code, "'schema' is no subject; there are topics" in said.err) == (2, True)
    said = files.run("apply", files.yaml)
    assert (said.code, "no confirmation is possible; add --yes" in said.err) == (2, True)
    none = files.run("apply", files.yaml, "--only", "acls", "--yes", "--output", "json").json
    assert none["done"] == []
    assert topics(files.target, f"eu.{files.name}") == {}
    text = Path(files.yaml).read_text()
    edited = files.folder / "plan.json"
    assert files.run("plan", files.yaml, "--save", str(edited)).code == 0
    edited.write_text(edited.read_text().replace('"partitions": 1', '"partitions": 9'))
    said = files.run("apply", str(edited), "--yes")
    assert (said.code, "was edited since it was made" in said.err) == (2, True)
    assert Path(files.yaml).read_text() == text


@pytest.mark.alone("quotas")
def test_what_came_back_to_the_source_is_not_removed(files: Files) -> None:
    """By a plan that was made while it was gone."""
    back, gone = files.topic("a"), files.topic("b")
    files.more = "access: {quotas: true}\nprune: true\n"
    limits = [
        Quota((Entity(EntityKind.USER, f"{files.name}-{end}"),), QuotaKey.CONSUMER_BYTE_RATE)
        for end in "ab"
    ]
    with (
        Admin(files.config.source, Side.SOURCE) as source,
        Admin(files.config.target, Side.TARGET) as target,
    ):
        for limit in limits:
            source.quotas.change(limit, 5000.0)
        wait_until(
            lambda: source.quotas.describe().known.keys() >= set(limits), "the quotas are there"
        )
        assert files.run("apply", files.yaml, "--yes").code == 0
        delete(files.source, back, gone)
        for limit in limits:
            source.quotas.change(limit, None)
        wait_until(lambda: not source.quotas.describe().known.keys() & set(limits), "they are gone")
        planned = files.run("plan", files.yaml, "--save", files.plan, "--output", "json")
        assert [step["do"] for step in planned.json["steps"]] == [
            *["RemoveQuota"] * 2, *["DeleteTopic"] * 2,
        ], planned.said  # fmt: skip
        files.topic("a", 3)
        source.quotas.change(limits[0], 6000.0)
        wait_until(lambda: limits[0] in source.quotas.describe().known, "one is back")
        late = files.run("apply", files.plan, "--yes", "--output", "json")
        wait_until(lambda: limits[1] not in target.quotas.describe().known, "the other is removed")
        assert target.quotas.describe().known[limits[0]] == 5000.0
        for admin in (source, target):
            admin.quotas.change(limits[0], None)  # other tests compare all quotas, too
    assert late.code == 3
    changed = "source: the cluster changed since this was planned: it should have "
    assert [each["error"].partition(";")[0] for each in late.json["failed"]] == [
        f"{changed}nothing that asks for {limits[0]} and has something that does, or hides it",
        f"{changed}no topic {back} to mirror as eu.{back} and has one, or hides it",
    ]
    assert topics(files.target, f"eu.{files.name}") == {f"eu.{back}": 1}


def _killed_behind_one(config: LinkConfig) -> None:
    """Apply, and die without a word once a step is done, before the journal says so."""

    def on_step(_step: Step, _error: TowpathError | None) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    apply(ApplyRequest(config, build(config)), SUBJECTS, on_step, threading.Event())


def _kill_behind_one(config: LinkConfig) -> None:
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_killed_behind_one, args=(config,))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL


def test_killed_between_any_two_steps(
    files: Files, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was done before the kill, the end is the same, and all of it is ours."""
    monkeypatch.setattr(step_kinds, "AT_ONCE", 1)
    names = [files.topic(letter, rng.randint(1, 3), segment_ms="60000") for letter in "abcd"]
    for _ in names:
        _kill_behind_one(files.config)
    files.more = "prune: true\n"
    ended = files.run("apply", files.yaml, "--yes", "--output", "json")
    assert ended.code == 0, ended.said
    assert topics(files.target, f"eu.{files.name}") == {
        f"eu.{name}": count for name, count in topics(files.source, files.name).items()
    }
    assert files.run("diff", files.yaml).code == 0
    _configs_set_by_the_killed_are_ours(files, names[:2])
    delete(files.source, *names)
    ended = files.run("apply", files.yaml, "--yes", "--output", "json")
    assert {step["do"] for step in ended.json["done"]} == {"DeleteTopic"}, ended.said
    assert topics(files.target, f"eu.{files.name}") == {}


def _configs_set_by_the_killed_are_ours(files: Files, names: list[str]) -> None:
    def ask_for(value: str | None) -> None:
        with Admin(files.config.source, Side.SOURCE) as source:
            for name in names:
                source.configs.change(TopicName(name), {"flush.ms": value})

    def own() -> list[str | None]:
        copies = [TopicName(f"eu.{name}") for name in names]
        with Admin(files.config.target, Side.TARGET) as target:
            told = target.configs.describe(copies)
        return [non_default(told[copy]).get("flush.ms") for copy in copies]

    ask_for("50000")
    for _ in names:
        _kill_behind_one(files.config)
    assert own() == ["50000"] * len(names)
    assert files.run("diff", files.yaml).code == 0
    ask_for(None)
    ended = files.run("apply", files.yaml, "--yes", "--output", "json")
    assert [step["remove"] for step in ended.json["done"]] == [["flush.ms"]] * 2, ended.said
    assert own() == [None] * len(names)


def test_what_is_not_ours_is_never_removed(files: Files) -> None:
    ours, theirs, again = (files.topic(letter) for letter in "abc")
    create_topic(files.target.bootstrap, f"eu.{theirs}")
    assert files.run("apply", files.yaml, "--yes").code == 0
    delete(files.target, f"eu.{again}")
    create_topic(files.target.bootstrap, f"eu.{again}")
    delete(files.source, ours, theirs, again)
    plain = files.run("diff", files.yaml)
    assert "prune: true" in plain.out
    files.more = "prune: true\n"
    ended = files.run("apply", files.yaml, "--yes", "--output", "json")
    assert [step["target"] for step in ended.json["done"]] == [f"eu.{ours}"], ended.said
    assert topics(files.target, f"eu.{files.name}") == {f"eu.{theirs}": 1, f"eu.{again}": 1}


def test_what_somebody_else_made_since_the_plan_is_not_ours(files: Files) -> None:
    first, second = files.topic("a"), files.topic("b")
    assert files.run("plan", files.yaml, "--save", files.plan).code == 0
    create_topic(files.target.bootstrap, f"eu.{first}")
    assert files.run("apply", files.plan, "--yes").code == 0
    delete(files.source, first, second)
    files.more = "prune: true\n"
    ended = files.run("apply", files.yaml, "--yes", "--output", "json")
    assert [step["target"] for step in ended.json["done"]] == [f"eu.{second}"], ended.said
    assert topics(files.target, f"eu.{files.name}") == {f"eu.{first}": 1}


def test_a_plan_is_not_saved_over_the_file_of_the_link(files: Files) -> None:
    said = files.run("plan", files.yaml, "--save", files.yaml)
    assert (said.code, "name one that ends with .json" in said.err) == (2, True)
    assert Path(files.yaml).read_text().startswith("source:")


def test_plan_apply_and_plan_again_is_empty(files: Files, rng: random.Random) -> None:
    """For random topics, some of them there already in another form."""
    choices: dict[str, tuple[str, ...]] = {
        "retention.ms": ("-1", "3600000", "86400000"),
        "cleanup.policy": ("delete", "compact", "compact,delete"),
        "max.message.bytes": ("500000", "2000000"),
        "min.insync.replicas": ("1", "2"),
        "compression.type": ("lz4", "producer"),
        "message.timestamp.type": ("CreateTime", "LogAppendTime"),
    }

    def configs() -> dict[str, str]:
        keys = rng.sample(sorted(choices), rng.randint(0, len(choices)))
        return {key: rng.choice(choices[key]) for key in keys}

    for number in range(8):
        name = f"{files.name}.{number}"
        create_topic(files.source.bootstrap, name, rng.randint(1, 3), configs())
        if rng.random() < 0.5:
            create_topic(files.target.bootstrap, f"eu.{name}", rng.randint(1, 3), configs())
    ended = files.run("apply", files.yaml, "--yes", "--output", "json")
    assert ended.code == 0, ended.said
    grow(files.source.bootstrap, f"{files.name}.0", 4)
    assert files.run("apply", files.yaml, "--yes").code == 0
    again: Any = json.loads(files.run("diff", files.yaml, "--output", "json").out)
    assert again["steps"] == []


def test_a_copy_that_others_write_to_is_not_deleted(files: Files) -> None:
    """As after a cutover, when the old cluster is cleared while `prune` is still in the file."""
    live, still, late = (files.topic(letter) for letter in "abc")
    for topic in (live, still, late):
        produce(files.source.bootstrap, topic, [Record(b"k", b"v")])
    files.more = "prune: true\n"
    assert files.run("apply", files.yaml, "--yes").code == 0
    files.copy()
    produce(files.target.bootstrap, f"eu.{live}", [Record(b"k", b"of a client")])
    delete(files.source, live, still, late)
    planned = files.run("plan", files.yaml, "--save", files.plan, "--output", "json")
    assert [step["source"] for step in planned.json["steps"]] == [still, late], planned.said
    assert any("records that this link did not write" in n["text"] for n in planned.json["notes"])
    produce(files.target.bootstrap, f"eu.{late}", [Record(b"k", b"of a client")])
    ended = files.run("apply", files.plan, "--yes", "--output", "json")
    assert [step["source"] for step in ended.json["done"]] == [still], ended.said
    assert "only records of this link and has other records" in ended.said
    assert topics(files.target, f"eu.{files.name}") == {f"eu.{live}": 1, f"eu.{late}": 1}


def test_what_a_stranger_made_as_the_killed_step_would_not_have_is_not_ours(files: Files) -> None:
    """A process died between the journal and the request; somebody created the topic by hand."""
    ours, theirs = (TopicName(files.topic(letter, segment_ms="60000")) for letter in "ab")
    with open_link(files.config) as link:
        link.prepare()
        made = [
            CreateTopic(
                source=name,
                target=TopicName(f"eu.{name}"),
                partitions=1,
                replication_factor=1,
                configs={"segment.ms": "60000"},
            )
            for name in (ours, theirs)
        ]
        with SUBJECTS.open(link) as clients:
            JournalWriter(link, clients).begin((step, True) for step in made)
    create_topic(files.target.bootstrap, f"eu.{ours}", 1, {"segment.ms": "60000"})
    create_topic(files.target.bootstrap, f"eu.{theirs}", 1, {"segment.ms": "70000"})
    assert files.run("apply", files.yaml, "--yes").code == 0
    delete(files.source, ours, theirs)
    files.more = "prune: true\n"
    ended = files.run("apply", files.yaml, "--yes", "--output", "json")
    assert [step["source"] for step in ended.json["done"]] == [ours], ended.said
