"""Files of Redpanda Connect against real clusters, as they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.support.here import Here
from tests.support.kafka import Record, commit, consume, create_topic, produce
from towpath.dev.broker import LocalCluster

NewName = Callable[[str], str]


def committed(bootstrap: str, group: str, topic: str) -> int:
    """Return where a group stands in the first partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    try:
        [place] = consumer.committed([TopicPartition(topic, 0)], 10)
    finally:
        consumer.close()
    return int(place.offset)


@pytest.mark.broker
@pytest.mark.spark
def test_a_file_of_connect_is_run_as_it_is(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName, here: Here
) -> None:
    name = new_name("connect")
    mover = f"{name}-mover"
    begun, fresh = f"{name}.begun", f"{name}.fresh"
    for topic in (begun, fresh):
        create_topic(source.bootstrap, topic)
        produce(source.bootstrap, topic, [Record(b"k%d" % n, b"v%d" % n) for n in range(10)])
    commit(source.bootstrap, mover, begun, 0, 4)  # as far as Connect had come
    path = tmp_path / "connect.yaml"
    path.write_text(
        f"""
input:
  label: moved
  redpanda_migrator:
    seed_brokers: ["{source.bootstrap}"]
    regexp_topics_include: ["^{name}[.]"]
    consumer_group: {mover}
output:
  label: moved
  redpanda_migrator:
    seed_brokers: ["{target.bootstrap}"]
    topic: 'to_${{! @kafka_topic.replace_all(".", "-").uppercase() }}'
    headers: {{team: blue}}
"""
    )
    plan = here("plan", str(path), "--output", "json")
    assert plan.code == 0, plan.said
    run = here.run(str(path), "--until-caught-up")
    assert run.code == 0, run.said
    cluster = json.loads(plan.out)["source"]["id"]
    for topic, first in ((begun, 4), (fresh, 0)):
        copies = consume(target.bootstrap, "to_" + topic.replace(".", "-").upper())
        assert [each.value for each in copies] == [b"v%d" % n for n in range(first, 10)]
        headers = dict(copies[0].headers)
        assert headers["redpanda-migrator-provenance"] == cluster.encode()
        assert headers["redpanda-migrator-offset"] == first.to_bytes(8, "big")
        assert headers["team"] == b"blue"
        assert committed(source.bootstrap, mover, topic) == 10  # where Connect would go on
    status = here("status", str(path), "--output", "json")
    assert status.code == 0, status.said
    assert json.loads(status.out)["link"].startswith("moved-")
