"""Compiled loops: kept where only the user writes, compiled by one process for all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.program import environment
from towpath.wire import loops

pytestmark = pytest.mark.slow

MODULE = """
from towpath.wire.loops import loop

@loop("int64(int64)")
def double(number):
    return number + number
"""
IMPORT = """
import doubling, os
from towpath.wire.loops import config
print(doubling.double(21), sum(doubling.double.stats.cache_misses.values()), config.CACHE_DIR)
"""


def test_one_of_several_processes_compiles(tmp_path: Path) -> None:
    (tmp_path / "doubling.py").write_text(MODULE)
    home = tmp_path / "home"
    env = environment({"TOWPATH_HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"})
    command = [sys.executable, "-c", IMPORT]
    running = [
        subprocess.Popen(command, env=env, stdout=subprocess.PIPE, cwd=tmp_path, text=True)
        for _ in range(2)
    ]
    answers = sorted(process.communicate(timeout=90)[0].split() for process in running)
    (folder,) = {Path(folder) for *_, folder in answers}
    assert [each[:2] for each in answers] == [["42", "0"], ["42", "1"]]
    assert folder.is_relative_to(home)


HOLD = """
import os, signal
from towpath.wire import loops
with loops._alone(f"doubling.double"):
    print("held", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
"""


@pytest.mark.parametrize("known", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_a_process_that_is_stopped_holds_up_no_other(tmp_path: Path, known: bool) -> None:
    """As a copier that is frozen while it compiles: another one would not even end."""
    (tmp_path / "doubling.py").write_text(MODULE)
    env = environment({"TOWPATH_HOME": str(tmp_path / "home")})
    holds = subprocess.Popen(
        [sys.executable, "-c", HOLD], env=env, stdout=subprocess.PIPE, cwd=tmp_path, text=True
    )
    assert holds.stdout is not None
    assert holds.stdout.readline() == "held\n"
    (folder,) = (tmp_path / "home" / "loops").iterdir()
    if known:
        (folder / "all").touch()
    patience = "120" if known else "0.5"
    code = f"from towpath.wire import loops; loops._PATIENCE = {patience}\n{IMPORT}"
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=tmp_path, capture_output=True, text=True,
        timeout=100, check=True,
    )  # fmt: skip
    assert done.stdout.split()[0] == "42"
    holds.kill()
    holds.communicate(timeout=10)


def test_a_package_that_moved_finds_its_loops(tmp_path: Path) -> None:
    """An archive of packages is unpacked in another folder for each executor."""
    answers = []
    for place in ("here", "there"):
        package = tmp_path / place / "towpath" / "wire"
        for name in ("__init__.py", "loops.py"):
            (package / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path(loops.__file__).with_name(name), package / name)
        (package / "doubling.py").write_text(MODULE)
        (package.parent / "__init__.py").touch()
        for name in ("model", "runtime"):
            shutil.copytree(Path(loops.__file__).parents[1] / name, package.parent / name)
        env = environment({"TOWPATH_HOME": str(tmp_path / "home")})
        env["PYTHONPATH"] = str(tmp_path / place)
        code = IMPORT.replace("import doubling,", "from towpath.wire import doubling; import")
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        )
        answers.append(done.stdout.split()[:2])
    assert answers == [["42", "1"], ["42", "0"]]


def test_the_folder_is_the_users_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOWPATH_HOME", str(tmp_path))
    folder = loops._folder()
    assert folder is not None
    assert folder.is_relative_to(tmp_path)
    assert folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("fault", ["no home", "a file", "others write", "no place at all"])
def test_where_the_home_is_of_no_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    home, shared = tmp_path / "home", tmp_path / "tmp" / f"towpath-{os.getuid()}"
    monkeypatch.setenv("TOWPATH_HOME", str(home))
    shared.parent.mkdir()
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(shared.parent))
    if fault == "no home":
        monkeypatch.setenv("TOWPATH_HOME", "/dev/null/home")
    elif fault == "others write":
        folder = loops._folder()
        assert folder is not None
        folder.chmod(0o777)
    else:
        home.write_text("")
    if fault == "no place at all":
        shared.mkdir()
        shared.chmod(0o777)  # made by somebody else, to put code into it
        assert loops._folder() is None
    else:
        folder = loops._folder()
        assert folder is not None
        assert folder.is_relative_to(shared)


FORKS = """
from towpath.engine import forks
from towpath.wire import loops
loops.compiled, loops.compile_all = (lambda: {known}), (lambda order: None)
forks._compile()
"""
TEMPLATE = """
import os, socket
from towpath.engine.template import Template
from towpath.wire import loops
loops.compiled, loops.compile_all = (lambda: {known}), (lambda order: None)
with socket.create_server(("127.0.0.1", 0)) as listener:
    Template(listener, ["towpath.model.nouns"], os.dup(2)).run()
"""


@pytest.mark.parametrize("program", [FORKS, TEMPLATE])
@pytest.mark.parametrize("known", [False, True])
def test_what_takes_long_at_the_first_start_is_said(program: str, known: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program.format(known=known)],
        env=environment(), input="", capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stderr.count(loops.FIRST_TIME) == (not known), done.stderr
