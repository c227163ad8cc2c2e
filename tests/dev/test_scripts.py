"""The scripts say what this machine lacks before they do anything."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


def run(script: str, *arguments: str, **environment: str) -> tuple[int, str]:
    answer = subprocess.run(
        [str(SCRIPTS / script), *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return answer.returncode, answer.stderr


@pytest.mark.parametrize(
    "script", ["setup", "check", "test", "demo", "soak", "coverage", "pictures"]
)
def test_scripts_say_how_to_get_a_missing_python(script: str) -> None:
    code, said = run(script, PYTHON="no-such-python")
    assert code == 2
    assert "no Python 3.11 or newer was found (looked for: no-such-python)" in said
    assert "apt install python3 python3-venv" in said


def test_scripts_say_how_to_get_a_missing_java(tmp_path: Path) -> None:
    code, said = run("setup", JAVA_HOME=str(tmp_path))
    assert code == 2
    assert f"no Java was found (looked for {tmp_path}/bin/java)" in said
    assert "apt install openjdk-17-jre-headless" in said


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ('openjdk version "11.0.20"', "is Java 11, Kafka and Spark need 17 or newer"),
        ('java version "1.8.0_292"', "is Java 8, Kafka and Spark need 17 or newer"),
    ],
)
def test_scripts_refuse_a_java_that_is_too_old(tmp_path: Path, answer: str, said: str) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{answer}' >&2\n")
    program.chmod(0o755)
    code, text = run("setup", JAVA_HOME=str(tmp_path))
    assert code == 2
    assert said in text


def test_setup_leaves_an_environment_behind_a_link_alone(tmp_path: Path) -> None:
    other, tree = tmp_path / "other", tmp_path / "tree"
    other.mkdir()
    (other / "kept").touch()
    (tree / "scripts").mkdir(parents=True)
    for name in ("setup", "lib.sh"):
        shutil.copy(SCRIPTS / name, tree / "scripts" / name)
    (tree / ".venv").symlink_to(other)
    command = [str(tree / "scripts" / "setup")]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert f"{tree}/.venv is a link to {other}, which this would clear" in answer.stderr
    assert [each.name for each in other.iterdir()] == ["kept"]


def test_the_demo_takes_two_options() -> None:
    code, said = run("demo", "--archive", "--registries")
    assert code == 2
    assert "--registries is no option of it\n  scripts/demo [--schemas] [--archive]" in said


def test_a_soak_needs_a_number_of_seconds() -> None:
    code, said = run("soak", "1h")
    assert code == 2
    assert "'1h' is no number of seconds" in said
