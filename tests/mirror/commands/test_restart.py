"""`towpath restart`: source topics that were deleted and created again are copied anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.copying.chaos import delete_topic
from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, produce
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.ledger.link import open_link
from towpath.plan.lease import Lease

NewName = Callable[[str], str]


@pytest.fixture
def mirror(tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName) -> Mirror:
    return Mirror(tmp_path, source, target, new_name("again"))


def made_again(mirror: Mirror) -> None:
    """Copy a topic, then delete it and create it again at the source, with another record."""
    boot = mirror.source.bootstrap
    produce(boot, mirror.topic, [Record(b"k", b"old")] * 5)
    mirror.catch_up()
    delete_topic(boot, mirror.topic)
    create_topic(boot, mirror.topic)
    produce(boot, mirror.topic, [Record(b"k", b"new")])
    mirror.catch_up()


def values(mirror: Mirror) -> list[bytes | None]:
    return [each.value for each in consume(mirror.target.bootstrap, mirror.topic)]


def states(file: str, here: Here) -> list[str]:
    return [row["state"] for row in here("status", file, "--output", "json").json["partitions"]]


@pytest.mark.broker
def test_the_mirror_topic_is_kept_and_the_new_records_come_behind(
    mirror: Mirror, here: Here
) -> None:
    mirror.create()
    made_again(mirror)
    file = str(mirror.folder / f"{mirror.topic}.yaml")
    assert values(mirror) == [b"old"] * 5
    status = here("status", file)
    advice = f"`towpath restart FILE --topics {mirror.topic}` copies the new one"
    assert (status.code, advice in " ".join(status.out.split())) == (3, True), status.said
    unsure = here("restart", file, "--topics", mirror.topic)
    assert (unsure.code, "choose --keep" in unsure.err) == (2, True)
    theirs = here("restart", file, "--topics", mirror.topic, "--replace", "--yes")
    assert (theirs.code, "this link did not create mirror topic" in theirs.out) == (3, True)
    unasked = here("restart", file, "--topics", mirror.topic, "--keep")
    assert (unasked.code, "behind the 5 offsets of the old topic" in unasked.err) == (2, True)
    assert here("restart", file, "--topics", mirror.topic, "--keep", "--yes").code == 0
    mirror.catch_up()
    assert values(mirror) == [*[b"old"] * 5, b"new"]
    assert states(file, here) == ["caught up"]
    status = here("status", file)
    assert status.code == 0, status.said
    assert "accepted that at 20" in " ".join(status.out.split())
    again = here("restart", file, "--topics", mirror.topic, "--keep", "--yes")
    assert (again.code, "there is nothing to restart" in again.out) == (3, True)
    assert "is copied from its beginning again" in here("history", file).out


@pytest.mark.broker
def test_the_mirror_topic_is_replaced(mirror: Mirror, here: Here) -> None:
    create_topic(mirror.source.bootstrap, mirror.topic)
    file = str(mirror.folder / f"{mirror.topic}.yaml")
    assert mirror.config.link == mirror.topic
    assert here("apply", file, "--yes").code == 0
    made_again(mirror)
    with open_link(mirror.config) as link, Lease(link, "run"):
        beside = here("restart", file, "--topics", mirror.topic, "--replace")
    assert (beside.code, "towpath run` changes the target" in beside.err) == (4, True), beside.said
    assert "did not write" not in beside.said
    done = here("restart", file, "--topics", mirror.topic, "--replace", "--yes")
    assert done.code == 0, done.said
    assert f"delete mirror topic {mirror.topic} with the 5 offsets of the old topic" in " ".join(
        done.err.split()
    )
    assert here("apply", file, "--yes").code == 0
    between = here("status", file)
    assert "TARGET_LOST" not in between.said, "the empty mirror topic is another one"
    mirror.catch_up()
    assert values(mirror) == [b"new"]
    assert mirror.books().receipt is not None
    assert here("status", file).code == 0
    assert states(file, here) == ["caught up"]
