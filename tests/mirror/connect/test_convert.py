"""Files of links that are made from files of Redpanda Connect."""

from __future__ import annotations

from pathlib import Path

import pytest

from towpath.mirror.connect.convert import convert
from towpath.model.errors import ConfigError
from towpath.settings.connect_files import ConnectWishes, wish

FILE = """
input:
  redpanda_migrator:
    seed_brokers: [{brokers}]
    topics: [{topics}]
    consumer_group: mover
output:
  redpanda_migrator:
    seed_brokers: ["b:9092"]
    {more}
"""
DROPS = """
pipeline:
  processors:
    - mapping: 'root = if @kafka_topic == "orders" && @kafka_key == "x" { deleted() }'
"""


def written(folder: Path, brokers: str = "a:9092", topics: str = "orders", more: str = "") -> Path:
    path = folder / "connect.yaml"
    path.write_text(FILE.format(brokers=f'"{brokers}"', topics=f'"{topics}"', more=more))
    return path


def test_a_variable_that_is_not_set_is_named_or_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, brokers="${BROKERS_OF_NOBODY}")
    made = convert(path, "moved")
    assert "${BROKERS_OF_NOBODY}" in made.text
    assert "the new file names variable BROKERS_OF_NOBODY too, which is not set here" in made.notes
    path = written(tmp_path, topics="${TOPIC_OF_NOBODY}")
    with pytest.raises(ConfigError) as told:
        convert(path, "moved")
    [problem] = told.value.problems
    assert "variable TOPIC_OF_NOBODY is not set: its value becomes part" in problem.text
    assert problem.spot is not None
    assert problem.spot.line == 5


PAIRS = """
input:
  broker:
    inputs:
      - {label: eu, redpanda_migrator: {seed_brokers: ["a:1"], topics: [t], consumer_group: ""}}
      - {label: us, redpanda_migrator: {seed_brokers: ["b:1"], topics: [t], consumer_group: ""}}
output:
  broker:
    outputs:
      - {label: eu, redpanda_migrator: {seed_brokers: ["c:1"], topic: "eu_${! @kafka_topic }"}}
      - {label: us, redpanda_migrator: {seed_brokers: ["c:1"], topic: "us_${! @kafka_topic }"}}
"""


def test_pairs_become_links_of_two_names(tmp_path: Path) -> None:
    path = tmp_path / "connect.yaml"
    path.write_text(PAIRS)
    for label in ("eu", "us"):
        wish(ConnectWishes(pair=label))
        assert f"\nlink: {label}\n" in convert(path).text
    wish(ConnectWishes())
    alone = written(tmp_path)
    assert "\nlink: migrator\n" in convert(alone).text
    assert "\nlink: own\n" in convert(alone, "own").text
    with pytest.raises(ConfigError, match="--link: "):
        convert(alone, "no name")


def test_no_anchors_are_written(tmp_path: Path) -> None:
    path = written(tmp_path, more="headers: {team: blue}" + DROPS)
    made = convert(path, "moved")
    assert made.text.count("value: blue") == 2
    assert "&id" not in made.text
    assert "*id" not in made.text
