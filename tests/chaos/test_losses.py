"""Elections at the target: clean ones lose nothing and alarm nobody, an unclean one is repaired."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clusters.elections import UNCLEAN, log_end, replicas
from tests.support.copying.chaos import Copiers, endless
from tests.support.here import MASTER, Here
from tests.support.kafka import Record, consume, create_topic, produce, wait_until
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.ledger.books import LinkBooks
from towpath.ledger.link import open_link
from towpath.mirror.status.losses import Losses, LostRecords
from towpath.mirror.status.partitions import status

pytestmark = [pytest.mark.broker, pytest.mark.soak]
NewName = Callable[[str], str]


def numbered(first: int, end: int) -> list[Record]:
    return [Record(b"k", b"%d" % i, (), 1_000 + i) for i in range(first, end)]


def test_no_election_is_taken_for_a_loss(
    tmp_path: Path,
    source: LocalCluster,
    three: LocalCluster,
    new_name: NewName,
    copiers: Copiers,
    rng: random.Random,
) -> None:
    mirror = Mirror(tmp_path, source, three, new_name("elected"))
    create_topic(source.bootstrap, mirror.topic)
    create_topic(three.bootstrap, mirror.topic, 1, {"min.insync.replicas": "2"}, 3)
    [work] = mirror.slices()
    copiers.start(endless(work))
    found: list[LostRecords] = []
    looks = 0
    over = threading.Event()

    def look() -> None:
        nonlocal looks
        losses = Losses(patient=False)
        while not over.is_set():
            with open_link(mirror.config) as link:
                books = LinkBooks(link.config.link)
                for entry in link.ledger.read(wanted=books.wants):
                    books.take(entry)
                rows = status(link.config, books, link.source, link.target, losses)
            found.extend(row.lost for row in rows if row.lost is not None)
            looks += 1

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for round_ in range(4):
            produce(source.bootstrap, mirror.topic, numbered(500 * round_, 500 * round_ + 500))
            time.sleep(rng.uniform(0.0, 1.0))
            victim = replicas(three, mirror.topic)[0]
            three.kill9(victim)
            time.sleep(rng.uniform(1.0, 4.0))
            three.restart(victim)
    finally:
        over.set()
        thread.join(90)
    assert looks > 4
    assert not found


@pytest.mark.spark
@pytest.mark.timeout(400)
def test_what_an_unclean_election_took_is_copied_again(
    tmp_path: Path, source: LocalCluster, three: LocalCluster, new_name: NewName, here: Here
) -> None:
    mirror = Mirror(tmp_path, source, three, new_name("unclean"))
    create_topic(source.bootstrap, mirror.topic)
    create_topic(three.bootstrap, mirror.topic, 1, UNCLEAN, 2)
    file = str(tmp_path / f"{mirror.topic}.yaml")
    produce(source.bootstrap, mirror.topic, numbered(0, 50))
    mirror.catch_up()
    leader, both, _ = replicas(three, mirror.topic)
    follower = next(each for each in both if each != leader)

    three.kill9(follower)
    produce(source.bootstrap, mirror.topic, numbered(50, 120))
    mirror.catch_up()
    three.kill9(leader)
    three.restart(follower)
    wait_until(lambda: replicas(three, mirror.topic)[0] == follower, "elected", 120)
    wait_until(lambda: log_end(three, mirror.topic) == 50, "it leads")
    told = here("status", file)
    assert "the log ends at offset 50" in told.said, told.said
    assert told.code == 3
    early = here("repair", file, "--topics", mirror.topic, "--yes", *MASTER, "-o", "json")
    assert (early.code, [each["cause"] for each in early.json["left"]]) == (3, ["replicas"])

    three.restart(leader)
    wait_until(lambda: len(replicas(three, mirror.topic)[2]) == 2, "in sync again", 120)
    done = here("repair", file, "--topics", mirror.topic, "--yes", *MASTER)
    assert done.code == 0, done.said
    assert consume(three.bootstrap, mirror.topic) == consume(source.bootstrap, mirror.topic)
    assert here("status", file).code == 0
