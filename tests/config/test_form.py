"""Every message about what is no YAML of ours, or no file that can be read, once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from towpath.config import check

Write = Callable[[str], Path]

TEXTS = [
    ("", "the file is empty; `towpath init` writes an example to start from"),
    ("# only this\n", "the file is empty; `towpath init` writes an example to start from"),
    ("---\n...\n", "the file is empty; `towpath init` writes an example to start from"),
    ("- a\n", "the file must hold keys (source, target, link, topics), not a single value or list"),
    ("5", "the file must hold keys (source, target, link, topics), not a single value or list"),
    ("a: *hunter2", "not YAML, line 1, column 4: a value that begins with * must stand in quotes"),
    ("a:\n\t- b", "not YAML, line 2, column 1: a tab; indent with spaces"),
    (
        "a: @hunter2",
        "not YAML, line 1, column 4: a value that begins with this character must stand in quotes",
    ),
    (
        "a: b: hunter2",
        "not YAML, line 1, column 5: a colon that is not expected; put the value in quotes",
    ),
    (
        "--- 1\n--- 2",
        "not YAML, line 2, column 1: a second document begins; one file holds one link",
    ),
    ("a: 'hunter2", "not YAML, line 1, column 12: a quote is opened and never closed"),
    (
        'a: "\\q"',
        "not YAML, line 1, column 6: an unknown escape; use single quotes, they know no escapes",
    ),
    (
        "a: !x!hunter2 b",
        "not YAML, line 1, column 4: a value that begins with ! must stand in quotes",
    ),
    ("a: [hunter2", "not YAML, line 1, column 12; check indents, colons, brackets"),
    ("a: &x 1\nb: &x 2\n", "not YAML: the same anchor (&name) is defined twice"),
    ("a: \x07", "not YAML: it holds control characters; is it a text file?"),
    ("a: " + "[" * 5000, "not YAML of ours: nested too deeply"),
    (
        "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
        + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefg")),
        "more than 20000 values; a link has a few dozen",
    ),
]


@pytest.mark.parametrize(("text", "message"), TEXTS)
def test_what_is_no_yaml_of_ours_has_a_sentence_without_a_piece_of_the_file(
    write: Write, text: str, message: str
) -> None:
    assert [str(problem) for problem in check(write(text))] == [message]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.yaml", "no such file; `towpath init {path}` writes an example"),
        (".", "is a folder; name the YAML file in it"),
        ("latin.yaml", "byte 4 is not UTF-8; save the file as UTF-8"),
        ("latin.yaml/x", "Not a directory"),
        ("a\0b", "embedded null byte"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "latin.yaml").write_bytes("a: 'é'".encode("latin-1"))
    path = tmp_path / name
    (problem,) = check(path)
    assert str(problem) == f"{path}: {message.format(path=path)}"
