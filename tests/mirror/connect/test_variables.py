"""Variables in files of Redpanda Connect."""

from __future__ import annotations

import pytest

from towpath.mirror.connect.variables import fill

SET = {"A": "one", "A.B": "two", "EMPTY": "", "B64": "Zm9vYmFy", "LINES": "a\nb", "LIST": "[x, y]"}
# The forms, and what Connect makes of them, are those of benthos' own tests (env_vars_test.go).
FILLED = {
    "x ${A} y": "x one y",
    "${A.B}": "two",
    "${A:other}": "one",
    "${EMPTY}": "",
    "${EMPTY:other}": "other",
    "${NOT:other}": "other",
    "${NOT:}": "",
    "${NOT:a:b}": "a:b",
    "${NOT:${A}}": "${A}",
    "${NOT:a|b}": None,
    "${B64|base64decode}": "foobar",
    "${NOT:Zm9vYmFy|base64decode}": "foobar",
    "${{A}}": "${A}",
    "${{A:x}}": "${A:x}",
    "${LINES}": "a\\nb",
    "topics: ${LIST}": "topics: [x, y]",
    "${! @kafka_topic }": "${! @kafka_topic }",
    "$A {A}": "$A {A}",
}


@pytest.mark.parametrize("text", [each for each in FILLED if FILLED[each] is not None])
def test_variables_are_put_in_before_yaml_is_read(text: str) -> None:
    made = fill(text, SET)
    assert (made.text, made.faults) == (FILLED[text], ())


def test_what_is_wrong_is_told_with_its_place() -> None:
    made = fill("a: ${A}\nb:  ${NOT}\nc: ${A|rot13}\nd: ${A|base64decode}\n", SET)
    assert made.faults == (
        (2, 5, "variable NOT is not set, and has no default"),
        (3, 4, "the function rot13 is not known; there is base64decode"),
        (4, 4, "base64decode: the value is not base64 of a text"),
    )


def test_what_may_be_missing_stays_as_it_is() -> None:
    made = fill("a: ${NOT}", SET, required=False)
    assert (made.text, made.faults, made.open) == ("a: ${NOT}", (), frozenset({1}))
