"""The wheel holds all that the program needs, and runs a link where nothing else is installed."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clients.records import numbered
from tests.support.kafka import create_topic, produce
from tests.support.links import Link
from towpath.dev.broker import LocalCluster

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "towpath"


def test_the_wheel_holds_the_package_and_nothing_else(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    [wheel] = tmp_path.glob("towpath-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        [entry] = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
        assert "towpath = towpath.start:run" in archive.read(entry).decode()
    files = (path for path in PACKAGE.rglob("*") if path.is_file())
    wanted = {path.relative_to(PACKAGE.parent).as_posix() for path in files}
    assert held == {name for name in wanted if "__pycache__" not in name}
    assert "towpath/runbook/gap.md" in held


@pytest.mark.broker
@pytest.mark.soak
@pytest.mark.spark(own=True)
@pytest.mark.timeout(1200)
def test_an_installed_wheel_runs_a_link(
    source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str], tmp_path: Path
) -> None:
    """By the steps of the container file, into an environment that has nothing else."""
    prefix = tmp_path / "towpath"
    subprocess.run([str(ROOT / "deploy" / "container" / "install"), str(prefix)], check=True)
    link = Link(tmp_path, source, target, new_name("wheel"))
    topic = f"{link.name}.first"
    create_topic(link.source.bootstrap, topic, 1)
    produce(link.source.bootstrap, topic, numbered(0, 100))
    file = link.file
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
    env = kept | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    program = str(prefix / "bin" / "towpath")
    for asked in (("run", file, "--until-caught-up"), ("verify", file), ("explain", "GAP")):
        done = subprocess.run(
            [program, *map(str, asked)],
            env=env, cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    assert link.assert_same(topic, 1) == 100
