"""Each set of packages is enough for its commands, in an environment that has nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.kafka import Record, create_topic, produce
from towpath.dev.broker import LocalCluster
from towpath.dev.zookeeper import ZooKeeperCluster

ROOT = Path(__file__).parents[2]
BASE_MB = 150
REFUSED = ("run", "verify", "archive", "restore", "cutover", "repair", "quarantine", "pack")

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]


class Installed:
    """An environment of its own with Towpath in it."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.folder, self._wheel = folder, wheel
        venv.create(folder / "env", with_pip=True)
        self._before = self.megabytes()

    def install(self, extras: str = "") -> None:
        """Install Towpath with these extras, as users do."""
        python = self.folder / "env" / "bin" / "python"
        packages = f"{self._wheel}{extras and f'[{extras}]'}"
        subprocess.run([str(python), "-m", "pip", "install", "-q", packages], check=True)

    def megabytes(self) -> float:
        """The size of all packages that are installed."""
        files = (self.folder / "env" / "lib").rglob("*")
        return sum(each.stat().st_size for each in files if each.is_file()) / 1e6

    @property
    def added(self) -> float:
        """The megabytes that came after pip itself."""
        return self.megabytes() - self._before

    def __call__(self, code: int, *words: object) -> str:
        """Run `towpath` there, and return what it says."""
        kept = {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
        env = kept | {"HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache")}
        program = str(self.folder / "env" / "bin" / "towpath")
        done = subprocess.run(
            [program, *map(str, words)],
            env=env, cwd=self.folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, (words, done.stdout, done.stderr)
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [made] = folder.glob("towpath-*.whl")
    return made


@pytest.fixture
def installed(tmp_path: Path, wheel: Path) -> Installed:
    return Installed(tmp_path, wheel)


@pytest.mark.broker
def test_the_base_and_then_spark(
    installed: Installed,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    tmp_path: Path,
) -> None:
    topic = new_name("installed")
    create_topic(source.bootstrap, topic, 1)
    produce(source.bootstrap, topic, [Record(b"k", b"%d" % each) for each in range(10)])
    file = tmp_path / "link.yaml"
    file.write_text(
        f"source: {{bootstrap: '{source.bootstrap}'}}\n"
        f"target: {{bootstrap: '{target.bootstrap}'}}\n"
        f"link: {topic}\ntopics: {{include: ['{topic}']}}\nrecords: {{start: earliest}}\n"
    )
    installed.install()
    assert installed.added < BASE_MB
    for command in REFUSED:
        assert "pip install 'towpath[spark]'" in installed(2, command, file)
    installed(0, "lint", file)
    installed(0, "plan", file, "--save", tmp_path / "plan.json")
    installed(0, "apply", tmp_path / "plan.json", "--yes")
    installed(0, "diff", file)
    installed(0, "explain", "EXTRA_MISSING")

    installed.install("spark")
    installed(0, "run", file, "--until-caught-up")
    installed(0, "verify", file)
    installed(0, "status", file)
    archive = tmp_path / "archive.yaml"
    archive.write_text(
        f"kind: archive\narchive: {topic}\nregion: here\n"
        f"source: {{bootstrap: '{source.bootstrap}'}}\n"
        f"store: {{url: 's3://bucket/{topic}'}}\ntopics: {{include: ['{topic}']}}\n"
    )
    assert "pip install 'towpath[s3]'" in installed(2, "archive", "status", archive, "--no-source")
    archive.write_text(archive.read_text().replace("s3://bucket", f"file:{tmp_path}"))
    installed(0, "archive", "run", archive, "--until-caught-up")


@pytest.mark.broker
def test_kraft_needs_zookeeper_alone(installed: Installed, tmp_path: Path) -> None:
    with ZooKeeperCluster(1, 1, home=tmp_path / "lab") as lab:
        installed.install()
        assert "pip install 'towpath[zookeeper]'" in installed(2, "kraft", "check", lab.config)
        installed.install("zookeeper")
        assert installed.added < BASE_MB
        installed(0, "kraft", "status", lab.config)
