"""Properties files keep what is not changed, byte by byte, and mean what Java reads in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.settings.java_properties import PropertiesFormError, change_properties, read_properties

FILE = b"""# the broker
broker.id=1
 listeners = PLAINTEXT://:9092,\\
   SASL://:9093

! old
log.dirs:/a,/b
path=C\\:\\\\x
broker.id=2
"""
KEYS = st.text(st.characters(max_codepoint=0x2FFF, exclude_categories=["Cs"]), max_size=12)


def test_a_file_means_what_java_reads() -> None:
    assert read_properties(FILE) == {
        "broker.id": "2",
        "listeners": "PLAINTEXT://:9092,SASL://:9093",
        "log.dirs": "/a,/b",
        "path": "C:\\x",
    }


def test_what_is_not_changed_stays_as_it_is() -> None:
    changed = change_properties(FILE, {"log.dirs": "/c", "new": "1", "none": None})
    assert changed == FILE.replace(b"log.dirs:/a,/b", b"log.dirs=/c") + b"new=1\n"
    assert change_properties(FILE, {}) == FILE


def test_a_key_that_stands_twice_is_removed_as_a_whole() -> None:
    assert "broker.id" not in read_properties(change_properties(FILE, {"broker.id": None}))


def test_a_last_line_without_an_end_gets_one() -> None:
    assert change_properties(b"a=1", {"b": "2"}) == b"a=1\nb=2\n"


def test_letters_of_any_alphabet_survive() -> None:
    assert change_properties(b"a=\xe9\n", {"b": "\u043b"}) == b"a=\xe9\nb=\\u043b\n"


def test_a_wrong_escape_is_refused_as_java_refuses_it() -> None:
    with pytest.raises(PropertiesFormError):
        read_properties(b"a=\\u12\n")


@given(st.dictionaries(KEYS, KEYS), st.dictionaries(KEYS, st.none() | KEYS))
def test_changes_are_read_back(kept: dict[str, str], changes: dict[str, str | None]) -> None:
    data = change_properties(change_properties(b"", kept), changes)
    wanted = {key: value for key, value in {**kept, **changes}.items() if value is not None}
    assert read_properties(data) == wanted


def test_a_value_is_written_as_people_write_it() -> None:
    listeners = "A://h:1,B://h:2"
    made = change_properties(b"a=1\n", {"listeners": listeners, "x y:z": " =#! :\\:\n"})
    assert made.splitlines()[1] == f"listeners={listeners}".encode()
    assert made.splitlines()[2] == rb"x\ y\:z=\ =#! :\\:\n"
    assert read_properties(made) == {"a": "1", "listeners": listeners, "x y:z": " =#! :\\:\n"}
    back = change_properties(made, {"x y:z": None})
    assert back == f"a=1\nlisteners={listeners}\n".encode()
