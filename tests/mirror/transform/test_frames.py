"""Queries of links on a Spark whose JVM ends: that is no fault of the query."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.session.ended_jvm import Ended
from towpath.mirror.transform.frames import TransformFrames
from towpath.model.errors import ConfigError, SparkLostError
from towpath.settings import LinkConfig

FUNCTION = """
def clean(frame):
    return frame.where("key is not null")


def wrong(frame):
    raise OSError("no such file")


def ends(frame):
    import sys

    sys.exit(3)
"""


def config(**transform: str) -> LinkConfig:
    sides = {side: {"bootstrap": f"{side}:9092"} for side in ("source", "target")}
    content = {**sides, "link": "l", "topics": {"include": ["a"]}, "transform": transform}
    return LinkConfig.model_validate(content)


@pytest.mark.parametrize("query", ["sql", "python"])
@pytest.mark.parametrize("calls", range(7))
def test_a_jvm_that_ends_is_told_as_such(
    calls: int, query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("clean.py").write_text(FUNCTION)
    wanted = {"sql": "select value from records", "python": "clean.py:clean"}
    with pytest.raises(SparkLostError):
        TransformFrames(Ended(calls), config(**{query: wanted[query]}), tmp_path / "l.yaml").check()


def test_a_jvm_that_is_asked_for_nothing_is_missed_too(tmp_path: Path) -> None:
    jvm = Ended(99)
    frames = TransformFrames(jvm, config(sql="select value from records"), tmp_path / "l.yaml")
    frames.require_spark()
    jvm.end()
    with pytest.raises(SparkLostError):
        frames.require_spark()


@pytest.mark.parametrize(
    ("name", "said"),
    [("wrong", "line 7: OSError: no such file"), ("ends", "line 13: SystemExit: 3")],
)
def test_what_a_function_raises_is_a_fault_of_the_query(
    name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("clean.py").write_text(FUNCTION)
    file = tmp_path / "l.yaml"
    file.write_text(f"transform: {{python: 'clean.py:{name}'}}\n")
    frames = TransformFrames(Ended(99), config(python=f"clean.py:{name}"), file)
    with pytest.raises(ConfigError) as found:
        frames.check()
    assert str(found.value) == f"{file}:1:21: transform.python: {tmp_path}/clean.py, {said}"


@pytest.mark.parametrize(
    ("text", "said"),
    [("import sys; sys.exit(4)", "SystemExit: 4"), ("\n1 / 0", "ZeroDivisionError: division by")],
)
def test_what_a_file_does_when_it_is_imported_is_told_with_its_line(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("clean.py").write_text(f"{text}\n\n\n{FUNCTION}")
    file = tmp_path / "l.yaml"
    file.write_text("transform: {python: 'clean.py:clean'}\n")
    with pytest.raises(ConfigError) as found:
        TransformFrames(Ended(99), config(python="clean.py:clean"), file)
    line = text.count("\n") + 1
    assert f"transform.python: {tmp_path}/clean.py, line {line}: {said}" in str(found.value)
