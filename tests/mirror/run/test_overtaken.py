"""A run whose group another program has taken further says so before it copies that once more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.here import Here
from tests.support.kafka import Record, commit, consume, create_topic, produce
from towpath.dev.broker import LocalCluster

FILE = """
input:
  label: {label}
  redpanda_migrator: {{seed_brokers: ["{source}"], topics: [{name}], consumer_group: {name}}}
output:
  label: {label}
  redpanda_migrator: {{seed_brokers: ["{target}"], consumer_groups: {{enabled: false}}}}
"""


@pytest.mark.broker
@pytest.mark.spark
def test_what_connect_wrote_in_between_is_told_and_there_twice(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    here: Here,
) -> None:
    name = new_name("overtaken")
    create_topic(source.bootstrap, name)
    produce(source.bootstrap, name, [Record(b"k", b"%d" % n) for n in range(3)])
    path = tmp_path / "connect.yaml"
    file = FILE.format(label="one", source=source.bootstrap, target=target.bootstrap, name=name)
    path.write_text(file)
    first = here.run(str(path), "--until-caught-up", "--output", "json")
    assert (first.code, first.json["notes"]) == (0, []), first.said
    assert here("status", str(path), "--output", "json").json["overtaken"] is None
    # Connect goes on from there with two records, of four.
    produce(source.bootstrap, name, [Record(b"k", b"%d" % n) for n in range(3, 7)])
    produce(target.bootstrap, name, [Record(b"k", b"%d" % n) for n in (3, 4)])
    commit(source.bootstrap, name, name, 0, 5)
    before = here("status", str(path), "--output", "json").json["overtaken"]
    assert before["group"] == name
    assert (before["committed"], before["copied"], before["offsets"]) == (5, 3, 2)
    told = f"group {name} stands at offset 5 of {name}-0, and this link at 3:"
    assert told in " ".join(here("status", str(path)).out.split())
    again = here.run(str(path), "--until-caught-up", "--output", "json")
    assert told in str(again.json["notes"]), again.said
    values = [int(each.value or b"") for each in consume(target.bootstrap, name)]
    assert values == [0, 1, 2, 3, 4, 3, 4, 5, 6]
    history = here("history", str(path), "--output", "json")
    [event] = [each for each in history.json["events"] if each["what"] == "group.overtaken"]
    assert event["trouble"]
    assert event["facts"]["offsets"] == 2
    # Once more, and this time by the way that it names.
    produce(source.bootstrap, name, [Record(b"k", b"%d" % n) for n in (7, 8)])
    produce(target.bootstrap, name, [Record(b"k", b"7")])
    commit(source.bootstrap, name, name, 0, 8)
    gone = here("link", "rm", str(path), "--release", "--yes")
    assert gone.code == 0, gone.said
    assert f"the commits of group {name}, which this link writes" in " ".join(gone.out.split())
    path.write_text(file.replace("label: one", "label: two"))
    new = here.run(str(path), "--until-caught-up", "--output", "json")
    assert (new.code, new.json["notes"]) == (0, []), new.said
    values = [int(each.value or b"") for each in consume(target.bootstrap, name)]
    assert values == [0, 1, 2, 3, 4, 3, 4, 5, 6, 7, 8]
