"""Members that join at the source after their group has moved are told from those of before."""

from __future__ import annotations

import pytest

from tests.support.clients.gateways import go_on, promoted, served
from tests.support.clients.moving import PARTITIONS, Traffic
from tests.support.clients.quick_links import light_run
from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, produce, wait_until
from tests.support.links import Link, wait_for_end
from towpath.gateway.promotion.late_members import JoinedLate


class Clock:
    """A clock that stands still."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_members_of_before_may_linger_and_new_ones_are_named_once() -> None:
    clock = Clock()
    joined = JoinedLate(clock)
    assert joined.look({"g"}, {"g": ["old"]}) == {}
    clock.now = 10
    assert joined.look({"g"}, {"g": ["old", "new"]}) == {"g": ["new"]}
    assert joined.look({"g"}, {"g": ["old", "new"]}) == {"g": ["new"]}, "nobody was told yet"
    joined.told({"g": ["new"]})
    assert joined.look({"g"}, {"g": ["old", "new"]}) == {}
    clock.now = 299
    assert joined.look({"g"}, {"g": ["old", "new"]}) == {}
    clock.now = 301
    assert joined.look({"g"}, {"g": ["old", "new"]}) == {"g": ["old"]}, "no session lasts so long"


def test_a_group_that_was_empty_when_it_was_looked_at_has_no_members_of_before() -> None:
    joined = JoinedLate(Clock())
    assert joined.look({"g"}, {}) == {}
    assert joined.look({"g"}, {"g": ["late"]}) == {"g": ["late"]}


def test_where_groups_are_empty_when_they_move_each_is_late() -> None:
    joined = JoinedLate(Clock())
    assert joined.look({"g"}, {"g": ["late"]}, empty_before=True) == {"g": ["late"]}


def test_one_that_left_and_came_again_is_named_again() -> None:
    joined = JoinedLate(Clock())
    joined.look({"g"}, {})
    joined.told(joined.look({"g"}, {"g": ["m"]}))
    assert joined.look({"g"}, {}) == {}
    assert joined.look({"g"}, {"g": ["m"]}) == {"g": ["m"]}


def test_a_group_that_went_back_and_moved_again_begins_anew() -> None:
    joined = JoinedLate(Clock())
    joined.look({"g"}, {})
    assert joined.look(set(), {}) == {}
    assert joined.look({"g"}, {"g": ["of before"]}) == {}


@pytest.mark.broker
@pytest.mark.soak
@pytest.mark.timeout(900)
def test_who_reads_and_writes_at_the_source_afterwards_is_named(
    gateway_link: Link, here: Here
) -> None:
    link = gateway_link
    topic = create_topic(link.source.bootstrap, f"{link.name}.moved", PARTITIONS)
    gateway, run = served(link), light_run(link)
    traffic, late = (
        Traffic(each, topic) for each in (link.gateway.split("'")[1], link.source.bootstrap)
    )
    group = f"{link.name}-classic"
    often = {"heartbeat.interval.ms": 500, "session.timeout.ms": 6000}
    try:
        traffic.write(0)
        traffic.join(group, **often)
        go_on(traffic, group)
        wait_for_end(link.target, topic, 20, run)
        promoted(here, link)
        run.stop()
        go_on(traffic, group)
        none = here("salvage", "keep", str(link.file), "-o", "json")
        assert (none.code, none.json["records"]) == (0, 0), none.said
        assert "PROMOTE_GROUP_STRAY" not in gateway.said, "members of before are none"
        late.join(group, **often)
        wait_until(lambda: "PROMOTE_GROUP_STRAY" in gateway.said, "it is named", 120)
        assert "of group" in gateway.said
        assert "127.0.0.1" in gateway.said.partition("PROMOTE_GROUP_STRAY")[2]
        late.close()
        produce(link.source.bootstrap, topic, [Record(b"k", b"stray %d" % n) for n in range(7)])
        wait_until(lambda: "PROMOTE_STRAY" in gateway.said, "it is named", 120)
        assert "`towpath salvage keep FILE`" in gateway.said
        kept = here("salvage", "keep", str(link.file), "-o", "json")
        assert (kept.code, kept.json["records"]) == (0, 7), kept.said
        told = here("status", str(link.file))
        assert "all of it is kept aside" in told.said, told.said
        done = here("salvage", "replay", str(link.file), "--all", "--yes", "-o", "json")
        assert (done.code, done.json["left"]) == (0, 0), done.said
        go_on(traffic, group)
        traffic.end_writing()
    finally:
        for each in (late, traffic):
            each.close()
    values = [each.value or b"" for each in consume(link.target.bootstrap, topic)]
    assert [each for each in values if each.startswith(b"stray")] == [
        b"stray %d" % n for n in range(7)
    ]
