"""The section `schemas`: what is accepted, what is refused, and what it means."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.here import Here
from towpath.settings import DeletedVersions, SchemaIds, SchemaVersions, check, load

Write = Callable[[str], Path]
LINK = """\
source: {bootstrap: "a:9092"}
target: {bootstrap: "b:9092"}
link: orders
topics: {include: [".*"]}
"""
BOTH = 'source: {url: "http://a:8081"}, target: {url: "http://b:8081"}'


def schemas(keys: str) -> str:
    return f"{LINK}schemas: {{{keys}}}\n"


@pytest.mark.parametrize(
    "text",
    [
        LINK,
        schemas(BOTH),
        schemas(f"{BOTH}, ids: translate, strict: true"),
        schemas(f"{BOTH}, ids: translate") + "changes: [{topics: [a], ids: {strict: true}}]\n",
    ],
)
def test_no_registry_and_both_are_accepted_and_strict_with_new_ids(write: Write, text: str) -> None:
    assert check(write(text)) == ()


@pytest.mark.parametrize("side", ["source", "target"])
def test_one_registry_alone_is_refused_as_nothing_could_move(write: Write, side: str) -> None:
    other = "target" if side == "source" else "source"
    (problem,) = check(write(schemas(f'{side}: {{url: "http://a:8081"}}')))
    assert (problem.path, problem.text) == (f"schemas.{other}", "is required")


def test_strict_is_refused_where_records_keep_their_ids(write: Write) -> None:
    changes = "changes: [{topics: [a], ids: {strict: true}}]\n"
    for text in (LINK, schemas(BOTH), schemas(f"{BOTH}, ids: keep")):
        (problem,) = check(write(text + changes))
        assert problem.path == "changes[0].ids"
        assert "needs `schemas.ids: translate`" in problem.text
    for text in (f"{BOTH}, strict: true", f"{BOTH}, ids: keep, strict: true"):
        (problem,) = check(write(schemas(text)))
        assert problem.path == "schemas.strict"
        assert "needs `ids: translate`" in problem.text


def test_strict_holds_for_all_topics_but_those_that_say_otherwise(write: Write) -> None:
    uuid = "7f2c7f43-5f26-4b2b-9f5f-2f2a5e2f9a10"
    changes = (
        "changes:\n- {topics: [lax], ids: {strict: false}}\n- {topics: [late], ids: {wait: 5s}}\n"
        f"- {{topics: [glue], ids: {{framing: from-glue, glue: {{{uuid}: 1}}}}}}\n"
        "- {topics: [strict], ids: {strict: true}}\n- {topics: [coded], codec: zstd}\n"
    )

    def strict(topic: str, keys: str) -> bool:
        ids = load(write(schemas(f"{BOTH}, ids: translate{keys}") + changes)).change_of(topic).ids
        assert ids is not None
        return ids.strict

    for topic in ("late", "glue", "coded", "other"):
        assert (strict(topic, ", strict: true"), strict(topic, "")) == (True, False)
    assert [strict(topic, ", strict: true") for topic in ("lax", "strict")] == [False, True]
    assert [strict(topic, "") for topic in ("lax", "strict")] == [False, True]


@pytest.mark.parametrize("key", ["key", "partitioner", "partition", "timestamp", "timestamp_ms"])
def test_what_would_change_where_records_go_is_no_key(write: Write, key: str) -> None:
    """Redpanda's output takes them, and its migrator refuses them."""
    text = LINK.replace(
        'target: {bootstrap: "b:9092"}', f'target: {{bootstrap: "b:9092", {key}: x}}'
    )
    (problem,) = check(write(text))
    assert problem.path == f"target.{key}"
    assert "unknown key" in problem.text


@pytest.mark.parametrize(
    ("keys", "versions"),
    [
        ("", SchemaVersions.ALL),
        (", versions: all", SchemaVersions.ALL),
        (", versions: latest", SchemaVersions.LATEST),
    ],
)
def test_versions_are_read_and_written_by_their_words(
    write: Write, keys: str, versions: SchemaVersions
) -> None:
    found = load(write(schemas(BOTH + keys))).schemas
    assert found is not None
    assert found.versions is versions
    assert found.model_dump(mode="json")["versions"] == str(versions) == versions.value
    assert (found.ids, found.deleted) == (SchemaIds.KEEP, DeletedVersions.SKIP)


@pytest.mark.parametrize("wrong", ["first", "Latest", "3", "[1, 2]", '""'])
def test_other_versions_are_refused_with_the_words_that_there_are(write: Write, wrong: str) -> None:
    (problem,) = check(write(schemas(f"{BOTH}, versions: {wrong}")))
    assert problem.path == "schemas.versions"
    assert "all, latest" in problem.text


def test_lint_names_a_wrong_value_with_those_that_are_right(write: Write, here: Here) -> None:
    file = str(write(schemas(f"{BOTH}, versions: first")))
    said = here("lint", file)
    assert said.code == 2
    assert "schemas.versions: 'first' is not one of all, latest" in " ".join(said.said.split())
    assert here("lint", str(write(schemas(BOTH)))).code == 0
