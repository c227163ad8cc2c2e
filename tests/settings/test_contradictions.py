"""Contradictions between values of a file are told whatever else is wrong in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from towpath.settings import contradictions
from towpath.settings.document import text_of
from towpath.settings.loading import check
from towpath.settings.shape import Check, Placed, checks_of

Write = Callable[[str], Path]
ID = "00000000-0000-0000-0000-00000000000a"
FILES: dict[str, dict[str, Any]] = {
    "link": {
        "link": "orders",
        "source": {"bootstrap": "a:1"},
        "target": {"bootstrap": "b:1"},
        "topics": {"include": ["a"]},
    },
    "archive": {
        "kind": "archive",
        "archive": "all",
        "source": {"bootstrap": "a:1"},
        "store": {"url": "s3://bucket/a"},
        "region": "eu",
        "topics": {"include": ["a"]},
    },
    "kraft": {
        "kind": "kraft",
        "kraft": "away",
        "cluster": {"bootstrap": "a:1"},
        "zookeeper": {"connect": "z:1"},
        "brokers": [{"id": 1, "address": "a:1", "properties": "/a"}],
        "controllers": {"nodes": [{"id": 9, "address": "c:1", "properties": "/c", "data": "/l"}]},
        "driver": {"via": "local", "format": "f", "start": "s", "folder": "/f"},
        "journal": "/j",
    },
}
REGISTRIES = {"source": {"url": "http://a:1"}, "target": {"url": "http://b:1"}}
GAPS = {"on_gap": "archive"}
S3 = {"url": "s3://bucket/x"}
KEYS = {"access_key_id": "a", "secret_access_key": "env:HOME"}
AZURE = "abfs://b@c.dfs.core.windows.net/"
NAMES = {"names": "b{id}.k"}


def drop(**rule: Any) -> dict[str, Any]:
    return {"changes": [{"topics": ["a"], "drop": [rule]}]}


def ids(**more: Any) -> dict[str, Any]:
    return {"changes": [{"topics": ["a"], "ids": more}]}


def gateway(**more: Any) -> dict[str, Any]:
    return {"gateway": {"listen": "h:1", **more}}


def registry(**more: Any) -> dict[str, Any]:
    return {"schemas": {**REGISTRIES, "source": {"url": "http://a", **more}}}


def gap_archive(**more: Any) -> dict[str, Any]:
    store = {**S3, **more}
    return {"records": {**GAPS, "archive": {"store": store, "region": "eu"}}}


STORE = "records.archive.store"
LINKS: list[tuple[dict[str, Any], str]] = [
    ({"topics": {"rename": "{no}"}}, "topics.rename"),
    (
        {"topics": {"rename": "x"}, "target": {"bootstrap": "b:1"}, "groups": {"rename": "{no}"}},
        "groups.rename",
    ),
    ({"groups": {"foreign": {"include": ["x"], "rename": "{no}"}}}, "groups.foreign.rename"),
    ({"groups": {"mm2": {"alias": "a", "source_alias": "a"}}}, "groups.mm2.source_alias"),
    ({"source": {"bootstrap": "b:1"}}, "topics.rename"),
    ({"topics": {"twin": "a b"}}, "topics.twin"),
    ({"topics": {"twin": "orders"}}, "topics.twin"),
    ({"topics": {"twin": "other"}, "records": {"offsets": "identical"}}, "records.offsets"),
    ({"topics": {"twin": "other"}, "groups": {"include": ["g"]}}, "groups"),
    ({"topics": {"partitions": 3}, "schemas": REGISTRIES}, "topics.partitions"),
    ({"transform": {"sql": "select 1"}, "records": {"offsets": "identical"}}, "transform"),
    ({"transform": {}}, "transform.sql"),
    ({"transform": {"sql": "select 1"}, "run": {"max_rate": "1MB"}}, "run.max_rate"),
    (
        {"target": {"kind": "serverless"}, "topics": {"configs": {"override": {"segment.ms": 5}}}},
        "topics.configs.override.segment*",
    ),
    ({"records": {"offsets": "identical"}, **drop(tombstones=True)}, "changes[0].drop"),
    (drop(), "changes[0].drop[0]"),
    (drop(key={}), "changes[0].drop[0].key"),
    (
        drop(before="2025-01-01T00:00:00Z", since="2026-01-01T00:00:00Z"),
        "changes[0].drop[0].before",
    ),
    (drop(key={"encoding": "hex", "equals": ["zz"]}), "changes[0].drop[0].key.equals[0]"),
    (ids(), "changes[0].ids"),
    (ids(framing="from-glue"), "changes[0].ids.glue"),
    (
        {
            "changes": [
                {"topics": [t], "ids": {"framing": "from-glue", "glue": {ID: n}}}
                for t, n in (("a", 1), ("b", 2))
            ]
        },
        "changes[1].ids.glue.*",
    ),
    ({"changes": [{"topics": ["a"], "headers": [{"name": "n"}]}]}, "changes[0].headers[0].of"),
    (
        {"changes": [{"topics": ["a"], "headers": [{"name": "n", "value": "v"}], "redact": ["n"]}]},
        "changes[0].redact[0]",
    ),
    ({"records": {"group": "g"}}, "records.group"),
    ({"records": {"commit": "5s"}}, "records.commit"),
    ({"records": GAPS}, "records.archive"),
    (gap_archive(layout="broker-log"), f"{STORE}.layout"),
    (gap_archive(azure={"client_id": "c"}), f"{STORE}.azure"),
    (gap_archive(endpoint="http://a", tls={}), f"{STORE}.endpoint"),
    (gap_archive(encryption={"mode": "AES256", "kms_key": "k"}), f"{STORE}.encryption.kms_key"),
    (
        gap_archive(profile="p", keys=KEYS),
        f"{STORE}.profile",
    ),
    (
        gap_archive(
            url="abfs://b@c.dfs.core.windows.net/", azure={"client_id": "c", "sas": "env:HOME"}
        ),
        f"{STORE}.azure.client_id",
    ),
    ({"schemas": {**REGISTRIES, "deleted": "keep", "ids": "translate"}}, "schemas.deleted"),
    ({"schemas": {**REGISTRIES, "strict": True}}, "schemas.strict"),
    ({"schemas": {**REGISTRIES, "rename": "x-{no}"}}, "schemas.rename"),
    ({"schemas": {**REGISTRIES, "target": {"url": "http://a:1"}}}, "schemas.rename"),
    (
        {"schemas": {**REGISTRIES, "source": {"url": "http://a", "kind": "apicurio"}}},
        "schemas.source.url",
    ),
    (
        {"schemas": {**REGISTRIES, "source": {"url": "http://a", "token": "env:SPOILT"}}},
        "schemas.source.token",
    ),
    (
        {
            "schemas": {
                **REGISTRIES,
                "source": {
                    "url": "http://a",
                    "token": "env:HOME",
                    "basic": {"username": "u", "password": "env:HOME"},
                },
            }
        },
        "schemas.source.token",
    ),
    ({"source": {"sasl": {"mechanism": "AWS_MSK_IAM"}}}, "source.sasl.mechanism"),
    ({"source": {"sasl": {"mechanism": "OAUTHBEARER"}}}, "source.sasl.token"),
    ({"source": {"tls": {"key_password": "env:HOME"}}}, "source.tls.cert"),
    (gateway(batches={"one": ["a"], "two": ["a"]}), "gateway.batches.two[0]"),
    (gateway(adopt=True, nodes={1: "b:1"}, reads="target"), "gateway.adopt"),
    (gateway(adopt=True), "gateway.adopt"),
    (gateway(adopt=True, nodes={1: "b:1"}, after="leave"), "gateway.adopt"),
    (gateway(**NAMES), "gateway.names"),
    (gateway(**NAMES, nodes={1: "b:1"}), "gateway.names"),
    (gateway(processes=2, after="leave"), "gateway.processes"),
    (gateway(processes=2, adopt=True, nodes={1: "b:1"}), "gateway.processes"),
    ({"gateway": {"listen": "0.0.0.0:1"}}, "gateway.listen"),
]
"""Parts of the file of a link, each with a contradiction, and where that is told."""
FS = {"url": "file:///x"}
ARCHIVES: list[tuple[dict[str, Any], str]] = [
    (
        {
            "store": {**S3, "layout": "broker-log"},
            "restore": {"schemas": {"target": {"url": "http://a"}}},
        },
        "restore.schemas",
    ),
    (
        {
            "store": FS,
            "restore": {"notify": {"kind": "sqs", "queue": "q"}},
        },
        "restore.notify",
    ),
    (
        {
            "restore": {
                "notify": {
                    "kind": "sqs",
                    "queue": "q",
                    "profile": "p",
                    "keys": KEYS,
                }
            }
        },
        "restore.notify.profile",
    ),
    ({"restore": {"follow": {"silence": "1s"}}}, "restore.follow.silence"),
    ({"restore": {"filter": [{"topics": ["a"]}]}}, "restore.filter[0]"),
    ({"restore": {"range": {"from": 5, "to": 5}}}, "restore.range.to"),
    ({"restore": {"groups": {"rename": "{no}"}}}, "restore.groups.rename"),
    ({"restore": {"sources": [{"region": "eu"}, {"region": "eu"}]}}, "restore.sources"),
    ({"restore": {"region": "us", "sources": [{"region": "eu"}]}}, "restore.region"),
    (
        {
            "restore": {
                "offsets": "identical",
                "filter": [{"topics": ["a"], "drop": [{"tombstones": True}]}],
            }
        },
        "restore.offsets",
    ),
    ({"retention": [{"topics": ["a"]}]}, "retention[0]"),
    (
        {"compaction": [{"min_count": 9, "max_count": 8}]},
        "compaction[0].max_count",
    ),
]
MIGRATIONS: list[tuple[dict[str, Any], str]] = [
    ({"zookeeper": {"username": "u"}}, "zookeeper.username"),
    (
        {"brokers": [{"id": 1, "address": f"{b}:1", "properties": f"/{b}"} for b in "ab"]},
        "brokers[1].id",
    ),
]
CASES = [
    *(("link", *each) for each in LINKS),
    *(("archive", *each) for each in ARCHIVES),
    *(("kraft", *each) for each in MIGRATIONS),
]
WRONG: Mapping[str, Any] = {
    "run.memory": "1KiB",
    "source.rack": 5,
    "source.retries": 3,
    "target.request_timeout": "1 parsec",
    "topics.exclude": 5,
    "topics.configs.include": 5,
    "records.fill": -1,
    "records.archive.wait": "0s",
    "records.archive.store.ca": 5,
    "groups.states": "some",
    "groups.mm2.separator": 5,
    "changes.0.codec": "brotli",
    "changes.0.ids.wait": "never",
    "changes.0.drop.0.name": 5,
    "schemas.max_requests": 0,
    "schemas.source.timeout": 5,
    "gateway.hold": "1h",
    "transform.max_offsets": 0,
    "store.spread": "maybe",
    "segments.size": "5 stones",
    "restore.memory": "1KiB",
    "restore.filter.0.maximum": 5,
    "retention.0.maximum": 5,
    "compaction.0.zone": "Moon",
    "restore.sources.0.lost": "found",
    "brokers.0.host": 5,
    "limits.stop": "never",
    "zookeeper.admin_port": 0,
    "nothing": 5,
}
"""Values that are wrong by themselves, by their place; what stands above it must be there."""
ELSEWHERE = {"Tls._authorities", "TransformConfig._one"}
"""Contradictions whose test is another one, as they need files."""
MADE = {"link": {"run", "records"}, "archive": {"run", "segments"}, "kraft": {"limits"}}
"""Sections that files get for wrong values."""


def merged(one: Any, other: Any) -> Any:
    """Return a tree with the content of another one."""
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return other
    common = {key: merged(one[key], value) for key, value in other.items() if key in one}
    return {**one, **other, **common}


def spoilt(kind: str, tree: dict[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """Return a tree with every wrong value that has a place in it, and their paths."""
    tree = deepcopy(merged({key: {} for key in MADE[kind]}, tree))
    told = set()
    for path, value in WRONG.items():
        *above, last = path.split(".")
        node: Any = tree
        for key in above:
            node = node[0] if key == "0" else node.get(key)
            if node is None:
                break
        else:
            if last not in node:
                node[last] = value
                told.add(path.replace(".0", "[0]"))
    return tree, told


@pytest.mark.parametrize(("kind", "part", "path"), CASES)
def test_no_wrong_value_hides_a_contradiction(
    write: Write, monkeypatch: pytest.MonkeyPatch, kind: str, part: dict[str, Any], path: str
) -> None:
    monkeypatch.setenv("SPOILT", "a b")
    tree = merged(FILES[kind], part)
    alone = check(write(text_of(tree)))
    assert {each.path for each in alone} == {path}
    wrong, places = spoilt(kind, tree)
    found = check(write(text_of(wrong)))
    assert {each.path for each in found} == {path, *places}
    assert {each.sentence for each in alone} <= {each.sentence for each in found}
    assert len(places) > 1


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("schemas: {source: {url: 'http://a'}, target: {url: 'http://b'}, strict: true, ids: both}",
         "schemas.ids"),
        ("schemas: {source: {url: 'http://a'}, target: {url: 'http://b'}, strict: true, ids: }",
         "schemas.ids"),
        ("records: {group: g, start: nowhere}", "records.start"),
        ("records: {group: g, start: '${NOT_SET_ANYWHERE}'}", "records.start"),
        ("changes: [{topics: [a], drop: [{key: 5}]}]", "changes[0].drop[0].key"),
        ("changes: [{topics: [a], headers: [{name: n, value: 5}]}]", "changes[0].headers[0].value"),
        ("gateway: {listen: 'h:1', adopt: true, nodes: 5}", "gateway.nodes"),
        ("gateway: {listen: '0.0.0.0:1', advertised: 5}", "gateway.advertised"),
        ("transform: {sql: 5}", "transform.sql"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_no_contradiction(write: Write, text: str, path: str) -> None:
    assert [each.path for each in check(write(text_of(FILES["link"]) + text))] == [path]


def test_no_contradiction_hides_another_one_nor_does_what_is_missing(write: Write) -> None:
    tree: dict[str, Any] = {"source": {"bootstrap": "a:1"}, "topics": {}}
    for part in (
        {"records": {**GAPS, "group": "g", "commit": "5s"}},
        {"schemas": {**REGISTRIES, "strict": True, "deleted": "keep", "rename": "{no}"}},
        {"gateway": {"listen": "0.0.0.0:1", "adopt": True, "after": "leave", "processes": 2}},
        {"transform": {"sql": "select 1"}},
    ):
        tree = merged(tree, part)
    found = {each.path for each in check(write(text_of(tree)))}
    assert found == {
        "link", "target", "topics.include", "records.archive", "records.group", "schemas.strict",
        "schemas.rename", "gateway.adopt", "gateway.processes", "gateway.listen", "transform",
    }  # fmt: skip


def test_every_contradiction_has_a_case(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPOILT", "a b")
    known: set[Check] = set()
    told: list[Check] = []

    def watched(model: type[BaseModel]) -> tuple[Check, ...]:
        known.update(checks_of(model))

        def watch(each: Check) -> Check:
            def watching(section: Any) -> Iterator[Placed]:
                for placed in each(section):
                    told.append(each)
                    yield placed

            return watching

        return tuple(map(watch, checks_of(model)))

    monkeypatch.setattr(contradictions, "checks_of", watched)
    for kind, part, _ in CASES:
        check(write(text_of(merged(FILES[kind], part))))
    untold = {each.__qualname__ for each in known.difference(told)}
    assert untold == ELSEWHERE


def test_a_check_that_fails_by_itself_is_no_wrong_value(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(section: BaseModel) -> Iterator[Placed]:
        yield from vars(section).missing  # type: ignore[attr-defined]

    monkeypatch.setattr(contradictions, "checks_of", lambda _: [broken])
    with pytest.raises(AttributeError, match="missing"):
        check(write(text_of(merged(FILES["link"], {"records": {"fill": -1}}))))
