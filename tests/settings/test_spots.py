"""Each problem has the line and the column at which the user must look."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from towpath.model.errors import ConfigError
from towpath.settings import check, load

Write = Callable[[str], Path]

FILE = """\
link: 5
target:
  bootstrap:
    - "b:9092"
    - !tagged c
    - d
  tls: {verify_hostname: maybe}
source:
  bootstrap: "a:1,b"
  tls: {}
  retries: 3
  sasl: {mechanism: SCRAM-SHA-512, username: ""}
target: again
topics: &all
  include: [a, "b("]
  rename : "{no}"
run: {round: 5, memory: 1KiB}
"""
SPOTS = [
    ("1:7", "link"),
    ("5:7", "target.bootstrap[1]"),
    ("6:7", "target.bootstrap[2]"),
    ("7:26", "target.tls.verify_hostname"),
    ("9:14", "source.bootstrap[1]"),
    ("11:3", "source.retries"),
    ("12:3", "source.sasl.password"),
    ("12:46", "source.sasl.username"),
    ("13:1", "target"),
    ("15:16", "topics.include[1]"),
    ("17:14", "run.round"),
    ("17:25", "run.memory"),
]


def test_every_problem_has_its_line_and_column_in_the_order_of_the_file(write: Write) -> None:
    path = write(FILE)
    with pytest.raises(ConfigError) as caught:
        load(path)
    found = [(str(each.spot), each.path) for each in caught.value.problems]
    assert found == [(f"{path}:{at}", place) for at, place in SPOTS]
    first, *_ = str(caught.value).splitlines()
    assert first == f"{path}:1:7: link: must be a text, not the number 5; put it in quotes"


def test_an_alias_is_told_where_its_value_stands(write: Write) -> None:
    (problem,) = check(
        write(
            "source: &one {bootstrap: a:1, rack: [x]}\n"
            "target: {bootstrap: b:1, rack: &two [x]}\n"
            "link: x\ntopics: {include: [a]}\n"
        )
    )[:1]
    assert (problem.path, problem.spot and problem.spot.line) == ("source.rack", 1)


def test_columns_count_characters(write: Write) -> None:
    (problem, *_) = check(write('"é": 1\n'.replace("1", "{}")))
    assert problem.spot
    assert (problem.spot.line, problem.spot.column) == (1, 1)
