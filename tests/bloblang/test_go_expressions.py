"""Regular expressions of Go, as Python means them."""

from __future__ import annotations

import re

import pytest

from towpath.bloblang.evaluate import MessageScope, evaluate
from towpath.bloblang.go_expressions import python_expression
from towpath.bloblang.parser import parse_query

FOUND: dict[str, tuple[list[str], list[str]]] = {
    r"^[[:alpha:]]+$": (["orders"], ["o1", ":]"]),
    r"^[[:^digit:]_]+$": (["a-b", "_"], ["a1"]),
    r"^[^[:space:]]+$": (["a.b"], ["a b", "a\tb"]),
    r"^[][a]+$": (["[]", "a]"], ["b"]),
    r"^[a[b]+$": (["a[b"], ["c"]),
    r"^[a&&b]+$": (["&a"], ["c"]),
    r"^[\]x]+$": (["]x"], ["y"]),
    r"^\Qa.b\E+$": (["a.bb"], ["axb"]),
    r"a.b\Q.": (["a-b."], ["a-bc"]),
    r"a\z": (["ba"], ["ab"]),
    r"^a\x{62}[\x{63}-\x{64}]$": (["abc", "abd"], ["abe"]),
    r"^x{,2}$": (["x{,2}"], ["xx"]),
    r"^x{1,2}$": (["xx"], ["xxx"]),
    r"^(?<first>a)b": (["ab"], ["b"]),
    r"^\w+$": (["a_1"], ["\u00e9"]),
    r"^[\d.]+$": (["1.2"], ["\u0661"]),
    r"(?i)^EU\d": (["eu1"], ["eux"]),
    r"(?U)^eu": (["eu"], ["x"]),
    r"(?sU)a.b": (["a\nb"], ["ab"]),
    r"a\\z": ([r"a\z"], ["a"]),
    r"^\[[:]": (["[:"], ["a"]),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("text", FOUND)
def test_an_expression_finds_what_it_finds_in_go(text: str) -> None:
    made = re.compile(python_expression(text))
    found, left = FOUND[text]
    assert all(map(made.search, found))
    assert not any(map(made.search, left))


REFUSED = {
    r"\pL": "bad escape",
    "a(": "missing \\), unterminated subpattern",
    "[[:letters:]]": "no class; known are alnum, alpha",
    r"\x{ffffff}": "no character",
    "a(?i)b": "global flags not at the start",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_python_cannot_mean_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(ValueError, match=REFUSED[text]):
        python_expression(text)


def test_methods_of_expressions_take_them_too() -> None:
    scope = MessageScope({"kafka_topic": "eu.orders-7"})
    text = r'@kafka_topic.re_replace_all("[[:punct:]]", "_")'
    assert evaluate(parse_query(text), scope) == "eu_orders_7"
    assert evaluate(parse_query(r'@kafka_topic.re_match("(?i)^EU[[:punct:]]")'), scope) is True
