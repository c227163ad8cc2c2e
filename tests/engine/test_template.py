"""What Spark takes for Python: processes that the template forks, else Python itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.kafka import wait_until
from towpath.engine import template

MODULE = """
import os, sys
if sys.argv[1] == "sleep":
    print("sleeping", flush=True)
    os.read(0, 1)
    sys.exit(5)
print(os.getppid(), "colorsys" in sys.modules, os.environ["MARK"], sys.stdin.read(), sys.argv[1])
sys.exit(3)
"""


@pytest.fixture(autouse=True)
def none(monkeypatch: pytest.MonkeyPatch) -> None:
    # A test before may have left Spark running in this process, with a template of its own.
    monkeypatch.setattr(template, "_RUNNING", [])
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def running(none: None) -> Iterator[template.Running]:
    del none
    template.start(None, ["colorsys"])
    yield template._RUNNING[0]
    template.stop()


@pytest.fixture
def asked(running: template.Running, tmp_path: Path) -> dict[str, Any]:
    del running
    (tmp_path / "asked.py").write_text(MODULE)
    return {
        "env": {**os.environ, "PYTHONPATH": str(tmp_path), "MARK": "a=b"},
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "text": True,
    }


def run(asked: dict[str, Any], *arguments: str) -> tuple[int, list[str]]:
    command = [os.environ["PYSPARK_PYTHON"], *arguments]
    with subprocess.Popen(command, **asked) as process:
        said, _ = process.communicate("typed", timeout=60)
    return process.returncode, said.split()


def test_a_module_runs_in_a_fork_with_its_streams_and_environment(
    running: template.Running, asked: dict[str, Any]
) -> None:
    def works_are_loaded() -> bool:
        code, (parent, loaded, mark, typed, argument) = run(asked, "-m", "asked", "x")
        assert (code, parent) == (3, str(running.process.pid))
        assert (mark, typed, argument) == ("a=b", "typed", "x")
        return loaded == "True"

    wait_until(works_are_loaded, "the template has loaded what workers need", 60)


def test_its_placeholder_passes_a_signal_on(asked: dict[str, Any]) -> None:
    command = [os.environ["PYSPARK_PYTHON"], "-m", "asked", "sleep"]
    with subprocess.Popen(command, **asked) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "sleeping\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 1  # the fork could tell no code


def test_without_the_template_python_runs(running: template.Running, asked: dict[str, Any]) -> None:
    running.process.kill()
    running.process.wait()
    code, (parent, loaded, *rest) = run(asked, "-m", "asked", "x")
    assert (code, parent, loaded) == (3, str(os.getpid()), "False")
    assert rest == ["a=b", "typed", "x"]


def test_code_runs_in_python_itself(asked: dict[str, Any]) -> None:
    code, said = run(asked, "-c", "import os, sys; print(os.getppid()); sys.exit(7)")
    assert (code, said) == (7, [str(os.getpid())])


def test_nothing_is_left(running: template.Running) -> None:
    process = psutil.Process(running.process.pid)
    template.stop()
    assert not process.is_running()
    assert not running.launcher.parent.exists()
    assert "PYSPARK_PYTHON" not in os.environ


@pytest.mark.parametrize(
    ("master", "name", "value"),
    [
        ("spark://host:7077", "MARK", ""),
        (None, "PYSPARK_PYTHON", "/usr/bin/other"),
        (None, "SPARK_HOME", "/opt/spark"),
    ],
)
def test_spark_keeps_its_own_python(
    monkeypatch: pytest.MonkeyPatch, master: str | None, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    template.start(master, [])
    assert not template._RUNNING


def test_where_programs_are_forbidden_spark_gets_python_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    template.start(None, [])
    assert not template._RUNNING
    assert "PYSPARK_PYTHON" not in os.environ


def test_the_next_start_deletes_what_a_killed_template_left() -> None:
    code = (
        "from towpath.engine import template; template.start(None, []);"
        "one = template._RUNNING[0];"
        "print(one.process.pid, one.launcher.parent, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as driver:
        assert driver.stdout is not None
        pid, _, place = driver.stdout.readline().strip().partition(" ")
        left = Path(place)
        os.kill(int(pid), signal.SIGKILL)
        template._sweep(left.parent)
        assert left.exists(), "the driver still needs the launcher"
        driver.kill()
        driver.wait()
    template.start(None, [])
    try:
        assert not left.exists()
        template._sweep(left.parent)
        assert template._RUNNING[0].launcher.exists(), "it is in use"
    finally:
        template.stop()
