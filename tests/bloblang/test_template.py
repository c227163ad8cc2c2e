"""Texts with expressions in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.bloblang import BloblangError, MessageScope, parse_template

SCOPE = MessageScope({"kafka_topic": "orders"})
TEXTS = {
    "plain": "plain",
    "prod_${! @kafka_topic }": "prod_orders",
    "${!@kafka_topic}-${! @kafka_topic.uppercase() }": "orders-ORDERS",
    "${{! @kafka_topic }}": "${! @kafka_topic }",
    "$5 ${x} {y}": "$5 ${x} {y}",
    '${! if true { "}" } else { "{" } }!': "}!",
    "${! 1 == 1 }": "true",
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_made_for_each_message(text: str) -> None:
    assert parse_template(text).text(SCOPE) == TEXTS[text]


@pytest.mark.parametrize("text", ["${! @kafka_topic", "${{! x }", "${! }", "${! @a b }"])
def test_what_is_not_closed_or_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not closed|too early|not understood"):
        parse_template(text)


def test_null_is_no_text() -> None:
    with pytest.raises(BloblangError, match="null instead of a text"):
        parse_template("x-${! @kafka_tpoic }").text(SCOPE)


def test_a_template_tells_what_it_asks_for() -> None:
    made = parse_template('${! @a }${! metadata("b").or(this.c) }')
    assert (made.metadata, made.reads_content) == (frozenset({"a", "b"}), True)


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ('${! match @kafka_topic { this == "a" => "b", _ => this } }', False),
        (
            '${! match @kafka_topic { this.has_prefix("eu") => this.uppercase() \n _ => "x" } }',
            False,
        ),
        ("${! match this { _ => 1 } }", True),
        ("${! match { this.a == 1 => 1 } }", True),
        ("${! match @a { 1 => if true { this } else { 2 } } }", False),
        ("${! this.a }", True),
    ],
)
def test_what_match_compares_is_no_content(text: str, reads: bool) -> None:
    assert parse_template(text).reads_content is reads


@given(st.text(st.characters(exclude_characters="$"), max_size=30))
def test_a_text_without_dollars_stays_as_it_is(text: str) -> None:
    assert parse_template(text).text(SCOPE) == text
