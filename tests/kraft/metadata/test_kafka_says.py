"""Our reading of each record of the metadata log beside that of the newest Kafka's own classes.

`captured.json` holds a record of each kind and version as Kafka writes it, and what Kafka's JSON of
it says. TOWPATH_CAPTURE=1 makes the soak test below write it anew.
"""

from __future__ import annotations

import json
import os
from itertools import chain
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.support.kraft.metadata_log import batch, value_of
from tests.support.kraft.metadata_records import bodies, differing, kafka_says, records
from towpath.dev import distribution
from towpath.kraft.metadata import messages
from towpath.kraft.metadata.messages import RECORDS
from towpath.kraft.metadata.records import batches

CAPTURED = Path(__file__).parent / "captured.json"
EACH_KIND = [
    (name, version) for name in sorted(RECORDS) for version in range(RECORDS[name].max_version + 1)
]


def read(data: bytes) -> Any:
    (one,) = batches(batch([data]))
    (entry,) = one.entries()
    return entry


def test_a_record_of_each_kind_and_version_was_captured() -> None:
    captured = json.loads(CAPTURED.read_text())
    assert [(each["name"], each["version"]) for each in captured] == EACH_KIND


@pytest.mark.parametrize(
    "said", json.loads(CAPTURED.read_text()), ids=lambda said: f"{said['name']} {said['version']}"
)
def test_a_captured_record_is_read_as_kafka_reads_it(said: dict[str, Any]) -> None:
    entry = read(bytes.fromhex(said["data"]))
    assert (entry.name, entry.version) == (said["name"], said["version"])
    assert differing(entry.body, said["fields"]) == {}
    assert read(value_of(entry.body, entry.version)).body == entry.body


@pytest.mark.soak
@settings(max_examples=8, phases=[Phase.generate])
@given(st.lists(records(), min_size=30, max_size=60))
def test_kafka_reads_the_same_from_any_record(written: list[Any]) -> None:
    told = kafka_says([value_of(*each) for each in written])
    for (body, version), said in zip(written, told, strict=True):
        assert (said.name, said.version) == (type(body).__name__, version)
        assert differing(body, said.fields) == {}
        assert read(said.data).body == body


@pytest.mark.soak
@settings(max_examples=1, phases=[Phase.generate])
@given(st.tuples(*(bodies(RECORDS[name], version) for name, version in EACH_KIND)))
def test_kafka_names_records_of_each_kind(drawn: tuple[Any, ...]) -> None:
    versions = [version for _, version in EACH_KIND]
    told = kafka_says(value_of(*each) for each in zip(drawn, versions, strict=True))
    assert [(each.name, each.version) for each in told] == EACH_KIND
    if os.environ.get("TOWPATH_CAPTURE"):
        made = [
            {"name": each.name, "version": each.version, "data": each.data.hex()}
            | {"fields": each.fields}
            for each in told
        ]
        lines = ",\n".join(map(json.dumps, made))
        CAPTURED.write_text(f"[\n{lines}\n]\n")


@pytest.mark.soak
def test_the_files_of_records_are_those_of_kafka() -> None:
    """Field by field, without what is said about them."""
    folder = Path(messages.__file__).parent
    ours = {name: json.loads((folder / f"{name}.json").read_text()) for name in RECORDS}
    assert _plain(ours) == _plain(_said_by_jar(distribution.NEWEST))
    for name, theirs in _said_by_jar("3.9.2").items():
        fields = [_plain(each) for each in ours[name]["fields"]]
        assert ours[name]["apiKey"] == theirs["apiKey"]
        assert [each for each in map(_plain, theirs["fields"]) if each not in fields] == []


_NO_MATTER = {"about", "entityType", "mapKey"}


def _said_by_jar(version: str) -> dict[str, Any]:
    (jar,) = distribution.fetch(version).glob("kafka-metadata-*.jar")
    with ZipFile(jar) as opened:
        names = [name for name in opened.namelist() if name.startswith("common/metadata/")]
        told = [_described(opened.read(name).decode()) for name in names if name.endswith(".json")]
    return {each["name"]: each for each in told}


def _described(text: str) -> Any:
    lines = (line for line in text.splitlines() if not line.strip().startswith("//"))
    return json.loads("\n".join(lines))


def _plain(said: Any) -> Any:
    if isinstance(said, list):
        return [_plain(each) for each in said]
    if isinstance(said, dict):
        kept = {key: _plain(value) for key, value in said.items() if key not in _NO_MATTER}
        return sorted(chain(kept.items()), key=lambda item: item[0])
    return str(said)
