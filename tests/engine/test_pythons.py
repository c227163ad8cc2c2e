"""What Spark takes for Python: processes that the template forks, else Python itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.kafka import wait_until
from towpath.engine import pythons

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
    monkeypatch.setattr(pythons, "_RUNNING", [])
    for name in (*pythons.PYTHONS, "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def template() -> Iterator[pythons.Running]:
    """One template for the tests that only ask it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pythons, "_RUNNING", [])
        for name in (*pythons.PYTHONS, "SPARK_HOME"):
            patched.delenv(name, raising=False)
        pythons.start(None, ["colorsys"])
        [made] = pythons._RUNNING
    yield made
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pythons, "_RUNNING", [made])
        pythons.stop()


@pytest.fixture
def running(
    none: None, template: pythons.Running, monkeypatch: pytest.MonkeyPatch
) -> pythons.Running:
    del none
    monkeypatch.setattr(pythons, "_RUNNING", [template])
    for name in pythons.PYTHONS:
        monkeypatch.setenv(name, str(template.launcher))
    return template


@pytest.fixture
def asked(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "asked.py").write_text(MODULE)
    return {
        "env": {**os.environ, "PYTHONPATH": str(tmp_path), "MARK": "a=b"},
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "text": True,
    }


@pytest.fixture
def own(none: None) -> Iterator[pythons.Running]:
    """A template that the test may end."""
    del none
    pythons.start(None, [])
    yield pythons._RUNNING[0]
    pythons.stop()


def run(asked: dict[str, Any], *arguments: str) -> tuple[int, list[str]]:
    command = [os.environ["PYSPARK_PYTHON"], *arguments]
    with subprocess.Popen(command, **asked) as process:
        said, _ = process.communicate("typed", timeout=60)
    return process.returncode, said.split()


@pytest.mark.slow
def test_a_module_runs_in_a_fork_with_its_streams_and_environment(
    running: pythons.Running, asked: dict[str, Any]
) -> None:
    def works_are_loaded() -> bool:
        code, (parent, loaded, mark, typed, argument) = run(asked, "-m", "asked", "x")
        assert (code, parent) == (3, str(running.process.pid))
        assert (mark, typed, argument) == ("a=b", "typed", "x")
        return loaded == "True"

    wait_until(works_are_loaded, "the template has loaded what workers need", 60)


@pytest.mark.usefixtures("running")
def test_its_placeholder_passes_a_signal_on(asked: dict[str, Any]) -> None:
    command = [os.environ["PYSPARK_PYTHON"], "-m", "asked", "sleep"]
    with subprocess.Popen(command, **asked) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "sleeping\n"
        process.send_signal(signal.SIGTERM)
        # The fork could tell no code; without one, as on a slow machine, it is a Python of its own.
        assert process.wait(30) in {1, -signal.SIGTERM}


def test_without_the_template_python_runs(own: pythons.Running, asked: dict[str, Any]) -> None:
    own.process.kill()
    own.process.wait()
    code, (parent, loaded, *rest) = run(asked, "-m", "asked", "x")
    assert (code, parent, loaded) == (3, str(os.getpid()), "False")
    assert rest == ["a=b", "typed", "x"]


@pytest.mark.usefixtures("running")
def test_code_runs_in_python_itself(asked: dict[str, Any]) -> None:
    code, said = run(asked, "-c", "import os, sys; print(os.getppid()); sys.exit(7)")
    assert (code, said) == (7, [str(os.getpid())])


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
    pythons.start(master, [])
    assert not pythons._RUNNING


def test_where_programs_are_forbidden_spark_gets_python_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    pythons.start(None, [])
    assert not pythons._RUNNING
    assert "PYSPARK_PYTHON" not in os.environ


@pytest.mark.slow
def test_the_next_start_deletes_what_a_killed_template_left_and_leaves_nothing() -> None:
    code = (
        "from towpath.engine import pythons; pythons.start(None, []);"
        "one = pythons._RUNNING[0];"
        "print(one.process.pid, one.launcher.parent, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as driver:
        assert driver.stdout is not None
        pid, _, place = driver.stdout.readline().strip().partition(" ")
        left = Path(place)
        os.kill(int(pid), signal.SIGKILL)
        pythons._sweep(left.parent)
        assert left.exists(), "the driver still needs the launcher"
        driver.kill()
        driver.wait()
    wait_until(lambda: pythons._is_abandoned(left), "the template has ended")
    pythons.start(None, [])
    [running] = pythons._RUNNING
    try:
        assert not left.exists()
        pythons._sweep(left.parent)
        assert running.launcher.exists(), "it is in use"
    finally:
        pythons.stop()
    assert running.process.returncode is not None, "it has ended"
    assert not running.launcher.parent.exists()
    assert "PYSPARK_PYTHON" not in os.environ
