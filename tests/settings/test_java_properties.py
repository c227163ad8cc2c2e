"""Properties files with the lines of their keys, as Java reads them."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.settings.java_properties import parse

TEXT = r"""
# a comment \
! another one
clusters = us, eu
us.bootstrap.servers:us-1:9092,\
    us-2:9092
   blank   value with blanks
empty
also.empty =
path=C:\\kafka\tx\u0041
a\=b\:c\ d = e=f
last = one
last = two
"""


def test_a_file_is_read_as_java_reads_it() -> None:
    found = {each.key: each.value for each in parse(TEXT)}
    assert found == {
        "clusters": "us, eu",
        "us.bootstrap.servers": "us-1:9092,us-2:9092",
        "blank": "value with blanks",
        "empty": "",
        "also.empty": "",
        "path": "C:\\kafka\txA",
        "a=b:c d": "e=f",
        "last": "two",
    }


def test_lines_are_told_and_values_never_shown() -> None:
    lines = {each.key: each.line for each in parse(TEXT)}
    assert (lines["clusters"], lines["us.bootstrap.servers"], lines["last"]) == (4, 5, 13)
    assert "two" not in repr(parse(TEXT)[-1])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=b\\", "b"),
        ("a=b\\\\", "b\\"),
        ("a=b\\\\\\\nc", "b\\c"),
        ("a=b\r\n\r\n#x", "b"),
        ("a=\\\n\n", ""),
        ("a=\\\n  b\\\n  c", "bc"),
        ("\\\na=b", "b"),
    ],
)
def test_backslashes_and_ends_of_lines(text: str, value: str) -> None:
    assert [(each.key, each.value) for each in parse(text)] == [("a", value)]


def test_a_wrong_escape_is_told_with_its_line() -> None:
    with pytest.raises(ValueError, match=r"line 2: \\u is not followed by four hexadecimal digits"):
        parse("a=b\nc=\\u00")


@given(st.text())
def test_any_text_is_read_or_refused_with_its_line(text: str) -> None:
    with suppress(ValueError):
        parse(text)


ESCAPED = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)


@given(st.dictionaries(ESCAPED, ESCAPED, max_size=5))
def test_what_is_escaped_is_read_back(wanted: dict[str, str]) -> None:
    def escaped(text: str) -> str:
        return "".join(f"\\u{unit:04x}" for unit in _units(text))

    text = "\n".join(f"{escaped(key)}={escaped(value)}" for key, value in wanted.items())
    assert {each.key: each.value for each in parse(text)} == wanted


def _units(text: str) -> list[int]:
    raw = text.encode("utf-16-be")
    return [int.from_bytes(raw[at : at + 2], "big") for at in range(0, len(raw), 2)]
