"""The loop of a run: it goes on behind every trouble."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clients.groups import standing
from tests.support.kafka import Record, commit, produce, wait_until
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.groups.loop import GroupLoop
from towpath.groups.model import SyncReport
from towpath.groups.sync import GroupSync
from towpath.model.errors import UnreachableError
from towpath.model.nouns import TopicName
from towpath.settings import GroupsConfig, LinkConfig

pytestmark = pytest.mark.broker


def with_groups(mirror: Mirror, **options: object) -> LinkConfig:
    groups = {"include": [f"{mirror.topic}-.*"], "interval": "1s", **options}
    return mirror.config.model_copy(update={"groups": GroupsConfig.model_validate(groups)})


def test_a_loop_follows_a_group_and_survives_every_error(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = TopicName(new_name("loop"))
    mirror = Mirror(tmp_path, source, target, name)
    mirror.create()
    produce(source.bootstrap, name, [Record(b"k", b"v")] * 20)
    mirror.catch_up()
    group, reports = f"{name}-g", list[SyncReport]()
    commit(source.bootstrap, group, name, 0, 3)
    once, wrong = GroupSync.once, list[Exception]()

    def failing(sync: GroupSync, *, last: bool = False) -> SyncReport:
        if wrong:
            raise wrong[0]
        return once(sync, last=last)

    monkeypatch.setattr(GroupSync, "once", failing)
    config = with_groups(mirror)
    assert config.groups is not None
    loop = GroupLoop(config, reports.append, interval=0.1)
    loop.start()
    try:
        wait_until(lambda: standing(target, group, name) == (3, ""), "the first sync wrote")
        for error in (UnreachableError("source", "asking", "no answer"), KeyError("a fault")):
            wrong[:] = [error]
            wait_until(lambda: str(wrong[0]) in "".join(loop.troubles), "the trouble is told")
            wrong.clear()
            wait_until(lambda: not loop.troubles, "the trouble is over")
        commit(source.bootstrap, group, name, 0, 9)
        wait_until(lambda: standing(target, group, name) == (9, ""), "a later sync wrote")
        commit(source.bootstrap, group, name, 0, 15)
        loop.finish()
        assert standing(target, group, name) == (15, "")
    finally:
        loop.close()
