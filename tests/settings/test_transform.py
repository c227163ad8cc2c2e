"""The section `transform` and `topics.partitions`: every problem with its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from towpath.model.errors import ConfigError
from towpath.settings import check, load

Write = Callable[[str], Path]
LINK = """\
source: {bootstrap: "a:9092"}
target: {bootstrap: "b:9092"}
link: orders
topics: {include: [".*"]}
"""
TRANSFORM = "transform: {sql: select * from records}"
BESIDE = {
    "changes: [{topics: [a], codec: zstd}]": "changes",
    "groups: {interval: 5s}": "groups.interval",
    "groups: {rewinds: follow}": "groups.rewinds",
    "groups: {foreign: {include: [a]}}": "groups.foreign",
    "records: {offsets: identical}": "records.offsets: identical",
    "records: {start: committed, group: g, commit: 5s}": "records.commit",
    'schemas: {source: {url: "http://a:1"}, target: {url: "http://b:1"}}': "schemas",
}


def problems(file: Path) -> list[tuple[str, str]]:
    return [(each.path, each.text) for each in check(file)]


@pytest.mark.parametrize("beside", BESIDE)
def test_what_needs_offsets_is_refused_beside_it(write: Write, beside: str) -> None:
    for part, what in (
        (TRANSFORM, "transform"),
        ("topics: {include: [a], partitions: 3}", "topics.partitions"),
    ):
        link = LINK if what == "transform" else "\n".join(LINK.splitlines()[:3])
        [(path, text)] = problems(write(f"{link}\n{beside}\n{part}\n"))
        assert path == what
        assert text.startswith(f"{what} cannot be used with {BESIDE[beside]}: ")


def test_groups_may_be_chosen_beside_it(write: Write) -> None:
    assert (
        problems(write(f"{LINK}\n{TRANSFORM}\ngroups: {{include: [a], rename: 'b.{{group}}'}}"))
        == []
    )


def test_no_rates_are_kept_beside_it(write: Write) -> None:
    rate = "run: {max_rate: 50MB}"
    for part in (LINK + TRANSFORM, LINK.replace("'.*'", "a").replace("]}", "], partitions: 3}")):
        [(path, text)] = problems(write(f"{part}\n{rate}\n"))
        assert path == "run.max_rate"
        assert "keeps no rates" in text
    assert problems(write(LINK + rate)) == []


def test_a_query_is_one_text_or_one_function_that_is_there(write: Write) -> None:
    (write("").parent / "clean.py").write_text("def clean(frame):\n    return frame\n")
    (write("").parent / "syntax.py").write_text("\ndef clean(frame) return frame\n")
    wrong = {
        "transform: {python: 'syntax.py:clean'}": (
            "transform.python",
            "line 2: is not Python that can be read (expected ':')",
        ),
        "transform: {}": ("transform.sql", "give `sql`, a query, or `python`, a function"),
        "transform: {sql: ' '}": ("transform.sql", "must not be empty"),
        "transform: {sql: a, python: 'clean.py:clean'}": ("transform", "not both"),
        "transform: {python: clean}": ("transform.python", "such as `clean.py:clean`"),
        "transform: {python: 'clean.py:other'}": ("transform.python", "no function other; it has"),
        "transform: {python: 'gone.py:clean'}": ("transform.python", "no such file"),
        "transform: {sql: a, max_offsets: 0}": ("transform.max_offsets", "too small"),
        "transform: {sql: a, compression: lzma}": ("transform.compression", "is not one of none"),
    }
    for part, (path, text) in wrong.items():
        [(at, said)] = problems(write(LINK + part))
        assert (at, text in said) == (path, True), (part, at, said)
    config = load(write(LINK + "transform: {python: 'clean.py:clean'}"), transforms=True)
    assert config.transforms is not None
    program, name = config.transforms.path_and_name
    assert (program.name, program.is_absolute(), name) == ("clean.py", True, "clean")


def test_whoever_does_not_know_of_it_is_refused_the_file(write: Write) -> None:
    file = write(LINK + TRANSFORM)
    with pytest.raises(ConfigError, match=r"yaml:5:12: transform: records of this link go"):
        load(file)
    assert load(file, transforms=True).transforms is not None
    assert load(write(LINK)).transforms is None
