"""What open transactions hold back is told by `status` and `verify`, on real brokers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.support.here import MASTER, Here
from tests.support.kafka import Record, consume, produce
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster

pytestmark = [pytest.mark.broker, pytest.mark.spark]

PATIENCE = 30
LONG_AGO = 1_000_000_000_000


@contextmanager
def open_transaction(bootstrap: str, topic: str) -> Iterator[None]:
    """Have one record in an open transaction, which commits in the end."""
    configs = {"transactional.id": topic, "transaction.timeout.ms": 900_000}
    producer = Producer({"bootstrap.servers": bootstrap, **configs})
    producer.init_transactions(PATIENCE)
    producer.begin_transaction()
    # An old time is no proof that it hangs, as its coordinator knows it.
    producer.produce(topic, b"open", partition=0, timestamp=LONG_AGO)
    assert producer.flush(PATIENCE) == 0
    yield
    producer.commit_transaction(PATIENCE)


def test_caught_up_and_equal_tell_what_is_behind_an_open_transaction(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    here: Here,
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("open"))
    mirror.create()
    topic, file = mirror.topic, str(mirror.folder / f"{mirror.topic}.yaml")
    produce(source.bootstrap, topic, [Record(None, b"%d" % n) for n in range(20)])
    mirror.catch_up()
    with open_transaction(source.bootstrap, topic):
        produce(source.bootstrap, topic, [Record(None, b"%d" % n) for n in range(30)])
        remark = f"{topic}-0: offsets 20 to 50 are behind an open transaction of producer "
        told = json.loads(here("status", file, "--output", "json").out)
        assert told["totals"]["unstable"] == 31
        [row] = told["partitions"]
        assert (row["state"], row["unstable"]) == ("caught up", 31)
        known = row["open_transaction"]
        assert (known["first"], known["offsets"], known["hangs"]) == (20, 31, False)
        assert (known["transactional_id"], known["last_timestamp"]) == (topic, LONG_AGO)
        report = tmp_path / "report.json"
        ended = here.on_spark("verify", file, *MASTER, "--report", str(report))
        assert ended.code == 0, ended.said
        assert remark in ended.out
        assert f"is that of transactional id {topic} (producer " in ended.out
        assert "31 more offsets behind open transactions not compared" in ended.out
        told = json.loads(report.read_text())
        assert (told["equal"], told["unstable"]) == (True, 31)
        assert told["partitions"][0]["open_transaction"] == known
    mirror.catch_up()
    told = json.loads(here("status", file, "--output", "json").out)
    assert (told["totals"]["unstable"], told["partitions"][0]["open_transaction"]) == (0, None)
    assert len(consume(target.bootstrap, topic)) == 51
