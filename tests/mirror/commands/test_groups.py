"""`towpath groups` on real clusters: both sides there, and the target alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.here import Here
from tests.support.kafka import Record, commit, create_topic, produce
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster

pytestmark = pytest.mark.broker


@pytest.fixture
def grouped(
    source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str], tmp_path: Path
) -> Mirror:
    """Return a mirrored topic of two partitions that two groups read; none is on the target."""
    topic = new_name("grouped")
    for cluster in (source, target):
        create_topic(cluster.bootstrap, topic, 2)
    produce(source.bootstrap, topic, [Record(b"k", b"%d" % number) for number in range(10)])
    for group, partition, offset in (("billing", 0, 7), ("billing", 1, 0), ("mail", 0, 10)):
        commit(source.bootstrap, f"{topic}-{group}", topic, partition, offset)
    mirror = Mirror(tmp_path, source, target, topic)
    mirror.catch_up()
    return mirror


def file_of(mirror: Mirror) -> Path:
    return mirror.folder / f"{mirror.topic}.yaml"


def test_groups_are_listed_but_not_written_without_a_section(grouped: Mirror, here: Here) -> None:
    file = str(file_of(grouped))
    without = here("groups", "sync", file)
    assert without.code == 2
    assert "groups: is missing, so no group may be written" in without.err
    listed = here("groups", "ls", file)
    assert listed.code == 0, listed.said
    assert f"link {grouped.topic}: 2 groups" in listed.out
    assert "the file has no section `groups`" in listed.out
    unknown = here("groups", "status", file, "nobody")
    assert unknown.code == 2
    assert "no group 'nobody' with offsets in mirrored topics" in unknown.err
    odd = here("groups", "translate", file, f"{grouped.topic}-mail", "--partition", "orders")
    assert odd.code == 2
    assert "'orders' is no partition; name one such as orders-3" in odd.err


def test_groups_from_their_difference_to_the_target_alone(grouped: Mirror, here: Here) -> None:
    file, topic = file_of(grouped), grouped.topic
    group = f"{topic}-billing"
    section = f"groups: {{include: ['{topic}-.*'], rename: 'eu.{{group}}'}}\n"
    file.write_text(file.read_text() + section)
    apart = here("groups", "diff", str(file), "-o", "json")
    assert (apart.code, len(apart.json["groups"])) == (3, 2)
    dry = here("groups", "sync", str(file), "--dry-run", "-o", "json")
    assert (dry.code, dry.json["outcomes"]) == (0, {"NOT_ATTEMPTED": 3})
    assert all(each["due"] for of in dry.json["groups"] for each in of["positions"])
    done = here("groups", "sync", str(file))
    assert done.code == 0, done.said
    assert "positions: 3 CONFIRMED" in done.out
    assert here("groups", "diff", str(file)).code == 0
    of_one = here("groups", "status", str(file), group, "-o", "json")
    assert of_one.code == 0, of_one.said
    [told] = of_one.json["groups"]
    assert (told["mirror_group"], told["target_state"]) == (f"eu.{group}", "Empty")
    first, second = told["positions"]
    assert (first["target"], first["answer"]["exactness"]) == (7, "exact")
    assert (first["source_lag"]["records"], first["target_lag"]["records"]) == (3, 3)
    assert 0 < first["target_lag"]["seconds"] < 600
    assert second["source_lag"] == {"records": 0, "seconds": 0}
    shown = here("groups", "translate", str(file), group, "--at", "4", "--partition", f"{topic}-0")
    assert shown.code == 0, shown.said
    assert shown.out.split()[-4:] == [f"{topic}-0", "4", "4", "exact"]
    behind = here("groups", "translate", str(file), group, "--at", "11")
    assert behind.code == 3
    assert "mirrored up to offset 10 so far" in behind.out

    gone = file.read_text().replace(grouped.source.bootstrap, "127.0.0.1:1").replace("30s", "1s", 1)
    file.write_text(gone)
    alone = here("groups", "status", str(file))
    assert alone.code == 0, alone.said
    assert "the source cannot be asked" in alone.out
    assert "as the ledger saw the groups last, at 20" in alone.out
    left = here("groups", "translate", str(file), group, "-o", "json")
    assert left.code == 0, left.said
    assert [each["answer"]["offset"] for each in left.json["partitions"]] == [7, 0]
