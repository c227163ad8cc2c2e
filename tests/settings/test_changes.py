"""The section `changes`: what it means, and every problem of it at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from towpath.ledger.books.ids import IdBooks
from towpath.model.changes import (
    AddedHeader,
    BytesMatch,
    DropRule,
    HeaderContent,
    IdChange,
    Malformed,
    RecordChange,
    SubjectStrategy,
    Undeliverable,
)
from towpath.model.nouns import TopicName
from towpath.schemas.ids_standing import IdsStanding
from towpath.settings import check, load

Write = Callable[[str], Path]
LINK = """\
source: {bootstrap: "a:9092"}
target: {bootstrap: "b:9092"}
link: orders
topics: {include: [".*"]}
"""
SCHEMAS = """\
schemas:
  source: {url: "http://a:8081"}
  target: {url: "http://b:8081"}
  ids: translate
"""


def test_all_problems_of_the_section_are_told_at_once(write: Write) -> None:
    first, second = UUID(int=1), UUID(int=2)
    file = write(
        f"""{LINK}records: {{offsets: identical}}
changes:
  - topics: [a]
    drop: [{{tombstones: true}}]
  - topics: [b]
    drop: [{{tombstones: true}}]
    ids: {{key: record}}
  - topics: [c]
    ids: {{framing: from-glue, glue: {{{first}: 5, {second}: 6}}}}
  - topics: [d]
    ids: {{framing: from-glue, glue: {{{first}: 6, {second}: 7}}}}
"""
    )
    told = [problem.path for problem in check(file)]
    assert told == [
        "changes[0].drop", "changes[1].drop", "changes[1].ids",
        "changes[3].ids.glue.*", "changes[3].ids.glue.*",
    ]  # fmt: skip
    file = write(
        f"""{LINK}changes:
  - topics: [a]
    headers: [{{name: x, value: a}}, {{name: x, value: b}}]
    redact: [x, __key_schema_id]
"""
    )
    assert [problem.path for problem in check(file)] == [
        "changes[0].headers[1].name", "changes[0].redact[0]", "changes[0].redact[1]",
    ]  # fmt: skip
    file = write(
        f"""{LINK}changes:
  - topics: [a]
    drop: [{{key: {{equals: [zz, "00"], prefixes: [y], encoding: hex}}}}]
  - topics: [b]
    ids: {{framing: from-glue, glue: {{{first}: true, {second}: "12"}}}}
  - topics: [c]
    ids: {{framing: from-glue, glue: {{none: 5, {second}: 0}}}}
"""
    )
    told = [problem.path for problem in check(file)]
    keys = ["changes[0].drop[0].key.equals[0]", "changes[0].drop[0].key.prefixes[0]"]
    assert told[:4] == [*keys, *["changes[1].ids.glue.*"] * 2]
    assert told[4:] == ["changes[2].ids.glue.none", "changes[2].ids.glue.*"]


def test_a_topic_without_any_schemas_is_not_changed(write: Write) -> None:
    """Its batches are not even opened."""
    ids = "ids: {key: none, value: none}"
    config = load(write(f"{LINK}{SCHEMAS}changes:\n  - topics: [raw]\n    {ids}\n"))
    assert config.change_of("raw") == RecordChange()
    assert config.change_of("raw").digest == ""
    assert config.change_of("orders").ids == IdChange()


def test_what_the_file_says_becomes_the_change_of_a_topic(write: Write) -> None:
    config = load(
        write(
            LINK
            + SCHEMAS
            + """\
changes:
  - topics: ["orders.*"]
    drop:
      - key: {prefixes: ["tmp-"]}
        tombstones: true
      - {name: ours, provenance: redpanda-migrator-provenance}
      - before: 2025-01-01T00:00:00Z
    ids: {key: none, value: topic-record, malformed: quarantine, strict: true, wait: 5s}
    redact: [authorization]
    headers: [{name: env, value: prod}, {name: from, of: chain}]
    redpanda: {}
    codec: zstd
    undeliverable: skip
  - topics: [".*"]
    redpanda: {provenance: ""}
"""
        )
    )
    assert config.change_of("orders-1") == RecordChange(
        drop=(
            DropRule(name="key+tombstones", key=BytesMatch(prefixes=("tmp-",)), tombstone=True),
            DropRule(name="ours", provenance="redpanda-migrator-provenance"),
            DropRule(name="timestamp", before=1_735_689_600_000),
        ),
        ids=IdChange(
            key=None,
            value=SubjectStrategy.TOPIC_RECORD,
            malformed=Malformed.QUARANTINE,
            strict=True,
            wait_ms=5000,
        ),
        redact=("authorization",),
        headers=(
            AddedHeader(name="env", text="prod"),
            AddedHeader(name="from", content=HeaderContent.CHAIN),
            AddedHeader(
                name="redpanda-migrator-provenance", content=HeaderContent.REDPANDA_PROVENANCE
            ),
            AddedHeader(name="redpanda-migrator-offset", content=HeaderContent.REDPANDA_OFFSET),
        ),
        codec="zstd",
        undeliverable=Undeliverable.SKIP,
    )
    other = config.change_of("payments")
    assert [header.name for header in other.headers] == ["redpanda-migrator-offset"]
    assert other.ids == IdChange()


def test_without_it_records_stay_as_they_are(write: Write) -> None:
    assert load(write(LINK)).change_of("orders").digest == ""
    assert load(write(LINK + SCHEMAS)).change_of("orders") == RecordChange(ids=IdChange())


def test_glue_needs_no_registry_but_the_ids(write: Write) -> None:
    text = 'ids: {framing: from-glue, glue: {"7f2c7f43-5f26-4b2b-9f5f-2f2a5e2f9a10": 12}}'
    config = load(write(LINK + f'changes: [{{topics: ["a"], {text}}}]\n'))
    found = config.change_of("a").ids
    assert found is not None
    assert not found.in_headers
    assert IdsStanding.of(config, IdBooks()) is not None


def test_all_problems_are_told_at_once(write: Write) -> None:
    problems = check(
        write(
            LINK
            + """\
records: {offsets: identical}
changes:
  - topics: []
    drop:
      - {}
      - {key: {}}
      - {key: {equals: [zz], encoding: hex}}
      - {before: 2025-01-01T00:00:00Z, since: 2026-01-01T00:00:00Z}
      - {before: 7d}
    headers:
      - {name: a}
      - {name: a, value: b, of: topic}
    codec: brotli
  - topics: [a]
    redact: [x]
    headers: [{name: x, value: "1"}]
  - topics: [b]
    headers: [{name: __value_schema_id, value: "1"}]
  - topics: [c]
    ids: {framing: to-glue}
  - topics: [d]
    ids: {framing: from-glue, glue: {x: 1}}
  - topics: [e]
    drop: [{key: {equals: ["\\ud800"]}}]
    headers: [{name: a, value: "\\udc00"}]
  - topics: [f]
    ids:
      framing: from-glue
      glue:
        00000000-0000-0000-0000-00000000000a: 1
        0000000000000000000000000000000A: 2
  - topics: [g]
    ids:
      framing: to-glue
      glue:
        00000000-0000-0000-0000-00000000000a: 1
        00000000-0000-0000-0000-00000000000b: 1
"""
        )
    )
    assert [problem.path for problem in problems] == [
        "changes[0].topics",
        "changes[0].drop",
        "changes[0].drop[0]",
        "changes[0].drop[1].key",
        "changes[0].drop[2].key.equals[0]",
        "changes[0].drop[3].before",
        "changes[0].drop[4].before",
        "changes[0].headers[0].of",
        "changes[0].headers[1].name",
        "changes[0].headers[1].value",
        "changes[0].codec",
        "changes[1].redact[0]",
        "changes[2].headers[0].name",
        "changes[3].ids.glue",
        "changes[4].ids.glue.x",
        "changes[5].drop",
        "changes[5].drop[0].key.equals[0]",
        "changes[5].headers[0].value",
        "changes[6].ids.glue.*",
        "changes[7].ids.glue",
    ]


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        ("drop: [{tombstones: true}]", "changes[0].drop"),
        ("ids: {}", "changes[0].ids"),
    ],
)
def test_what_other_sections_rule_out(write: Write, entry: str, path: str) -> None:
    text = f'{LINK}records: {{offsets: identical}}\nchanges:\n  - topics: ["a"]\n    {entry}\n'
    (problem,) = check(write(text))
    assert problem.path == path


GLUE = """\
changes:
  - {{topics: [a], ids: {{framing: {first}, glue: {{{map_of_a}}}}}}}
  - {{topics: [b], headers: [{{name: x, value: "1"}}]}}
  - {{topics: [c], ids: {{framing: {second}, glue: {{{map_of_c}}}}}}}
"""
ONE, TWO = "00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"


@pytest.mark.parametrize(
    ("framing", "map_of_a", "map_of_c", "said"),
    [
        ("from-glue", f"{ONE}: 12, {TWO}: 13", f"{TWO}: 13, {ONE.upper()}: 14",
         f"gives UUID {ONE} the answer 14, and changes[0].ids.glue gives it 12;"),
        ("to-glue", f"{ONE}: 12", f"{TWO}: 12",
         f"gives id 12 the answer {TWO}, and changes[0].ids.glue gives it {ONE};"),
    ],
)  # fmt: skip
def test_one_id_has_one_answer_in_all_sections(
    write: Write, framing: str, map_of_a: str, map_of_c: str, said: str
) -> None:
    same = GLUE.format(first=framing, second=framing, map_of_a=map_of_a, map_of_c=map_of_a)
    assert check(write(LINK + same)) == ()
    text = GLUE.format(first=framing, second=framing, map_of_a=map_of_a, map_of_c=map_of_c)
    (problem,) = check(write(LINK + text))
    assert problem.path == "changes[2].ids.glue.*"
    assert said in problem.text
    assert problem.spot is not None


def test_out_of_glue_and_into_it_are_two_maps(write: Write) -> None:
    text = GLUE.format(
        first="from-glue", second="to-glue", map_of_a=f"{ONE}: 12", map_of_c=f"{ONE}: 13"
    )
    assert check(write(LINK + text)) == ()


TEMPLATED = """\
changes:
  - topics: ["a.*"]
    headers: [{name: from, template: '${! @kafka_topic.split("-").index(1).uppercase() }-eu'}]
"""


def test_a_header_is_made_of_the_name_of_its_topic(write: Write) -> None:
    config = load(write(LINK + TEMPLATED))
    assert config.change_of("a-b").headers == (AddedHeader(name="from", text="B-eu"),)
    assert config.change_of("a-b").digest != config.change_of("a-c").digest
    told = config.unchangeable([TopicName("a-b"), TopicName("alone"), TopicName("other")])
    assert [*told] == ["alone"]
    assert (
        "the header from of topic alone has no value: index 1 is beyond" in told[TopicName("alone")]
    )


@pytest.mark.parametrize(
    ("header", "why"),
    [
        ("template: plain", "has no expression such as ${! @kafka_topic }; write it as `value`"),
        ("template: '${! @kafka_offset }'", "asks for @kafka_offset; a template is about"),
        ("template: '${! this.a }'", "asks for the message; a template is about @kafka_topic"),
        ("template: '${! @kafka_topic }', of: topic", "give one of `value`, `of` and `template`"),
    ],
)
def test_a_template_is_about_the_topic_alone(write: Write, header: str, why: str) -> None:
    [problem] = check(
        write(f"{LINK}changes: [{{topics: [a], headers: [{{name: x, {header}}}]}}]\n")
    )
    assert why in problem.sentence
