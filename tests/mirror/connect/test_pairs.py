"""Several pairs of input and output in one file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from towpath.mirror.connect.convert import convert
from towpath.mirror.connect.load import check, examine, notes, pairs, translation
from towpath.model.errors import ConfigError
from towpath.settings.connect_files import ConnectWishes, is_connect, wish

FILE = """
input:
  broker:
    inputs:
      - redpanda_migrator:
          seed_brokers: ["a:9092"]
          topics: [orders]
          consumer_group: ""
        label: eu
      - label: us
        redpanda_migrator:
          seed_brokers: ["b:9092"]
          topics: [bills]
          consumer_group: mover
          sasl: [{mechanism: PLAIN, username: bob, password: hunter-2}]
output:
  broker:
    pattern: fan_out
    outputs:
      - label: us
        redpanda_migrator: {seed_brokers: ["c:9092"], topic: "us_${! @kafka_topic }"}
      - label: eu
        redpanda_migrator: {seed_brokers: ["d:9092"]}
pipeline:
  processors:
    - mapping: 'root = if @kafka_tombstone_message { deleted() }'
http: {address: "127.0.0.1:4195"}
"""


@pytest.fixture(autouse=True)
def _nothing_wished() -> Iterator[None]:
    yield
    wish(ConnectWishes())


def written(folder: Path, text: str = FILE) -> Path:
    path = folder / "connect.yaml"
    path.write_text(text)
    return path


def test_labels_join_inputs_and_outputs(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert is_connect(path)
    assert (pairs(path), check(path)) == (("eu", "us"), ())
    made = {}
    for label in pairs(path):
        wish(ConnectWishes(pair=label))
        made[label] = translation(examine(path)).tree
    eu, us = made["eu"], made["us"]
    assert (eu["link"], us["link"]) == ("eu", "us")
    assert (eu["source"]["bootstrap"], eu["target"]["bootstrap"]) == (["a:9092"], ["d:9092"])
    assert (us["source"]["bootstrap"], us["target"]["bootstrap"]) == (["b:9092"], ["c:9092"])
    assert "rename" not in eu["topics"]
    assert us["topics"]["rename"] == "us_{topic}"
    for tree in made.values():  # the pipeline holds for each pair
        assert {"tombstones": True} in tree["changes"][0]["drop"]


def test_each_pair_has_a_server_of_its_own(tmp_path: Path) -> None:
    path = written(tmp_path)
    wish(ConnectWishes(pair="us"))
    made = translation(examine(path))
    assert made.tree["metrics"] == {"listen": "127.0.0.1:4196", "root_path": "/benthos"}
    assert "metrics and health of this pair are served at port 4196" in made.notes
    wish(ConnectWishes())
    assert any(note.startswith("pair us: metrics and health") for note in notes(path))


def test_a_pair_is_converted_alone(tmp_path: Path) -> None:
    path = written(tmp_path)
    with pytest.raises(ConfigError, match=r"has several pairs \(eu, us\); name one: --pair eu"):
        convert(path, "moved")
    wish(ConnectWishes(pair="us"))
    made = convert(path, "moved")
    assert "hunter-2" not in made.text + repr(made)
    place = "input.broker.inputs[1].redpanda_migrator.sasl[0].password"
    assert made.secrets == (("SOURCE_PASSWORD", place),)


INPUTS, OUTPUTS = "input.broker.inputs", "output.broker.outputs"
WRONG = {
    "no output of a label": (
        (
            "      - label: us\n        redpanda_migrator: {",
            "      - label: asia\n        redpanda_migrator: {",
        ),
        {
            f"{INPUTS}[1]: has the label us, which no output has",
            f"{OUTPUTS}[0]: has the label asia, which no input has",
        },
    ),
    "a label twice": (
        ("        label: eu\n", "        label: us\n"),
        {
            f"{INPUTS}[1]: has the label us, as another input has; give each pair a label of its"
            " own",
            f"{OUTPUTS}[1]: has the label eu, which no input has",
        },
    ),
    "copies": (
        ("    pattern: fan_out\n", "    copies: 2\n"),
        {"output.broker.copies: would copy each record more than once; leave it out"},
    ),
    "batching": (
        ("    pattern: fan_out\n", "    batching: {count: 5}\n"),
        {"output.broker.batching: is not known here: each pair is a link of its own"},
    ),
    "processors": (
        ("input:\n", "input:\n  processors: []\n"),
        {
            "input.processors: is not taken beside `broker`; write it at each input, or as"
            " `pipeline`"
        },
    ),
    "a field of one pair": (
        ("topics: [bills]", "topics: []"),
        {f"{INPUTS}[1].redpanda_migrator.topics: is required, or else regexp_topics_include"},
    ),
    "what only a translation finds": (
        ("us_${! @kafka_topic }", "us_${! @kafka_partition }"),
        {
            f"{OUTPUTS}[0].redpanda_migrator.topic: asks for @kafka_partition; a name is made of"
            " @kafka_topic"
        },
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_told_where_it_stands(tmp_path: Path, case: str) -> None:
    (old, new), told = WRONG[case]
    assert FILE.count(old) == 1
    found = check(written(tmp_path, FILE.replace(old, new)))
    assert {each.sentence for each in found} == told
    assert all(each.spot for each in found)


def test_the_example_of_the_docs_has_two_pairs(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "redpanda-connect.md").read_text()
    path = written(tmp_path, page.split("```yaml\n")[1].split("```")[0])
    assert (pairs(path), check(path)) == (("eu", "us"), ())


def test_files_of_one_pair_may_name_it(tmp_path: Path) -> None:
    text = """
input:
  label: eu
  redpanda_migrator: {seed_brokers: ["a:9092"], topics: [orders], consumer_group: ""}
output:
  label: eu
  redpanda_migrator: {seed_brokers: ["b:9092"]}
"""
    path = written(tmp_path, text)
    assert pairs(path) == ("eu",)
    wish(ConnectWishes(pair="eu"))
    assert check(path) == ()
    wish(ConnectWishes(pair="us"))
    [problem] = check(path)
    assert "has no pair us; it has eu" in problem.sentence


@pytest.mark.parametrize(
    ("topics", "output", "told"),
    [
        ("topics: [orders]", "", True),
        ('regexp_topics_include: ["^ord"]', "", True),
        ("topics: [orders]", ', provenance_header: ""', False),
        ("topics: [orders]", ', topic: "x.${! @kafka_topic }"', False),
    ],
)
def test_two_directions_are_told_that_a_third_cluster_goes_round(
    tmp_path: Path, topics: str, output: str, told: bool
) -> None:
    sides = {"there": ("a:9092", "b:9092"), "back": ("b:9092", "a:9092")}
    inputs = "".join(
        f"""
      - label: {label}
        redpanda_migrator:
          seed_brokers: ["{begin}"]
          consumer_group: ""
          {topics}
"""
        for label, (begin, _) in sides.items()
    )
    outputs = "".join(
        f"""
      - label: {label}
        redpanda_migrator: {{seed_brokers: ["{end}"]{output}}}
"""
        for label, (_, end) in sides.items()
    )
    text = f"input:\n  broker:\n    inputs:{inputs}\noutput:\n  broker:\n    outputs:{outputs}\n"
    path = written(tmp_path, text)
    assert check(path) == ()
    said = [each for each in notes(path) if "a third one" in each]
    assert len(said) == told
    if told:
        assert "pairs there and back" in said[0]
    wish(ConnectWishes(pair="back"))
    assert not [each for each in notes(path) if "a third one" in each]
