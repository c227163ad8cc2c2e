"""Expressions of Bloblang: what they give, and what is refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.bloblang import (
    BloblangError,
    MessageScope,
    evaluate,
    parse_mapping,
    parse_query,
    parse_template,
)
from towpath.bloblang.functions import DELETED, NOTHING
from towpath.bloblang.nodes import Literal, MetadataOf, with_metadata
from towpath.bloblang.show import shown, template_text

SCOPE = MessageScope(
    {"kafka_topic": "eu.orders.v1", "kafka_key": b"k-1", "n": 7}, this={"x": {"y": 3}}
)

VALUES = {
    "@kafka_topic": "eu.orders.v1",
    '@"kafka_topic"': "eu.orders.v1",
    'metadata("kafka_topic")': "eu.orders.v1",
    'meta("kafka_topic")': "eu.orders.v1",
    "@nowhere": None,
    "@nowhere.or(5)": 5,
    '@kafka_topic.or(throw("no topic"))': "eu.orders.v1",
    '@kafka_topic.replace(".", "_")': "eu_orders_v1",
    '@nowhere | "x"': "x",
    '"a" + "b"': "ab",
    '"""a "quoted" b"""': 'a "quoted" b',
    r'"tab\tend"': "tab\tend",
    "1 + 2 * 3": 7,
    "(1 + 2) * 3": 9,
    "-2 + 5": 3,
    "7 / 2": 3.5,
    "7 % 4": 3,
    "true || false && false": False,  # from left to right: both bind alike
    "1 + 1 == 2": True,
    "!(1 == 2)": True,
    '@kafka_key == "k-1"': True,  # bytes and texts are one
    '1 == "1"': False,
    "true == 1": False,
    "this.x.y": 3,
    "x.y": 3,
    "this.z.y": None,
    '@kafka_topic.split(".")': ["eu", "orders", "v1"],
    '@kafka_topic.split(".").index(-1)': "v1",
    '@kafka_topic.split(".").1': "orders",
    '@kafka_topic.split(".").0.uppercase()': "EU",
    '@kafka_topic.split(".").9.or("none")': "none",
    '["a", "b"].join("-")': "a-b",
    '@kafka_topic.replace_all(".", "_")': "eu_orders_v1",
    r'@kafka_topic.re_replace_all("^eu\\.(.*)$", "us.$1")': "us.orders.v1",
    r'"ab".re_replace_all("(?P<first>a)", "${first}x")': "axb",
    r'@kafka_topic.re_match("v\\d$")': True,
    '@kafka_topic.trim_prefix("eu.").trim_suffix(".v1").uppercase()': "ORDERS",
    '@kafka_topic.has_prefix("eu.") && @kafka_topic.has_suffix("v1")': True,
    '@kafka_topic.contains("orders")': True,
    "@kafka_topic.slice(0, 2)": "eu",
    "@kafka_topic.slice(-2)": "v1",
    "@kafka_topic.slice(-99, 99)": "eu.orders.v1",
    '"é-x".slice(0, 2)': "é",  # bytes, as Go counts
    # as cases.Title of Go (x/text 0.14) gives it, for English
    '"eu.orders_v1 fooBAR-x a..b 1st it\'s".capitalize()': "Eu.orders_v1 Foobar-X A..B 1St It's",
    '"ab".split("")': ["a", "b"],
    '"x".number(5)': 5,
    "(7000000 / 2).string()": "3500000",
    "(1 / 10000000).string()": "0.0000001",
    "@kafka_topic.length()": 12,
    '"é".length()': 2,  # bytes, as Go counts
    '"12".number() + 1': 13,
    "@n.string()": "7",
    "(7 / 2).string()": "3.5",
    'throw("no").catch("yes")': "yes",
    'if @n > 5 { "many" } else { "few" }': "many",
    'if @n < 5 { "few" } else if @n == 7 { "seven" } else { "many" }': "seven",
    'if @n < 5 { "few" }': NOTHING,
    'match @n { 1 => "one", 7 => "seven", _ => "?" }': "seven",
    'match @kafka_topic { this.has_prefix("eu") => "Europe"\n _ => this }': "Europe",
    'match { @n == 7 => "seven"\n _ => "?" }': "seven",
    "deleted()": DELETED,
    "1 # a comment\n + 1": 2,
}


@pytest.mark.parametrize("text", VALUES)
def test_an_expression_has_its_value(text: str) -> None:
    value = evaluate(parse_query(text), SCOPE)
    assert value == VALUES[text]
    assert type(value) is type(VALUES[text])


NONE = {
    'throw("no topic")': "no topic",
    '@nowhere.or(throw("no header"))': "no header",
    "@n.uppercase()": "a text is expected, not a number",
    '1 + "a"': "+ between a number and a text",
    "1 / 0": "division by zero",
    '"a".number()': "a text that is no number",
    '"1_000".number()': "a text that is no number",
    '"1e999".number()': "a text that is no number",
    '"abc".slice(5)': "slice from 5 to 3, which lies before",
    '"abc".slice("a")': "slice needs whole numbers",
    '["a"].index(3)': "index 3 is beyond the end of 1",
    "!@n": "true or false is expected, not a number",
}


@pytest.mark.parametrize("text", NONE)
def test_an_expression_without_value_tells_why(text: str) -> None:
    with pytest.raises(BloblangError, match=re.escape(NONE[text])):
        evaluate(parse_query(text), SCOPE)


REFUSED = {
    '@kafka_topic | replace("a", "b")': (
        "the function replace is not known here; a method stands behind its value"
    ),
    "@kafka_topic.uppercse()": "the method uppercse is not known here; did you mean uppercase?",
    '@kafka_topic.split(".").0.1': "0.1 is no place in a list; write one number behind each point",
    "@kafka_topic.split()": "the method split takes 1 arguments, not 0",
    "1 +": "the expression ends too early",
    "1 + * 2": "not understood from '* 2' on",
    r'"\q"': "has an unknown escape",
    "meta(5)": "meta() needs a name in quotes",
    "!(" * 3000 + "true" + ")" * 3000: "the expression is nested too deeply",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_known_is_refused_before_a_record_comes(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(REFUSED[text])):
        parse_query(text)


def test_a_mapping_has_statements() -> None:
    made = parse_mapping(
        """
        # what is not ours
        root = if @kafka_key == "x" { deleted() } else { this }
        meta note = "seen"
        root.a."b c" = 5
        let n = 1
        """
    )
    assert [each.target for each in made] == ["root", "meta note", "root.a.b c", "let n"]


@given(st.text(max_size=40))
def test_no_text_breaks_the_parser(text: str) -> None:
    try:
        node = parse_query(text)
    except ValueError:
        return
    try:
        evaluate(node, SCOPE)
    except BloblangError:
        return


_TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)


@given(_TEXTS, _TEXTS, _TEXTS)
def test_texts_are_what_they_were_written_as(first: str, second: str, third: str) -> None:
    import json

    quoted = [json.dumps(each) for each in (first, second, third)]
    text = f"{quoted[0]} + {quoted[1]}.replace_all({quoted[1]}, {quoted[2]})"
    replaced = second.replace(second, third)
    assert evaluate(parse_query(text), MessageScope()) == first + replaced


@pytest.mark.parametrize("text", VALUES)
def test_an_expression_is_written_as_it_was_read(text: str) -> None:
    node = parse_query(text)
    assert parse_query(shown(node)) == node
    assert parse_template(template_text(("a-", node))).parts == ("a-", node)


def test_texts_that_look_like_expressions_stay_texts() -> None:
    parts = ("${! @x } and ${{! y }}", MetadataOf("kafka_topic"))
    made = parse_template(template_text(parts))
    assert made.text_of({"kafka_topic": "t"}) == "${! @x } and ${{! y }}t"


def test_metadata_is_replaced_wherever_it_stands() -> None:
    node = parse_query('if @x == "a" { [@x, @y].join("-") } else { match @x { "b" => @x } }')
    made = with_metadata(node, {"x": Literal("a")})
    assert {each.name for each in made.parts() if isinstance(each, MetadataOf)} == {"y"}
    assert evaluate(made, MessageScope({"y": "c"})) == "a-c"
