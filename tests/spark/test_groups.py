"""A run brings groups over while it copies, and once more at its end, and metrics say so."""

from __future__ import annotations

import pytest

from tests.support.clients.groups import rest, standing
from tests.support.here import Here
from tests.support.kafka import Record, commit, create_topic, produce, wait_until
from tests.support.links import Link
from tests.support.pages.scrape import Scrape
from towpath.dev import ports

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.timeout(300)]


def test_groups_follow_while_a_run_copies(link: Link, here: Here) -> None:
    source, target, topic = link.source, link.target, f"{link.name}.orders"
    group = f"{link.name}-billing"
    (port,) = ports.reserve(1)
    link.listen = f"127.0.0.1:{port}"
    link.groups = f"{{include: ['{link.name}-.*'], interval: 1s}}"

    def write(first: int) -> None:
        records = [Record(b"k", str(n).encode()) for n in range(first, first + 10)]
        produce(source.bootstrap, topic, records, {"transactional.id": f"{link.name}-t"})

    def outcomes() -> dict[tuple[str, ...], float]:
        return Scrape(link.listen).of("towpath_group_positions")

    create_topic(source.bootstrap, topic)
    write(0)
    run = link.run_inside()
    link.wait_for(run, topic, 0, 120)
    commit(source.bootstrap, group, topic, 0, 4)
    wait_until(lambda: standing(target, group, topic) == (4, ""), "the group is brought over", 60)
    wait_until(lambda: sum(outcomes().values()) == 1, "the metrics say so")
    got = Scrape(link.listen)
    assert (got.get("towpath_groups_sync_age_seconds") or 999) < 60
    assert (got.get("redpanda_migrator_cg_offsets_committed_total", group=group) or 0) >= 1
    write(10)
    commit(source.bootstrap, group, topic, 0, 15)
    wait_until(lambda: standing(target, group, topic) == (15, ""), "the group moves on", 60)
    run.stop()

    write(20)
    commit(source.bootstrap, group, topic, 0, 24)
    done = here.run(str(link.file), "--until-caught-up")
    assert done.code == 0, done.said
    assert standing(target, group, topic) == (24, ""), "once more at the end of the run"
    # Offsets 10 and 21 are markers: offset 24 is record 22.
    assert rest(target, group, topic) == [str(n).encode() for n in range(22, 30)]
