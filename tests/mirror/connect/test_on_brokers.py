"""Files of Redpanda Connect against real clusters, as they are."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.support.here import Here
from tests.support.kafka import Record, commit, consume, create_topic, produce
from tests.support.registries.registry import LocalRegistry, record
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
    headers: {{team: blue, from: "${{! @of }}"}}
pipeline:
  processors:
    - mapping: meta of = @kafka_topic.uppercase()
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
        assert (headers["team"], headers["from"]) == (b"blue", topic.upper().encode())
        assert committed(source.bootstrap, mover, topic) == 10  # where Connect would go on
    status = here("status", str(path), "--output", "json")
    assert status.code == 0, status.said
    assert json.loads(status.out)["link"].startswith("moved-")


@pytest.mark.soak
@pytest.mark.broker
@pytest.mark.spark(own=True)
def test_two_pairs_of_a_file_are_two_links(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName, here: Here
) -> None:
    name = new_name("pairs")
    sides = {"there": (source, target), "back": (target, source)}
    for label, (begin, _) in sides.items():
        create_topic(begin.bootstrap, f"{name}-{label}")
        produce(begin.bootstrap, f"{name}-{label}", [Record(b"k", label.encode())] * 5)
    inputs = "".join(
        f"""
      - label: {label}
        redpanda_migrator:
          seed_brokers: ["{begin.bootstrap}"]
          topics: ["{name}-{label}"]
          consumer_group: ""
"""
        for label, (begin, _) in sides.items()
    )
    outputs = "".join(
        f"""
      - label: {label}
        redpanda_migrator: {{seed_brokers: ["{end.bootstrap}"]}}
"""
        for label, (_, end) in sides.items()
    )
    path = tmp_path / "connect.yaml"
    path.write_text(
        f"input:\n  broker:\n    inputs:{inputs}\noutput:\n  broker:\n    outputs:{outputs}\n"
    )
    plan = here("plan", str(path))
    assert plan.code == 0, plan.said
    assert plan.out.index("pair there:") < plan.out.index("pair back:")
    words = [sys.executable, "-m", "towpath", "run", str(path), "--until-caught-up"]
    run = subprocess.run(
        [*words, "--master", "local[2]"], capture_output=True, text=True, check=False, timeout=300
    )
    assert run.returncode == 0, run.stdout + run.stderr
    links = set()
    for label, (_, end) in sides.items():
        copies = consume(end.bootstrap, f"{name}-{label}")
        assert [each.value for each in copies] == [label.encode()] * 5
        assert f"{label}: caught up" in run.stdout
        status = here("status", str(path), "--pair", label, "--output", "json")
        assert status.code == 0, status.said
        links.add(status.json["link"].rpartition("-")[0])
    assert links == {*sides}
    assert here("status", str(path)).code == 0


@pytest.mark.soak
@pytest.mark.broker
@pytest.mark.spark
def test_schemas_of_a_file_get_new_ids_and_names(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_registry: Callable[..., LocalRegistry],
    new_name: NewName,
    here: Here,
) -> None:
    ours, theirs = new_registry(), new_registry()
    for number in range(3):  # so that the same schemas get other ids
        theirs.register(f"before-{number}", record(f"Before{number}", "x"))
    name = new_name("registries")
    subject = f"{name}-value"
    ids = [ours.register(subject, record("Sold", "x"))]
    ours.ask("PUT", f"/config/{subject}", {"compatibility": "FULL"})
    ours.register("left-out", record("Other", "y"))
    create_topic(source.bootstrap, name)
    framed = [b"\0" + number.to_bytes(4, "big") + b"\6" for number in ids]
    produce(source.bootstrap, name, [Record(b"k", each) for each in (*framed, b"plain")])
    path = tmp_path / "connect.yaml"
    path.write_text(
        f"""
input:
  redpanda_migrator:
    seed_brokers: ["{source.bootstrap}"]
    topics: ["{name}"]
    consumer_group: ""
    schema_registry: {{url: "{ours.url}"}}
output:
  redpanda_migrator:
    seed_brokers: ["{target.bootstrap}"]
    schema_registry:
      url: "{theirs.url}"
      include: ["^{name}"]
      subject: 'eu-${{! @schema_registry_subject }}'
      translate_ids: true
      strict: true
"""
    )
    assert here("lint", str(path)).code == 0
    run = here.run(str(path), "--until-caught-up")
    assert run.code == 0, run.said
    made = theirs.version(f"eu-{subject}")
    assert made["id"] not in ids
    assert theirs.level(f"eu-{subject}") == "FULL"
    assert not any("left-out" in name for name, _ in theirs.schemas())
    values = [each.value for each in consume(target.bootstrap, name)]
    assert values == [b"\0" + made["id"].to_bytes(4, "big") + b"\6", b"plain"]
    diff = here("schemas", "diff", str(path))
    assert diff.code == 0, diff.said
