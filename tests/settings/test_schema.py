"""The JSON schema of the file accepts what the program accepts, and refuses usual mistakes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from towpath.cli.examples import example
from towpath.cli.main import main
from towpath.settings import LinkConfig, check
from towpath.settings.document import parse
from towpath.settings.kinds import KINDS, FileKind
from towpath.settings.schema import schema, text
from towpath.settings.shape import walk

Write = Callable[[str], Path]
ROOT = Path(__file__).parents[2]
SCHEMAS = {kind: schema(kind) for kind in FileKind}
PARTS = {
    "source": '{bootstrap: "a:9092"}',
    "target": '{bootstrap: ["b:9092", "c:9092"]}',
    "link": "orders",
    "topics": '{include: ["orders"]}',
}
TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str, "object": dict, "array": list, "integer": int, "number": (int, float),
}  # fmt: skip


def fits(rule: Mapping[str, Any], value: Any, whole: Mapping[str, Any]) -> bool:
    """Whether a value satisfies a part of a whole schema, for the words that ours uses."""
    unknown = rule.keys() - {
        "$schema", "$ref", "$defs", "anyOf", "type", "enum", "const", "pattern", "properties",
        "required", "additionalProperties", "items", "minimum", "maximum", "minLength", "minItems",
        "maxLength", "title", "description", "default",
    }  # fmt: skip
    assert not unknown
    named = whole["$defs"][rule["$ref"].rpartition("/")[2]] if "$ref" in rule else {}
    if named and not fits(named, value, whole):
        return False
    if "anyOf" in rule and not any(fits(each, value, whole) for each in rule["anyOf"]):
        return False
    kind = rule.get("type")
    if kind == "boolean" and not isinstance(value, bool):
        return False
    if kind in TYPES and (not isinstance(value, TYPES[kind]) or isinstance(value, bool)):
        return False
    return _fits_in_detail(rule, value, whole)


def _fits_in_detail(rule: Mapping[str, Any], value: Any, whole: Mapping[str, Any]) -> bool:
    checks = [value in rule.get("enum", [value]), value == rule.get("const", value)]
    match value:
        case dict():
            known = rule.get("properties", {})
            rest = rule.get("additionalProperties", True)
            checks.append(value.keys() >= set(rule.get("required", ())))
            for key, item in value.items():
                below = known.get(key, rest)
                checks.append(below if isinstance(below, bool) else fits(below, item, whole))
        case list():
            checks.append(len(value) >= rule.get("minItems", 0))
            checks += [fits(rule.get("items", {}), item, whole) for item in value]
        case str():
            checks.append(rule.get("minLength", 0) <= len(value) <= rule.get("maxLength", 1000))
            checks.append(bool(re.search(rule.get("pattern", ""), value)))
        case int() | float():
            checks.append(rule.get("minimum", value) <= value <= rule.get("maximum", value))
        case _:
            raise AssertionError(value)
    return all(checks)


def accepted(written: str, kind: FileKind = FileKind.LINK) -> bool:
    whole = SCHEMAS[kind]
    return fits(whole, parse(written, "link.yaml").tree, whole)


def with_part(key: str, value: str) -> str:
    return "".join(f"{name}: {part}\n" for name, part in {**PARTS, key: value}.items())


@pytest.mark.parametrize("kind", FileKind)
def test_the_committed_copy_is_fresh(kind: FileKind) -> None:
    assert (ROOT / "docs" / f"{kind}.schema.json").read_text("utf-8") == text(kind), (
        f"stale; run: python -m towpath.settings.schema {kind} > docs/{kind}.schema.json"
    )


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert capsys.readouterr().out == text()
    assert main(["schema", "--kind", "archive"]) == 0
    assert capsys.readouterr().out == text(FileKind.ARCHIVE)


@pytest.mark.parametrize("kind", FileKind)
def test_every_key_is_described(kind: FileKind) -> None:
    whole = text(kind)
    for place, field in walk(KINDS[kind].model):
        assert f'"{place[-1]}": {{' in whole
        assert (field.description or "").partition('"')[0].partition("\\")[0] in whole


def test_the_example_and_those_of_the_docs_satisfy_it() -> None:
    for kind in FileKind:
        assert accepted(example(kind), kind)
        assert accepted(re.sub(r"(?m)^( *)#(?![# ])|^#(?= )", r"\1", example(kind)), kind)
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    blocks = [
        block
        for page in pages
        for block in re.findall(r"```yaml\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    ]
    whole = "".join(f"{key}: {value}\n" for key, value in PARTS.items())
    links = [each for each in blocks if set(re.findall(r"(?m)^(\w+):", each)) <= set(KEYS)]
    assert links
    for block in links:
        given = set(re.findall(r"(?m)^(\w+):", block))
        rest = [line for line in whole.splitlines() if line.partition(":")[0] not in given]
        assert accepted("\n".join([block, *rest])), block


KEYS = LinkConfig.model_fields
GOOD = [
    ("source", '{bootstrap: "a:1,b:2", tls: true, request_timeout: 1.5m}'),
    ("source", "{bootstrap: '${A}', tls: {ca: ca.pem}}"),
    (
        "source",
        "{bootstrap: 'a:1', sasl: {mechanism: PLAIN, username: u, password: '${P}'}}",
    ),
    (
        "source",
        "{bootstrap: 'a:1', sasl: {mechanism: '${M}', username: u, password: env:P}}",
    ),
    ("source", "{bootstrap: 'a:1', sasl: {mechanism: OAUTHBEARER, token_command: 'a b'}}"),
    ("records", "{start: 2025-01-31T08:00:00Z, fill: 0}"),
    ("records", "{start: 1738310400000, offsets: '${X}'}"),
    ("topics", "{include: [a], replication_factor: 3, configs: {override: {a.b: 5}}}"),
    ("topics", "{include: [a], replication_factor: broker_default}"),
    ("run", "{round: 4h, memory: 96MiB, discover: '${D}'}"),
    ("run", "{max_rate: 50MB}"),
    ("run", "{max_rate: {link: 1GB/s, topics: {'orders.*': 10MiB}}}"),
    ("access", "{acls: safe, users: {ann: 'file:a'}, quotas: true}"),
]


@pytest.mark.parametrize(("key", "value"), GOOD)
def test_what_lint_accepts_is_accepted(write: Write, key: str, value: str) -> None:
    assert accepted(with_part(key, value))
    variables = {"${P}": "${P}", "${M}": "PLAIN", "${X}": "auto", "${D}": "5s", "${A}": "a:1"}
    for name, meant in variables.items():
        value = value.replace(name, meant)
    assert check(write(with_part(key, value)), with_environment=False) == ()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("lnk", "x"),
        ("source", "{}"),
        ("source", "{bootstrap: 'a:1', tls: 'yes'}"),
        ("source", "{bootstrap: 'a:1', sasl: {mechanism: PLIAN}}"),
        (
            "source",
            "{bootstrap: 'a:1', sasl: {mechanism: PLAIN, username: u, password: hunter2}}",
        ),
        ("source", "{bootstrap.servers: 'a:1'}"),
        ("topics", "{include: orders}"),
        ("topics", "{include: [a], replication_factor: 0}"),
        ("records", "{fill: 99999999999}"),
        ("records", "{offsets: same}"),
        ("run", "{round: 5}"),
        ("run", "{memory: 96MB}"),
        ("run", "{max_rate: 50}"),
        ("run", "{max_rate: {topic: 1MB}}"),
        ("prune", "'yes'"),
    ],
)
def test_usual_mistakes_are_refused_as_lint_refuses_them(
    write: Write, key: str, value: str
) -> None:
    assert not accepted(with_part(key, value))
    assert check(write(with_part(key, value)), with_environment=False)
