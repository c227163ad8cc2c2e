"""Mappings that drop records become drop rules, and nothing else becomes anything."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.bloblang import BloblangError, MessageScope, evaluate, parse_mapping
from towpath.bloblang.functions import DELETED
from towpath.mirror.connect.filters import Filtered, drops_of, filtered
from towpath.mirror.connect.translate import _timed
from towpath.settings.sections.changes import ChangesConfig

ANY = ".*"
MAPPINGS: dict[str, tuple[Filtered, ...]] = {
    "root = this": (),
    "root = deleted()": (Filtered(ANY, whole=True),),
    'root = if @kafka_key == "a" { deleted() }': (Filtered(ANY, ({"key": {"equals": ["a"]}},)),),
    'root = if @kafka_key.string().has_prefix("a") { deleted() } else { this }': (
        Filtered(ANY, ({"key": {"prefixes": ["a"]}},)),
    ),
    'root = if !(@kafka_key != "a" || false) { deleted() }': (),  # filled below
    'root = if @a == "1" || @b.or("") == "2" { deleted() }': (
        Filtered(
            ANY,
            (
                {"header": {"name": "a", "equals": ["1"]}},
                {"header": {"name": "b", "equals": ["2"]}},
            ),
        ),
    ),
    'root = if @a == "1" && @kafka_timestamp_ms < 500 { deleted() }': (
        Filtered(ANY, ({"header": {"name": "a", "equals": ["1"]}, "before": 500},)),
    ),
    "root = if @kafka_timestamp_unix > 5 && !(@kafka_timestamp_ms > 9000) { deleted() }": (
        Filtered(ANY, ({"since": 6000, "before": 9001},)),
    ),
    'root = if metadata("trace") != null { deleted() }': (
        Filtered(ANY, ({"header": {"name": "trace"}},)),
    ),
    "root = if @kafka_tombstone_message { deleted() }": (Filtered(ANY, ({"tombstones": True},)),),
    'root = if @kafka_topic == "logs" { deleted() }': (Filtered("(?=logs$).*", whole=True),),
    'root = if @kafka_topic != "orders" { deleted() }': (Filtered("(?!orders$).*", whole=True),),
    'root = if @kafka_topic.has_prefix("eu.") && @kafka_key == "a" { deleted() }': (
        Filtered("(?=eu\\..*$).*", ({"key": {"equals": ["a"]}},)),
    ),
    'root = match { @kafka_key == "a" => deleted(), _ => this }': (
        Filtered(ANY, ({"key": {"equals": ["a"]}},)),
    ),
    "root = if @kafka_timestamp_ms >= 5 { this } else { deleted() }": (
        Filtered(ANY, ({"before": 5},)),
    ),
    'meta note = "seen"': (),
}
del MAPPINGS['root = if !(@kafka_key != "a" || false) { deleted() }']


@pytest.mark.parametrize("text", MAPPINGS)
def test_a_mapping_becomes_rules(text: str) -> None:
    made = filtered(drops_of(parse_mapping(text)))
    assert made == MAPPINGS[text]
    for each in made:
        if not each.whole:
            timed = [_timed(rule) for rule in each.rules]
            ChangesConfig.model_validate({"topics": [each.topics], "drop": timed})


REFUSED = {
    'root.name = "x"': "`root.name = ...` changes records",
    'root = this.merge({"a": 1})': None,
    'root = "x"': "`root = ...` changes records; only `deleted()` is known here",
    'meta kafka_key = "x"': "`meta kafka_key = ...` changes records",
    "root = if this.amount > 5 { deleted() }": "asks for something that drop rules",
    'root = if @kafka_key != "a" { deleted() }': "asks for something that drop rules",
    'root = if @kafka_offset == "a" { deleted() }': "compares something else than the key or a",
    'root = if @a == "1" && @b == "2" { deleted() }': "two things of one header at once",
}


@pytest.mark.parametrize("text", [each for each in REFUSED if REFUSED[each]])
def test_what_no_rule_can_do_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(str(REFUSED[text]))):
        filtered(drops_of(parse_mapping(text)))


_ATOMS = st.sampled_from(
    [
        '@kafka_topic == "eu"',
        '@kafka_topic != "us"',
        '@kafka_topic.has_prefix("e")',
        '@kafka_key == "a"',
        '@kafka_key.has_prefix("a")',
        "@kafka_timestamp_ms < 50",
        "@kafka_timestamp_ms >= 20",
        '@trace == "x"',
        "@trace != null",
        "@kafka_tombstone_message",
        "true",
        "false",
    ]
)
_CONDITIONS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["&&", "||"]), inner).map(lambda t: f"({' '.join(t)})"),
        inner.map(lambda text: f"!({text})"),
    ),
    max_leaves=5,
)
_RECORDS = st.fixed_dictionaries(
    {
        "kafka_topic": st.sampled_from(["eu", "us", "e1"]),
        "kafka_key": st.sampled_from(["a", "ab", "b"]),
        "kafka_timestamp_ms": st.integers(0, 60),
        "kafka_tombstone_message": st.booleans(),
    },
    optional={"trace": st.sampled_from(["x", "y"])},
)


def holds(rule: dict[str, Any], record: dict[str, Any]) -> bool:
    """Return whether a record is dropped by a rule, as docs/changes.md says."""

    def fits(text: str, match: dict[str, Any]) -> bool:
        equals, prefixes = match.get("equals", ()), match.get("prefixes", ())
        return text in equals or text.startswith(tuple(prefixes)) or not (equals or prefixes)

    stamp = record["kafka_timestamp_ms"]
    header = rule.get("header")
    return (
        ("key" not in rule or fits(record["kafka_key"], rule["key"]))
        and (header is None or (header["name"] in record and fits(record["trace"], header)))
        and ("before" not in rule or stamp < rule["before"])
        and ("since" not in rule or stamp >= rule["since"])
        and (not rule.get("tombstones") or record["kafka_tombstone_message"])
    )


@given(_CONDITIONS, st.lists(_RECORDS, min_size=1, max_size=6))
def test_rules_drop_what_the_mapping_drops(condition: str, records: list[dict[str, Any]]) -> None:
    statements = parse_mapping(f"root = if {condition} {{ deleted() }} else {{ this }}")
    try:
        made = filtered(drops_of(statements))
    except ValueError:
        return  # refused, with a reason
    for record in records:
        mine = [each for each in made if re.fullmatch(each.topics, record["kafka_topic"])]
        ours = any(each.whole or any(holds(r, record) for r in each.rules) for each in mine)
        try:
            theirs = evaluate(statements[0].value, MessageScope(record)) is DELETED
        except BloblangError:
            continue
        assert ours is theirs
