"""Share groups and Streams groups at the cut of a link that copies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.copying.quarantine import begin
from tests.support.cutovers import NOW
from tests.support.here import Here
from tests.support.kafka import Record, commit, produce, wait_until
from tests.support.messages import share_group, streams_group
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.model.groups import ClientGroup, GroupKind
from towpath.model.nouns import Side, TopicName, TopicPartition

pytestmark = [pytest.mark.soak, pytest.mark.broker, pytest.mark.spark]


def test_share_groups_and_streams_groups_go_on_at_the_cut(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    here: Here,
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("cutkinds"), sections="groups: {}\n")
    name = TopicName(mirror.topic)
    mirror.create()
    produce(source.bootstrap, name, [Record(b"k", b"%d" % n) for n in range(10)])
    place = TopicPartition(name, 0)
    groups = {
        ClientGroup(f"{name}-done", GroupKind.SHARE): 10,
        ClientGroup(f"{name}-behind", GroupKind.SHARE): 4,
        ClientGroup(f"{name}-streams", GroupKind.STREAMS): 6,
        ClientGroup(f"{name}-plain"): 7,
    }
    with Admin(mirror.config.source, Side.SOURCE) as admin:
        share_group(admin, f"{name}-done", name, 10)
        share_group(admin, f"{name}-behind", name, 4)
        streams_group(admin, f"{name}-streams", name)
        commit(source.bootstrap, f"{name}-streams", name, 0, 6)
        commit(source.bootstrap, f"{name}-plain", name, 0, 7)
        wanted = {group: {place: at} for group, at in groups.items()}
        wait_until(lambda: wanted.items() <= admin.groups.commits().items(), "all are there")
    begin(mirror)
    file = str(tmp_path / f"{mirror.config.link}.yaml")
    assert here.run(file, "--until-caught-up").code == 0
    rehearsed = here("cutover", file, "--dry-run", *NOW)
    assert rehearsed.code == 0, rehearsed.said
    classic = f"streams group {name}-streams: it is a streams group at the source and a classic one"
    assert classic in " ".join(rehearsed.out.split())
    ended = here("cutover", file, *NOW)
    assert ended.code == 0, ended.said
    said = " ".join(ended.out.split())
    assert classic in said
    assert "where 4 groups of consumers go on" in said
    with Admin(mirror.config.target, Side.TARGET) as admin:
        found = {each: dict(at) for each, at in admin.groups.commits().items()}
    streams = groups.pop(ClientGroup(f"{name}-streams", GroupKind.STREAMS))
    arrived = groups | {ClientGroup(f"{name}-streams"): streams}
    own = {each: at for each, at in found.items() if each.name.startswith(name)}
    assert own == {each: {place: at} for each, at in arrived.items()}
