"""Random records of the metadata log, and what Kafka's own classes say of the same bytes."""

from __future__ import annotations

import base64
import json
import subprocess
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from towpath.dev import distribution
from towpath.kraft.metadata.messages import RECORDS

_PROGRAM = Path(__file__).parents[1] / "java" / "KafkaRecords.java"
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int8": st.integers(-(1 << 7), (1 << 7) - 1),
    "int16": st.integers(-(1 << 15), (1 << 15) - 1),
    "uint16": st.integers(0, (1 << 16) - 1),
    "int32": st.integers(-(1 << 31), (1 << 31) - 1),
    "int64": st.integers(-(1 << 63), (1 << 63) - 1),
    "float64": st.floats(allow_nan=False, allow_infinity=False),
    "bool": st.booleans(),
    # kafka-python reads the zero id as None, and no topic or node has it.
    "uuid": st.integers(1, (1 << 128) - 1).map(lambda number: uuid.UUID(int=number)),
    "string": _TEXT,
    "bytes": st.binary(max_size=40),
}


@dataclass(frozen=True, slots=True)
class Said:
    """What Kafka says of a record.

    Attributes:
        data: The record as Kafka writes it.
        fields: What Kafka's JSON of it says; tagged fields that have their default are missing.
    """

    name: str
    version: int
    data: bytes
    fields: dict[str, Any]


@st.composite
def records(draw: st.DrawFn) -> tuple[Any, int]:
    """Return a record of any kind and its version."""
    kind = RECORDS[draw(st.sampled_from(sorted(RECORDS)))]
    version = draw(st.integers(0, kind.max_version))
    return draw(bodies(kind, version)), version


def bodies(kind: Any, version: int) -> st.SearchStrategy[Any]:
    """Return records of one kind and version."""
    fields = [each for each in kind.json["fields"] if each["versions"] != "none"]
    return _bodies(kind, fields, version)


def kafka_says(records: Iterable[bytes], version: str = distribution.NEWEST) -> list[Said]:
    """Return what Kafka reads from the values of records; needs a JDK."""
    command = [
        "java",
        "-Dfile.encoding=UTF-8",
        "-cp",
        f"{distribution.fetch(version)}/*",
        str(_PROGRAM),
    ]
    lines = "\n".join(each.hex() for each in records)
    done = subprocess.run(command, input=lines, capture_output=True, encoding="utf-8", check=True)
    told = [line.split(" ", 3) for line in done.stdout.split("\n")[:-1]]
    return [
        Said(name, int(number), bytes.fromhex(data), json.loads(said))
        for name, number, data, said in told
    ]


def differing(body: Any, fields: dict[str, Any]) -> dict[str, Any]:
    """Return what Kafka's JSON of a record says otherwise than we read it."""
    return {
        name: (value, ours)
        for name, value in fields.items()
        if (ours := _as_json(getattr(body, _snake(name)))) != value
    }


def _as_json(value: Any) -> Any:
    """Return a value in the form of Kafka's JSON."""
    if isinstance(value, uuid.UUID):
        return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, list):
        return [_as_json(each) for each in value]
    if hasattr(value, "fields"):
        return {_camel(name): _as_json(getattr(value, name)) for name in value.fields}
    return value


def _bodies(kind: Any, fields: Any, version: int) -> st.SearchStrategy[Any]:
    known = [each for each in fields if int(each["versions"].removesuffix("+")) <= version]
    chosen = {_snake(each["name"]): _of_type(each, kind, version) for each in known}
    return st.fixed_dictionaries(chosen).map(lambda values: kind(version=version, **values))


def _of_type(field: Any, inside: Any, version: int) -> st.SearchStrategy[Any]:
    one = field["type"].removeprefix("[]")
    values: st.SearchStrategy[Any] = (
        _bodies(getattr(inside, one), field["fields"], version)
        if "fields" in field
        else _VALUES[one]
    )
    if field["type"].startswith("[]"):
        values = st.lists(values, max_size=4)
    return st.none() | values if "nullableVersions" in field else values


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).removeprefix("_")


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)
