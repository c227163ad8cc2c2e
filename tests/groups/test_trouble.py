"""Syncs that are killed, and coordinators that are silent."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients.groups import standing
from tests.support.kafka import Record, commit, produce, wait_until
from tests.support.mirror import Mirror
from tests.support.program import environment
from towpath.cluster.admin import Admin
from towpath.cluster.admin.groups import GroupAdmin
from towpath.cluster.admin.groups.listing import GroupListing
from towpath.cluster.metadata import Answers
from towpath.dev.broker import LocalCluster
from towpath.groups.model import PositionOutcome
from towpath.groups.sync import GroupSync
from towpath.ledger.link import open_link
from towpath.model.errors import ClusterError, UnreachableError
from towpath.model.groups import ClientGroup, Commit
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.settings import GroupsConfig

pytestmark = pytest.mark.broker

KILLED = """
import os, signal, sys
from pathlib import Path
from towpath.cluster.admin.groups.changing import Changing
from towpath.settings import GroupsConfig, load
from towpath.groups.sync import GroupSync
from towpath.ledger.link import open_link
from towpath.model.errors import ClusterError

written, write = [], Changing._write
def dying(self, broker, group, offsets):
    if len(written) == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    written.append(group)
    return write(self, broker, group, offsets)
Changing._write = dying
with open_link(load(Path(sys.argv[1]))) as link:
    GroupSync(link, GroupsConfig(include=[sys.argv[2]])).once()
"""


@contextmanager
def syncing(mirror: Mirror) -> Iterator[GroupSync]:
    with open_link(mirror.config) as link:
        yield GroupSync(link, GroupsConfig(include=(f"{mirror.topic}-.*",)))


def stand(mirror: Mirror, groups: int, offset: int) -> list[ClientGroup]:
    """Let so many groups of the source stand at an offset."""
    made = [ClientGroup(f"{mirror.topic}-{number}") for number in range(groups)]
    place = TopicPartition(TopicName(mirror.topic), 0)
    with Admin(mirror.config.source, Side.SOURCE) as admin:
        for written in admin.groups.write({g: {place: Commit(offset)} for g in made}).values():
            assert not written.failed
    return made


def test_a_sync_that_is_killed_in_its_middle_is_ended_by_the_next(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("killed"))
    mirror.create()
    produce(source.bootstrap, mirror.topic, [Record(b"k", b"v")] * 20)
    mirror.catch_up()
    with syncing(mirror) as sync:
        stand(mirror, 20, 3)
        assert sync.once().good
    groups = stand(mirror, 20, 11)
    assert mirror.config.link
    file = str(tmp_path / f"{mirror.topic}.yaml")
    words = [sys.executable, "-c", KILLED, file, f"{mirror.topic}-.*"]
    assert subprocess.run(words, env=environment(), check=False).returncode == -9
    with syncing(mirror) as sync:
        report = sync.once(last=True)
        told = report.outcomes
        assert told[PositionOutcome.CONFIRMED] + told[PositionOutcome.UNCHANGED] == len(groups)
        assert told[PositionOutcome.CONFIRMED] >= 10, "most were not written before"
        assert told[PositionOutcome.UNCHANGED] >= 1, "some were"
        with Admin(mirror.config.target, Side.TARGET) as admin:
            found = admin.groups.offsets(groups)
        place = TopicPartition(TopicName(mirror.topic), 0)
        assert {each: found[each][place].offset for each in groups} == dict.fromkeys(groups, 11)
        assert sync.once(gone=True).outcomes == {PositionOutcome.UNCHANGED: len(groups)}


def test_a_lost_answer_is_looked_at_before_anything_else(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("lost"))
    mirror.create()
    produce(source.bootstrap, mirror.topic, [Record(b"k", b"v")] * 20)
    mirror.catch_up()
    write, offsets = GroupAdmin.write, GroupAdmin.offsets
    away = UnreachableError("target", "writing", "the connection was lost")

    def lost(admin: GroupAdmin, wanted: Any, known: Any = None) -> Any:
        write(admin, wanted, known)
        raise away

    def silent(admin: GroupAdmin, groups: Any, known: Any = None) -> Any:
        if GroupAdmin.write is lost_and_silent:
            return Answers({}, dict.fromkeys(groups, away))
        return offsets(admin, groups, known)

    def lost_and_silent(admin: GroupAdmin, wanted: Any, known: Any = None) -> Any:
        monkeypatch.setattr(GroupAdmin, "offsets", silent)
        return lost(admin, wanted, known)

    with syncing(mirror) as sync:
        (group,) = stand(mirror, 1, 3)
        assert sync.once().good
        stand(mirror, 1, 5)
        monkeypatch.setattr(GroupAdmin, "write", lost)
        (read_back,) = sync.once().positions
        assert read_back.outcome is PositionOutcome.CONFIRMED, "the target has it"

        stand_at = standing(target, group.name, mirror.topic)
        assert stand_at == (5, "")
        monkeypatch.setattr(GroupAdmin, "write", write)
        stand(mirror, 1, 9)
        monkeypatch.setattr(GroupAdmin, "write", lost_and_silent)
        report = sync.once()
        (unknown,) = report.positions
        assert unknown.outcome is PositionOutcome.UNKNOWN
        assert "may have been written, as the answer was lost: target: writing" in str(
            unknown.reason
        )
        assert not report.good
        monkeypatch.undo()
        (looked_at,) = sync.once().positions
        assert looked_at.outcome is PositionOutcome.UNCHANGED


@pytest.mark.soak
@pytest.mark.alone
def test_a_coordinator_that_is_frozen_stops_no_other_group(
    tmp_path: Path, source: LocalCluster, three: LocalCluster, new_name: Callable[[str], str]
) -> None:
    mirror = Mirror(tmp_path, source, three, new_name("frozen"))
    mirror.create()
    produce(source.bootstrap, mirror.topic, [Record(b"k", b"v")] * 20)
    mirror.catch_up()
    with syncing(mirror) as sync:
        groups = stand(mirror, 30, 3)
        assert sync.once().good
        with Admin(mirror.config.target, Side.TARGET) as admin:
            listed = admin.groups.listed().groups
        at = {each: listed[each.name].coordinator.id for each in groups}
        frozen = max(at.values())
        others = {each for each in groups if at[each] != frozen}
        assert others, "groups have several coordinators"
        stand(mirror, 30, 9)

        def settled() -> set[ClientGroup]:
            try:
                report = sync.once()
            except ClusterError:  # the ledger had its leader there, too
                return set()
            left = [each for each in report.positions if not each.settled]
            assert all(each.reason is not None for each in left)
            return {each.group for each in report.positions if each.settled}

        three.pause(frozen)
        try:
            wait_until(lambda: settled() >= others, "the others are brought over", 90)
        finally:
            three.resume(frozen)
        wait_until(lambda: settled() == {*groups}, "the coordinator is back", 90)
        assert {standing(three, each.name, mirror.topic) for each in groups} == {(9, "")}


def test_a_group_that_no_broker_lists_just_now_is_not_set_back(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("unlisted"))
    mirror.create()
    produce(source.bootstrap, mirror.topic, [Record(b"k", b"v")] * 20)
    mirror.catch_up()
    (group,) = stand(mirror, 1, 5)
    commit(target.bootstrap, group.name, mirror.topic, 0, 15)
    with open_link(mirror.config) as link:
        # So it is for a moment where its coordinator moves from one broker to another.
        setattr(link.target.groups, "listed", lambda: GroupListing({}, {}))  # noqa: B010
        report = GroupSync(link, GroupsConfig(include=(f"{mirror.topic}-.*",))).once()
    assert [str(each.reason.code) for each in report.positions if each.reason] == ["GROUP_AHEAD"]
    assert standing(target, group.name, mirror.topic) == (15, "")
