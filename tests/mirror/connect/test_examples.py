"""The examples of the migrator's documentation on real brokers and registries, and as converted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.support.copying.connect_examples import EXAMPLES, whole
from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, produce, topic_config
from tests.support.registries.registry import LocalRegistry, record
from towpath.dev.broker import LocalCluster

pytestmark = [pytest.mark.soak, pytest.mark.broker, pytest.mark.spark]
NewName = Callable[[str], str]


@pytest.fixture
def filled(
    source: LocalCluster,
    target: LocalCluster,
    new_registry: Callable[..., LocalRegistry],
    new_name: NewName,
    tmp_path: Path,
) -> Callable[[str], tuple[Path, str, LocalRegistry, LocalRegistry]]:
    """Return what writes an example with the addresses of this machine, and a topic to copy."""
    ours, theirs = new_registry(), new_registry()

    def written(name: str) -> tuple[Path, str, LocalRegistry, LocalRegistry]:
        topic = create_topic(
            source.bootstrap,
            new_name("example"),
            2,
            {"retention.ms": "7200000", "segment.bytes": "2000000", "max.message.bytes": "500000"},
        )
        number = ours.register(f"{topic}-value", record("Sold", topic.replace("-", "_")))
        value = b"\0" + number.to_bytes(4, "big") + b"\6"
        produce(source.bootstrap, topic, [Record(b"k", value, partition=n % 2) for n in range(6)])
        made = whole(EXAMPLES[name][0])
        begin: dict[str, Any] = made["input"]["redpanda_migrator"]
        end: dict[str, Any] = made["output"]["redpanda_migrator"]
        begin |= {"seed_brokers": [source.bootstrap], "topics": [topic]}
        end["seed_brokers"] = [target.bootstrap]
        if "schema_registry" in end:
            begin["schema_registry"] = {"url": ours.url}
            end["schema_registry"]["url"] = theirs.url
        path = tmp_path / f"{topic}.yaml"
        with path.open("w") as file:
            YAML(typ="safe").dump(made, file)
        return path, topic, ours, theirs

    return written


def test_each_example_is_run_as_it_is_and_as_converted(
    filled: Callable[[str], tuple[Path, str, LocalRegistry, LocalRegistry]],
    source: LocalCluster,
    target: LocalCluster,
    here: Here,
) -> None:
    for name in EXAMPLES:
        path, topic, ours, theirs = filled(name)
        plan = here("plan", str(path), "--output", "json")
        assert plan.code == 0, (name, plan.said)
        into = path.with_suffix(".link.yaml")
        made = here("convert", str(path), "--into", str(into), "--link", plan.json["link"])
        assert made.code == 0, (name, made.said)
        assert here("lint", str(into)).code == 0, name
        again = here("plan", str(into), "--output", "json")
        assert again.code == 0, (name, again.said)
        assert again.json["steps"] == plan.json["steps"], name
        for file, count in ((path, 6), (into, 8)):  # one link, which goes on where it stood
            run = here.run(str(file), "--until-caught-up", "--output", "json")
            assert run.code == 0, (name, run.said)
            assert run.json["records"] == (6 if file == path else 2), name
            mirror = plan.json["topics"][topic]
            copies = consume(target.bootstrap, mirror, range(2))
            assert len(copies) == count, name
            produce(source.bootstrap, topic, [Record(b"k", b"plain", partition=n) for n in (0, 1)])
        if "schema_registry" in whole(EXAMPLES[name][0])["output"]["redpanda_migrator"]:
            texts = {each.version(f"{topic}-value")["schema"] for each in (ours, theirs)}
            assert len(texts) == 1, name


def test_serverless_mode_copies_what_such_a_target_takes(
    filled: Callable[[str], tuple[Path, str, LocalRegistry, LocalRegistry]],
    target: LocalCluster,
    here: Here,
) -> None:
    path, topic, ours, theirs = filled("serverless mode")
    theirs.register("before", record("Before", "x"))  # so that ids differ
    run = here.run(str(path), "--until-caught-up")
    assert run.code == 0, run.said
    made = theirs.version(f"{topic}-value")
    assert made["id"] != ours.version(f"{topic}-value")["id"]
    values = {each.value for each in consume(target.bootstrap, topic, range(2))}
    assert values == {b"\0" + made["id"].to_bytes(4, "big") + b"\6"}
    configs = {
        key: topic_config(target.bootstrap, topic, key)
        for key in ("retention.ms", "segment.bytes", "max.message.bytes")
    }
    assert configs["retention.ms"] == "7200000"
    assert configs["max.message.bytes"] == "500000"
    assert configs["segment.bytes"] != "2000000", "Redpanda Serverless does not take it"
    assert here("status", str(path)).code == 0
    verified = here("verify", str(path))
    assert verified.code == 0, verified.said
