"""What is said when Java is missing, broken or too old."""

from __future__ import annotations

from pathlib import Path

import pytest

from towpath.engine import java
from towpath.model.errors import JavaError


def fake_java(folder: Path, answer: str, code: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "java"
    program.write_text(f"#!/bin/sh\necho '{answer}' >&2\nexit {code}\n")
    program.chmod(0o755)
    return program


@pytest.fixture(autouse=True)
def no_java_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)


def test_the_java_of_this_machine_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert java.find().name == "java"
    monkeypatch.setenv("JAVA_HOME", str(java.find().resolve().parents[1]))
    assert java.find().exists()


@pytest.mark.parametrize(
    ("answer", "major"),
    [('openjdk version "11.0.20" 2023-07-18', 11), ('java version "1.8.0_292"', 8)],
)
def test_an_old_java_is_named_with_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, major: int
) -> None:
    program = fake_java(tmp_path, answer)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaError) as caught:
        java.find()
    assert str(caught.value) == (
        f"{program} is Java {major}, Towpath needs 17 or newer; {java.ADVICE}"
    )
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("version", ['openjdk version "17" 2021-09-14', 'java version "25.0.1"'])
def test_a_new_java_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    program = fake_java(tmp_path / "bin", version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java.find() == program


def test_no_java_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaError, match="no java command on PATH, and JAVA_HOME is not set; "):
        java.find()


def test_a_java_home_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaError, match=r"JAVA_HOME is .*, but .*/bin/java does not exist"):
        java.find()


def test_a_placeholder_that_is_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path, "Unable to locate a Java Runtime.", code=1)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaError, match=r"-version answered: Unable to locate a Java Runtime\."):
        java.find()
