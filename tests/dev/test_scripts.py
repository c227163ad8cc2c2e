"""The scripts say what this machine lacks before they do anything."""

from __future__ import annotations

import os
import shutil
import signal
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


def tree_of(tmp_path: Path, check: str, tests: str) -> Path:
    """Return a checkout whose setup does nothing, with these checks and this pytest."""
    tree = tmp_path / "tree"
    (tree / "scripts").mkdir(parents=True)
    (tree / "tests").mkdir()
    (tree / ".venv" / "bin").mkdir(parents=True)
    for name in ("test", "soak", "lib.sh"):
        shutil.copy(SCRIPTS / name, tree / "scripts" / name)
    programs = {"scripts/setup": "", "scripts/check": check, ".venv/bin/pytest": tests}
    for name, text in {**programs, ".venv/bin/python": ""}.items():
        (tree / name).write_text(f"#!/bin/bash\n{text}\n")
        (tree / name).chmod(0o755)
    return tree


def ended(script: Path, *arguments: str) -> tuple[int, str]:
    """Run a script that may be interrupted, also where this process may not; return its end."""
    answer = subprocess.run(
        [str(script), *arguments],
        env=os.environ | {"TMPDIR": str(script.parents[2])},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        capture_output=True,
        text=True,
        check=False,
    )
    return answer.returncode, answer.stderr


COLLECTS = 'case "$*" in *--collect-only*) exit 0 ;; esac\n'


@pytest.mark.parametrize("arguments", [(), ("--quick",)])
def test_checks_that_fail_end_the_tests_and_are_shown(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    waiting = f"{COLLECTS}trap 'exit 2' INT\ntouch {tmp_path}/began\nwhile :; do sleep 0.05; done"
    check = f"while [ ! -e {tmp_path}/began ]; do sleep 0.05; done\necho 'a type is wrong'\nexit 1"
    tree = tree_of(tmp_path, check, waiting)
    code, said = ended(tree / "scripts" / "test", *arguments)
    assert code == 1
    assert said == "a type is wrong\n"


def test_checks_that_fail_at_once_let_no_test_begin(tmp_path: Path) -> None:
    began = tmp_path / "began"
    told = 'while ! ls "$TMPDIR"/towpath-checks.*/failed; do sleep 0.05; done; exit 0'
    reading = COLLECTS.replace("exit 0", told)
    tree = tree_of(tmp_path, "exit 1", f"{reading}touch {began}")
    code, _ = ended(tree / "scripts" / "test")
    assert code == 1
    assert not began.exists()


@pytest.mark.parametrize("tests", [0, 1])
def test_who_plays_tests_waits_for_the_checks(tmp_path: Path, tests: int) -> None:
    done = tmp_path / "done"
    tree = tree_of(tmp_path, f"sleep 0.5; touch {done}", f"{COLLECTS}exit {tests}")
    code, _ = ended(tree / "scripts" / "test")
    assert code == tests
    assert done.exists()


def test_what_is_new_is_warmed_up_before_the_first_test(tmp_path: Path) -> None:
    warm, cold = tmp_path / "warm", tmp_path / "cold"
    tree = tree_of(tmp_path, "", f"{COLLECTS}[ -e {warm} ]")
    (tree / "scripts" / "setup").write_text(f'#!/bin/bash\n[ "$1" = --cold ] && touch {cold}\n')
    program = f'#!/bin/bash\n[ "$2" != towpath.dev.warm ] || {{ sleep 0.5; touch {warm}; }}\n'
    (tree / ".venv" / "bin" / "python").write_text(program)
    assert ended(tree / "scripts" / "test")[0] == 0
    assert cold.exists()


@pytest.mark.parametrize("arguments", [("--promotions", "3"), ("3x",)])
def test_rounds_of_promotions_wait_for_no_store(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    tree, asked = tree_of(tmp_path, "", ""), tmp_path / "asked"
    (tree / ".venv" / "bin" / "python").write_text(f'#!/bin/bash\necho "$2" >> {asked}\n')
    assert ended(tree / "scripts" / "soak", *arguments)[0] == 0
    started = {each.split(".")[-2] for each in asked.read_text().split()}
    assert started == ({"objects"} if arguments == ("3x",) else {"clients"})
