"""Every message about what is no YAML of ours, or no file that can be read, once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from towpath.archive.config import load_archive
from towpath.kraft.config import load_kraft
from towpath.model.errors import ConfigError
from towpath.settings import check, load

Write = Callable[[str], Path]

NO_KEYS = "the file must hold keys (source, target, link, topics), not a single value or list"
TEXTS = [
    ("", "1:1: the file is empty; `towpath init` writes an example to start from"),
    ("# only this\n", "1:1: the file is empty; `towpath init` writes an example to start from"),
    ("---\n...\n", "1:1: the file is empty; `towpath init` writes an example to start from"),
    ("- a\n", f"1:1: {NO_KEYS}"),
    ("5", f"1:1: {NO_KEYS}"),
    ("a: *hunter2", "1:4: not YAML: a value that begins with * must stand in quotes"),
    ("a:\n\t- b", "2:1: not YAML: a tab; indent with spaces"),
    (
        "a: @hunter2",
        "1:4: not YAML: a value that begins with this character must stand in quotes",
    ),
    (
        "a: b: hunter2",
        "1:5: not YAML: a colon that is not expected; put the value in quotes",
    ),
    (
        "--- 1\n--- 2",
        "2:1: not YAML: a second document begins; one file holds one link",
    ),
    ("a: 'hunter2", "1:12: not YAML: a quote is opened and never closed"),
    (
        'a: "\\q"',
        "1:6: not YAML: an unknown escape; use single quotes, they know no escapes",
    ),
    (
        "a: !x!hunter2 b",
        "1:4: not YAML: a value that begins with ! must stand in quotes",
    ),
    ("a: [hunter2", "1:12: not YAML; check indents, colons, brackets"),
    ("a: &x 1\nb: &x 2\n", "2:4: not YAML: the same anchor (&name) is defined twice"),
    ("a: \x07", "1:4: not YAML: it holds control characters; is it a text file?"),
    ("a: " + "[" * 1000, "1:1: not YAML of ours: nested too deeply"),
    (
        "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
        + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefg")),
        "1:1: more than 20000 values; a link has a few dozen",
    ),
]


@pytest.mark.parametrize(("text", "message"), TEXTS)
def test_what_is_no_yaml_of_ours_has_a_sentence_without_a_piece_of_the_file(
    write: Write, text: str, message: str
) -> None:
    path = write(text)
    assert [str(problem) for problem in check(path)] == [f"{path}:{message}"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.yaml", "no such file; `towpath init {path}` writes an example"),
        (".", "is a folder; name the YAML file in it"),
        ("latin.yaml/x", "Not a directory"),
        ("a\0b", "embedded null byte"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "latin.yaml").write_text("a: b")
    path = tmp_path / name
    (problem,) = check(path)
    assert str(problem) == f"{path}: {message.format(path=path)}"


def test_text_in_another_encoding_has_its_place(tmp_path: Path) -> None:
    path = tmp_path / "latin.yaml"
    path.write_bytes("a: b\nc: 'é'".encode("latin-1"))
    (problem,) = check(path)
    assert str(problem) == f"{path}:2:5: byte 9 is not UTF-8; save the file as UTF-8"


@pytest.mark.parametrize(
    ("load_kind", "init"),
    [
        (load, "towpath init"),
        (load_archive, "towpath init --kind archive"),
        (load_kraft, "towpath init --kind kraft"),
    ],
)
def test_a_missing_file_names_the_example_of_its_kind(
    tmp_path: Path, load_kind: Callable[[Path], object], init: str
) -> None:
    path = tmp_path / "none.yaml"
    with pytest.raises(ConfigError, match=rf"no such file; `{init} {path}` writes an example"):
        load_kind(path)
