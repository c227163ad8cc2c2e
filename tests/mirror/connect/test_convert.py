"""Files of links that are made from files of Redpanda Connect."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mirror.connect.test_lint import written
from towpath.mirror.connect.convert import convert
from towpath.model.errors import ConfigError

DROPS = """
pipeline:
  processors:
    - mapping: 'root = if @kafka_topic == "orders" && @kafka_key == "x" { deleted() }'
"""


def test_a_variable_that_is_not_set_is_named_or_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, {"seed_brokers": '["${BROKERS_OF_NOBODY}"]'}, {})
    made = convert(path, "moved")
    assert "${BROKERS_OF_NOBODY}" in made.text
    assert "the new file names variable BROKERS_OF_NOBODY too, which is not set here" in made.notes
    path = written(tmp_path, {"topics": '["${TOPIC_OF_NOBODY}"]'}, {})
    with pytest.raises(ConfigError) as told:
        convert(path, "moved")
    [problem] = told.value.problems
    assert "variable TOPIC_OF_NOBODY is not set: its value becomes part" in problem.text
    assert problem.spot is not None
    assert problem.spot.line == 4


def test_no_anchors_are_written(tmp_path: Path) -> None:
    path = written(tmp_path, {}, {"headers": "{team: blue}"}, DROPS)
    made = convert(path, "moved")
    assert made.text.count("value: blue") == 2
    assert "&id" not in made.text
    assert "*id" not in made.text
