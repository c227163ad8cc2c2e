"""Every message that a wrong file can cause, once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.pages.wrong_values import VALUES
from towpath.model.errors import ConfigError
from towpath.settings import LinkConfig, check, load
from towpath.settings.shape import path_text, walk

Write = Callable[[str], Path]

PARTS = {
    "source": '{bootstrap: "a:9092"}',
    "target": '{bootstrap: "b:9092"}',
    "link": "orders",
    "topics": '{include: ["orders"]}',
}


def with_part(key: str, value: str) -> str:
    parts = {**PARTS, key: value}
    return "".join(f"{name}: {text}\n" for name, text in parts.items())


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOWPATH_UNSET", raising=False)
    monkeypatch.setenv("TOWPATH_EMPTY", "")
    monkeypatch.setenv("HOME", "/home/someone")


@pytest.mark.parametrize(("key", "value", "message"), VALUES)
def test_a_wrong_value_has_its_path_and_a_sentence(
    write: Write, key: str, value: str, message: str
) -> None:
    assert [problem.sentence for problem in check(write(with_part(key, value)))] == [message]


_SELDOM = "5", "1.5", "9" * 30, ".inf", "true", "{a: b}", "''"


@pytest.mark.slow
@pytest.mark.parametrize(
    "value",
    [
        "yes",
        "-1",
        "[a]",
        "{'': [a]}",
        *(pytest.param(each, marks=pytest.mark.soak) for each in _SELDOM),
    ],
)
def test_every_sentence_is_ours(write: Write, value: str) -> None:
    """Whatever stands at a key, pydantic's own words never reach the user."""
    for place in dict.fromkeys(place for place, _ in walk(LinkConfig)):
        text = value
        for key in reversed(place[1:]):
            text = f"{{{key}: {text}}}"
        for problem in check(write(with_part(place[0], text)), with_environment=False):
            assert " should " not in problem.text, (place, value)
            assert "valid" not in problem.text, (place, value)


@pytest.mark.parametrize("value", ["[" * 40 + "]" * 40, "&a [*a]"])
def test_deep_lists_and_aliases_to_themselves_are_told(write: Write, value: str) -> None:
    problems = check(write(with_part("link", value)))
    assert "link[0][0]: nested too deeply" in [problem.sentence for problem in problems]


def test_equal_keys_are_told_with_their_lines(write: Write) -> None:
    problems = check(write(with_part("run", "{}") + "run: {}\nlink: hunter2\n"))
    assert [problem.sentence for problem in problems] == [
        "run: the key stands twice, in lines 5 and 6",
        "link: the key stands twice, in lines 3 and 7",
    ]


@pytest.mark.parametrize(
    "rest",
    [
        "password hunter2",
        "password hunter2: x",
        "password hunter2: {a b: !x c}",
        "password hunter2: ${TOWPATH_UNSET}",
        "password = hunter2",
        "'password: hunter2'",
        "password -hunter2: x, password -hunter2: y",
        "pass wörd/hunter2: [x]",
        "password: {hunter2 x: y}",
        "? {hunter2: 1} : 2",
    ],
)
@pytest.mark.parametrize("mechanism", ["PLAIN", "OAUTHBEARER", "no such"])
def test_no_message_shows_what_stands_behind_a_key(write: Write, mechanism: str, rest: str) -> None:
    sasl = f'{{bootstrap: "a:1", sasl: {{mechanism: {mechanism}, username: u, {rest}}}}}'
    problems = check(write(with_part("source", sasl)))
    assert problems
    assert "hunter2" not in repr(problems)


def test_every_key_of_ours_is_shown_whole() -> None:
    for place, _ in walk(LinkConfig):
        assert path_text(place) == ".".join(place)


def test_a_long_unknown_key_is_cut(write: Write) -> None:
    (problem,) = check(write(with_part("z" * 500, "1")))
    assert len(problem.sentence) < 220


def test_all_problems_come_at_once(write: Write) -> None:
    with pytest.raises(ConfigError) as caught:
        load(write("link: 5\nlink: 6\nsource: {}\nrecrods: 1\nrun: {round: 1}\ntopics:\n"))
    assert [problem.path for problem in caught.value.problems] == [
        "target",
        "link",
        "source.bootstrap",
        "recrods",
        "run.round",
        "topics",
    ]
