"""Share groups of Kafka's own clients: what they have accepted, and what comes again."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.kafka import Record, produce
from tests.support.mirror import Mirror
from towpath.dev import distribution
from towpath.engine import java
from towpath.groups.group_standings import look_at_groups
from towpath.groups.sync import GroupSync
from towpath.ledger.link import open_link
from towpath.ledger.offsets import Exactness
from towpath.model.groups import ClientGroup, Commit, GroupKind
from towpath.model.nouns import TopicName, TopicPartition

pytestmark = [pytest.mark.broker, pytest.mark.soak]
_PROGRAM = Path(__file__).parents[1] / "support" / "java" / "ShareMember.java"


def read(cluster: SharedCluster, group: str, topic: str, most: int, *released: int) -> list[int]:
    """Return the offsets that a member of a share group gets; it accepts all but `released`."""
    command = [
        str(java.find()), "-Xmx128m", "-XX:TieredStopAtLevel=1",
        "-cp", f"{distribution.fetch()}/*", str(_PROGRAM),
        cluster.bootstrap, group, topic, str(most), "20", *map(str, released),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=180)
    return [int(line) for line in done.stdout.split()]


@pytest.mark.parametrize("version", ["4.3.1", "4.4.0"])
def test_what_a_share_group_accepted_comes_again_only_as_it_is_told(
    tmp_path: Path,
    version: str,
    target: SharedCluster,
    old: Callable[[str], SharedCluster],
    new_name: Callable[[str], str],
) -> None:
    source = old(version)
    mirror = Mirror(tmp_path, source, target, new_name("shared"))
    name, done, holes = mirror.topic, f"{mirror.topic}-done", f"{mirror.topic}-holes"
    mirror.sections = f"groups:\n  include: ['{name}-.*']\n"
    mirror.create()
    produce(source.bootstrap, name, [Record(b"k", b"v")] * 10)
    assert read(source, done, name, 10) == list(range(10))
    assert read(source, holes, name, 10, 4, 5) == list(range(10))
    mirror.catch_up()
    with open_link(mirror.config) as link:
        sync = GroupSync(link)
        first = {each.group.name: each for each in sync.once().positions}
        outcomes = [(first[each].outcome, first[each].reason) for each in (done, holes)]
        assert outcomes == [("CONFIRMED", None)] * 2
        answers = {group: first[group].answer for group in (done, holes)}
        told = {group: (at.offset, at.exactness) for group, at in answers.items() if at is not None}
        start = told[holes][0]
        assert start in {0, 4}, "it may not be written yet that 0 to 3 are accepted"
        assert told == {done: (10, Exactness.EXACT), holes: (start, Exactness.BOUNDED)}
        assert [first[each].again for each in (done, holes)] == [0, 8 - start]
        seen = look_at_groups(mirror.config)
        lags = {each.group.name: seen.lag(each).source.records for each in seen.report.positions}
        assert lags == {done: 0, holes: 2}, "as the broker says"

        produce(source.bootstrap, name, [Record(b"k", b"v")] * 5)
        mirror.catch_up()
        again = {each.group.name: each for each in sync.once().positions}
        assert again[done].source == 10, "its start offset may still be 0"
        assert [each.reason for each in again.values()] == [None, None]
    assert read(target, done, name, 5) == list(range(10, 15)), "none twice, none passed over"
    rest = list(range(start, 15))
    assert read(target, holes, name, len(rest)) == rest, "all that it had released, too"


def test_a_share_group_that_was_set_back_passes_over_nothing(
    tmp_path: Path,
    target: SharedCluster,
    old: Callable[[str], SharedCluster],
    new_name: Callable[[str], str],
) -> None:
    """Both were all accepted once, set back, and have accepted since, with holes.

    One has accepted more than before, the other as many: start and lag alone are those of a group
    that has only rested.
    """
    source = old("4.4.0")
    mirror = Mirror(tmp_path, source, target, new_name("back"))
    name, on = mirror.topic, f"{mirror.topic}-on"
    same = ClientGroup(f"{name}-same", GroupKind.SHARE)
    group = ClientGroup(f"{name}-back", GroupKind.SHARE)
    mirror.sections = f"groups:\n  include: ['{name}-.*']\n"
    mirror.create()
    produce(source.bootstrap, name, [Record(b"k", b"v")] * 10)
    for each in (group.name, on, same.name):
        assert read(source, each, name, 10) == list(range(10))
    mirror.catch_up()
    with open_link(mirror.config) as link:
        sync = GroupSync(link)
        first = [(each.source, each.reason) for each in sync.once(last=True).positions]
        assert first == [(10, None)] * 3
        tp = TopicPartition(TopicName(name), 0)
        link.source.groups.write({each: {tp: Commit(0)} for each in (group, same)})
        produce(source.bootstrap, name, [Record(b"k", b"v")] * 5)
        mirror.catch_up()
        assert read(source, group.name, name, 15, 4) == list(range(15))
        assert read(source, on, name, 5, 12) == list(range(10, 15))
        assert read(source, same.name, name, 15, *range(4, 9)) == list(range(15))
        again, further, equal = sync.once().positions
        assert (further.reason, 10 <= further.source <= 12) == (None, True), "it was not set back"
        assert again.source <= 4, "offset 4 was released"
        assert equal.source <= 4, "offsets 4 to 8 were released"
        assert equal.again == 10 - equal.source
