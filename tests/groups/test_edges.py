"""Positions at the edges of logs, and groups with troubles of their own, on real brokers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clients.groups import standing
from tests.support.kafka import Record, create_topic, delete_before, produce, wait_until
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.groups.loop import GroupLoop
from towpath.groups.model import GroupPosition, PositionOutcome
from towpath.groups.sync import GroupSync
from towpath.ledger.link import open_link
from towpath.ledger.offsets import Exactness
from towpath.model.groups import ClientGroup, Commit
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.settings import GroupsConfig

pytestmark = pytest.mark.broker
EMPTY, FULL, CUT, BEHIND = range(4)
"""Partitions: one without records, one with 20, and those that lost their first 10 at the source,
and on the target."""


def stand(cluster: Mirror, group: str, *places: tuple[str, int, int]) -> ClientGroup:
    """Let a group of the source stand at these offsets of topics and partitions."""
    made = ClientGroup(group)
    commits = {TopicPartition(TopicName(t), p): Commit(offset) for t, p, offset in places}
    with Admin(cluster.config.source, Side.SOURCE) as admin:
        done = admin.groups.write({made: commits})
        assert not done[made].failed
    return made


def told(position: GroupPosition) -> tuple[str, str, int]:
    """Return the outcome or the reason, how exact the answer is, and the offset."""
    answer = position.answer
    assert answer is not None
    word = position.reason.code if position.reason is not None else position.outcome
    return str(word), str(answer.exactness), answer.offset


def test_positions_at_every_edge_of_a_log(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> None:
    name = TopicName(new_name("edges"))
    beside = create_topic(source.bootstrap, new_name("beside"))
    mirror = Mirror(tmp_path, source, target, name)
    mirror.create(4)
    for partition in (FULL, CUT, BEHIND):
        produce(source.bootstrap, name, [Record(b"k", b"v", partition=partition)] * 20)
    delete_before(source.bootstrap, name, 10, CUT)
    mirror.catch_up()
    delete_before(target.bootstrap, name, 10, BEHIND)
    exact, confirmed = str(Exactness.EXACT), "CONFIRMED"
    wanted = {
        "zero": (FULL, 0, (confirmed, exact, 0)),
        "end": (FULL, 20, (confirmed, exact, 20)),
        "ahead": (FULL, 21, ("POSITION_AHEAD", str(Exactness.NOT_YET), 20)),
        "empty": (EMPTY, 0, (confirmed, exact, 0)),
        "start": (CUT, 10, (confirmed, exact, 10)),
        # The records before were deleted at the source before the mirror began.
        "expired": (CUT, 4, (confirmed, str(Exactness.BEFORE_START), 10)),
        "gone": (BEHIND, 4, (confirmed, str(Exactness.LOST), 10)),
        "behind": (BEHIND, 15, (confirmed, exact, 15)),
    }
    for group, (partition, offset, _) in wanted.items():
        stand(mirror, f"{name}-{group}", (name, partition, offset))
    stand(mirror, f"{name}-both", (name, FULL, 7), (beside, 0, 3))
    stand(mirror, f"{name}-apart", (beside, 0, 3))
    with open_link(mirror.config) as link:
        sync = GroupSync(link, GroupsConfig(include=(f"{name}-.*",)))
        report = sync.once()
        assert report.good
        found = {position.group.name: position for position in report.positions}
        for group, (_, _, expected) in wanted.items():
            assert told(found[f"{name}-{group}"]) == expected, group
        both = {p.tp.topic: p for p in report.positions if p.group.name == f"{name}-both"}
        assert told(both[name])[0] == confirmed
        left = both[TopicName(beside)].reason
        assert left is not None
        assert left.code == "TOPIC_NOT_MIRRORED"
        assert f"{name}-apart" not in found, "it reads nothing that is mirrored"
        assert sync.once().outcomes[PositionOutcome.UNCHANGED] == len(wanted)
    assert standing(target, f"{name}-expired", name, CUT) == (10, "")


@pytest.mark.soak
@pytest.mark.alone
def test_a_loop_goes_on_when_the_target_was_away(
    tmp_path: Path, source: LocalCluster, lone: LocalCluster, new_name: Callable[[str], str]
) -> None:
    name = TopicName(new_name("away"))
    mirror = Mirror(tmp_path, source, lone, name, timeout="5s")
    mirror.create()
    produce(source.bootstrap, name, [Record(b"k", b"v")] * 20)
    mirror.catch_up()
    group = stand(mirror, f"{name}-g", (name, 0, 3))
    asked = GroupsConfig(include=(f"{name}-.*",))
    loop = GroupLoop(mirror.config.model_copy(update={"groups": asked}), lambda _: None, 0.2)
    loop.start()
    try:
        wait_until(lambda: standing(lone, group.name, name) == (3, ""), "the first sync wrote")
        lone.kill9(1)
        stand(mirror, group.name, (name, 0, 9))
        wait_until(lambda: "target" in "".join(loop.troubles), "the trouble is told", 60)
        lone.restart(1)
        wait_until(lambda: not loop.troubles, "the loop goes on", 60)
        wait_until(lambda: standing(lone, group.name, name) == (9, ""), "it wrote again", 60)
    finally:
        lone.restart(1)
        loop.close()
