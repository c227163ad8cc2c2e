"""Retention that is held back stays so where the target would delete more; on real brokers."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.kafka import Record, create_topic, delete_before, produce, wait_until
from tests.support.mirror import Mirror
from towpath.cli.main import main
from towpath.cluster.metadata import non_default
from towpath.dev.broker import LocalCluster
from towpath.ledger.entries import Foretold
from towpath.ledger.link import open_link
from towpath.mirror.plan.link_plan import build
from towpath.mirror.run.reconcile import reconcile
from towpath.mirror.status.partitions import status
from towpath.mirror.subjects import SUBJECTS
from towpath.model.findings import Cause
from towpath.model.nouns import TopicName, TopicPartition
from towpath.model.reasons import ReasonCode
from towpath.plan.applier import Applied
from towpath.plan.apply import ApplyRequest, apply
from towpath.plan.model import Plan
from towpath.runtime.clock import now_ms
from towpath.settings import LinkConfig

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
YESTERDAY = now_ms() - 86_400_000
OVERRIDE = "  configs: {override: {cleanup.policy: 'compact,delete'}}\n"


def settle(config: LinkConfig) -> None:
    """Apply the file as a run does at its end."""
    with open_link(config) as link:
        link.prepare()
        link.read()
        rows = status(config, link.books, link.source, link.target)
        made = reconcile(link, rows)
        assert not made.left_out, made.left_out


def applied(config: LinkConfig, plan: Plan) -> Applied:
    """Apply a plan as if it had been saved."""
    wanted = ApplyRequest(config, plan, "digest")
    return apply(wanted, SUBJECTS, lambda _step, _error: None, threading.Event())


def own(config: LinkConfig, name: TopicName) -> dict[str, str]:
    with open_link(config) as link:
        return non_default(link.target.configs.describe([name])[name])


def begins(config: LinkConfig, name: TopicName) -> int:
    tp = TopicPartition(name, 0)
    with open_link(config) as link:
        return link.target.offsets.earliest([tp])[tp]


def deletes_none(configs: dict[str, str]) -> bool:
    """Whether a topic keeps all; the default `retention.bytes` of brokers in tests is -1."""
    return configs.get("cleanup.policy") == "" or configs["retention.ms"] == "-1"


def test_what_the_target_would_delete_stays_until_the_file_lets_it_go(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: NewName,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = TopicName(new_name("overridden"))
    compacted = {"cleanup.policy": "compact", "retention.ms": "10000"}
    create_topic(source.bootstrap, name, config=compacted)
    produce(
        source.bootstrap,
        name,
        [Record(b"k%d" % number, b"v", timestamp=YESTERDAY) for number in range(20)],
    )
    mirror = Mirror(tmp_path, source, target, name, more=OVERRIDE)
    config = mirror.config
    (kept,) = (note.text for note in build(config).notes if "stays held back" in note.text)
    assert "`topics.configs.override` sets cleanup.policy" in kept
    assert "up to 20 offsets that the source has would go at once" in kept
    settle(config)
    mirror.catch_up()
    settle(config)
    assert own(config, name)["retention.ms"] == "-1"
    capsys.readouterr()
    assert main(["status", str(tmp_path / f"{name}.yaml")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"retention stays held back on the mirror topics of 1 topic ({name})" in said
    assert "see `towpath explain RETENTION_TIGHTER`" in said
    assert main(["status", str(tmp_path / f"{name}.yaml"), "--output", "json"]) == 0
    (foretold,) = json.loads(capsys.readouterr().out)["foretold"]
    assert (foretold["kept"], foretold["offsets"]) == (True, 20)
    assert foretold["reasons"][0]["code"] == ReasonCode.RETENTION_TIGHTER

    mirror.more += f"  may_delete: ['{name}']\n"
    config = mirror.config
    settle(config)
    capsys.readouterr()
    assert own(config, name)["retention.ms"] == "10000"
    wait_until(lambda: begins(config, name) == 20, "the target deletes what was foretold")
    entry = mirror.link_books().foretold[name]
    assert isinstance(entry, Foretold)
    assert (entry.kept, entry.meant) == (False, True)
    assert main(["status", str(tmp_path / f"{name}.yaml"), "--output", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["partitions"]
    assert (row["deleted"]["foretold"], row["deleted"]["meant"]) == (True, True)


def test_an_ordinary_topic_is_released_and_what_is_past_both_is_counted(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    name = TopicName(new_name("ordinary"))
    week = {"retention.ms": "604800000", "retention.bytes": "100000000"}
    create_topic(source.bootstrap, name, config=week)
    old = YESTERDAY - 30 * 86_400_000
    produce(
        source.bootstrap,
        name,
        [Record(None, b"v", timestamp=at) for at in (old, YESTERDAY, YESTERDAY)],
    )
    mirror = Mirror(tmp_path, source, target, name)
    settle(mirror.config)
    mirror.catch_up()
    planned = build(mirror.config)
    with open_link(mirror.config) as link:
        link.source.configs.change(name, {"retention.ms": "-1"})
    (failed,) = applied(mirror.config, planned).failed
    assert "retention.ms would be 604800000 on the target and is -1" in str(failed[1])
    assert mirror.link_books().foretold[name].kept
    assert own(mirror.config, name)["retention.ms"] == "-1"
    with open_link(mirror.config) as link:
        link.source.configs.change(name, {"retention.ms": week["retention.ms"]})
    assert applied(mirror.config, planned).complete
    assert own(mirror.config, name) == week
    entry = mirror.link_books().foretold.get(name)
    assert entry is None or (entry.reasons, entry.kept) == ((), False)


def test_an_empty_policy_keeps_all_records_from_the_first_on(
    tmp_path: Path, source: LocalCluster, version_target: LocalCluster, new_name: NewName
) -> None:
    name = TopicName(new_name("empty"))
    create_topic(source.bootstrap, name, config={"retention.ms": "1000", "segment.ms": "1000"})
    produce(source.bootstrap, name, [Record(None, b"v")] * 5)
    delete_before(source.bootstrap, name, 3)
    mirror = Mirror(tmp_path, source, version_target, name)
    with open_link(mirror.config) as link:
        link.source.configs.change(name, {"cleanup.policy": ""})
    settle(mirror.config)
    wanted = (
        {"cleanup.policy": "", "retention.ms": "1000"}
        if version_target.version >= "4.2"
        else {"retention.ms": "-1"}
    )
    found = own(mirror.config, name)
    assert {key: found.get(key) for key in wanted} == wanted
    mirror.catch_up()
    settle(mirror.config)
    assert deletes_none(own(mirror.config, name))
    assert begins(mirror.config, name) == 3
    assert mirror.books().opened is not None
    assert not mirror.link_books().foretold


def test_a_mirror_topic_that_was_there_is_held_back_or_told_before_it_deletes(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: NewName,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The file overrides a retention, which is held; then it excludes it, which is told."""
    name = TopicName(new_name("before"))
    short = {"retention.ms": "3600000"}
    create_topic(source.bootstrap, name)
    create_topic(target.bootstrap, name, config=short)
    produce(source.bootstrap, name, [Record(None, b"v", timestamp=YESTERDAY)] * 20)
    override = "  configs: {override: {retention.ms: 3600000}}\n"
    mirror = Mirror(tmp_path, source, target, name, more=override)
    settle(mirror.config)
    mirror.catch_up()
    settle(mirror.config)
    assert own(mirror.config, name)["retention.ms"] == "-1"
    assert mirror.link_books().foretold[name].kept

    with open_link(mirror.config) as link:
        link.target.configs.change(name, {"retention.ms": "-1", "cleanup.policy": "compact"})
    mirror.more = "  configs: {exclude: [cleanup.policy]}\n"
    plan = build(mirror.config)
    assert plan.exit_code == 3
    (problem,) = plan.problems
    assert "up to 20 offsets that the source has would go at once" in problem.text
    assert problem.cause is Cause.KEEPS_LESS
    file = str(tmp_path / f"{name}.yaml")
    capsys.readouterr()
    assert main(["status", file, "--output", "json"]) == 3
    (risk,) = json.loads(capsys.readouterr().out)["at_risk"]
    assert (risk["topic"], risk["offsets"], risk["ranges"]) == (name, 20, [[0, 0, 20]])
    assert main(["verify", file, "--output", "json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert (told["equal"], told["at_risk"]) == (False, [risk])
    (row,) = told["partitions"]
    assert (row["verdict"], row["equal"]) == ("at risk", 20)
    assert ReasonCode.COMPACTION_TIGHTER in row["codes"]
    assert main(["verify", file, "--may-delete"]) == 0
    capsys.readouterr()
    assert main(["cutover", file, "--dry-run"]) == 3
    assert "keeps less than the source" in " ".join(capsys.readouterr().out.split())
    assert main(["cutover", file, "--dry-run", "--may-delete"]) == 0
