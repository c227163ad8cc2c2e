"""From when on a target counts the retention of offsets, and what is said of it. Pure."""

from __future__ import annotations

import pytest

from towpath.cluster.admin.groups import GroupState
from towpath.cluster.metadata import Broker
from towpath.groups.keeping import expiry, holds_until, is_overdue
from towpath.groups.kinds import arrives_classic
from towpath.groups.model import Expiry, GroupReport, SyncReport
from towpath.mirror.show.groups_picture import held_lines
from towpath.model.groups import ClientGroup, GroupKind

BROKER = Broker(1, "b", 9092)
DAY = 86_400_000


def state(state: str, type_: str = "classic", protocol: str = "") -> GroupState:
    return GroupState(ClientGroup("g"), state, type_, BROKER, protocol)


def report(name: str = "g", committed: int = 0, expires: Expiry = Expiry.BY_COMMIT) -> GroupReport:
    return GroupReport(
        group=ClientGroup(name),
        mirror_group=name,
        source_state="Empty",
        target_state="Empty",
        at=0,
        positions=(),
        committed=committed,
        expires=expires,
    )


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        (None, Expiry.BY_COMMIT),
        (state("Empty"), Expiry.BY_COMMIT),
        (state("Empty", protocol="consumer"), Expiry.SINCE_EMPTY),
        (state("", "", "consumer"), Expiry.SINCE_EMPTY),
        (state("Empty", "Classic", "consumer"), Expiry.SINCE_EMPTY),
        (state("Empty", "consumer", "consumer"), Expiry.BY_COMMIT),
        (state("Empty", "streams", "streams"), Expiry.BY_COMMIT),
        (state("Stable", "classic", "consumer"), Expiry.WITH_MEMBERS),
    ],
)
def test_the_retention_of_each_type_counts_from_its_own_time(
    there: GroupState | None, expected: Expiry
) -> None:
    assert expiry(GroupKind.CONSUMER, there) is expected
    assert expiry(GroupKind.SHARE, there) is Expiry.NEVER


def test_what_was_committed_holds_for_the_retention_and_is_overdue_then() -> None:
    known = report(committed=5 * DAY)
    assert holds_until(known, DAY) == 6 * DAY
    assert [is_overdue(known, DAY, at) for at in (6 * DAY - 1, 6 * DAY)] == [False, True]
    assert holds_until(known, -1) is None, "the target does not tell its retention"
    assert holds_until(report(), DAY) is None, "nobody knows when it was committed"
    assert holds_until(report(committed=5 * DAY, expires=Expiry.SINCE_EMPTY), DAY) is None


def test_people_are_told_the_first_time_at_which_offsets_may_go() -> None:
    groups = (report("b", 2 * DAY), report("a", DAY), report("c", expires=Expiry.NEVER))
    (line,) = held_lines(SyncReport(at=0, groups=groups, retention=7 * DAY))
    assert line == (
        "the target keeps the offsets of a and 1 other until 1970-01-09T00:00:00Z at least"
        " (offsets.retention.minutes 10080): start their clients before"
    )
    assert not [*held_lines(SyncReport(at=0, groups=groups))]


def test_groups_of_newer_protocols_are_classic_until_they_are_made() -> None:
    empty, joined = state("Empty"), state("Stable")
    newer = state("Empty", "Consumer", "consumer")
    assert arrives_classic("consumer", None, writes=True)
    assert not arrives_classic("consumer", None, writes=False)
    assert arrives_classic("streams", empty, writes=True)
    assert not arrives_classic("consumer", joined, writes=True), "its members are others'"
    assert not arrives_classic("consumer", newer, writes=True)
    assert not arrives_classic("classic", empty, writes=True)
    assert not arrives_classic("", None, writes=True), "its type is not known"
