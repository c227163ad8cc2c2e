"""The archive of packages for Spark's workers: what is in it, and the Python that uses it."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

import pytest

from towpath import __version__
from towpath.engine import packing, pythons
from towpath.engine.packages import PROGRAM, SUFFIX, check, launcher_text, settings
from towpath.model.errors import ConfigError, PackError

pytestmark = pytest.mark.slow

Find = Callable[[str], Distribution]
SITE = {
    "towpath-0.1.0.dist-info/METADATA": "Name: towpath\nVersion: 0.1.0\n"
    "Requires-Dist: Some.Lib>=1\nRequires-Dist: pyspark>=4\n"
    "Requires-Dist: extra-lib; extra == 'more'\n"
    "Requires-Dist: other-lib>=2; extra == 'spark'\n"
    "Requires-Dist: cloud-lib; extra == 's3'\n",
    "some_lib-1.0.dist-info/METADATA": "Name: some-lib\nVersion: 1.0\n"
    "Requires-Dist: not-here; sys_platform == 'win32'\n",
    "some_lib-1.0.dist-info/direct_url.json": "{}",
    "some_lib-1.0.dist-info/RECORD": "",
    "some_lib/__init__.py": "NAME = 'some'\n",
    "some_lib/__pycache__/__init__.cpython-311.pyc": "compiled",
    "some_lib/tests/test_it.py": "assert False\n",
    "some_lib/module.so": "code",
    "other_lib-2.0.dist-info/METADATA": "Name: other-lib\nVersion: 2.0\n",
    "other_lib-2.0.dist-info/RECORD": "other_lib/__init__.py,,\n"
    "other_lib-2.0.dist-info/METADATA,,\n",
    "other_lib/__init__.py": "",
    "../../bin/some": "#!/bin/sh\n",
}
"""An environment, as pip would have made it."""


def environment(folder: Path, without: str = "") -> Find:
    """Make an environment and return what finds its distributions."""
    site = folder / "lib" / "site"
    for name, text in SITE.items():
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    own = [name for name in SITE if not name.startswith(("towpath", "other"))]
    (site / "some_lib-1.0.dist-info" / "RECORD").write_text("".join(f"{n},,\n" for n in own))

    def find(name: str) -> Distribution:
        known = {"towpath": "towpath-0.1.0", "some-lib": "some_lib-1.0"}
        known["other-lib"] = "other_lib-2.0"
        if name == without or name not in known:
            raise packing.PackageNotFoundError(name)
        return PathDistribution(site / f"{known[name]}.dist-info")

    return find


def test_it_holds_the_packages_and_nothing_of_the_machine(tmp_path: Path) -> None:
    packed = packing.pack(tmp_path / "out.tar.gz", environment(tmp_path))
    with tarfile.open(packed.path) as archive:
        names = archive.getnames()
        assert {each.mtime for each in archive} == {0}
        assert {(each.uid, each.gid, each.uname) for each in archive} == {(0, 0, "")}
        modes = {each.name: each.mode for each in archive}
    others = [name for name in names if not name.startswith("packages/towpath/")]
    assert others == [
        "towpath.json",
        "bin/python",
        "packages/other_lib-2.0.dist-info/METADATA",
        "packages/other_lib/__init__.py",
        "packages/some_lib-1.0.dist-info/METADATA",
        "packages/some_lib/__init__.py",
        "packages/some_lib/module.so",
    ]
    assert (modes["bin/python"], modes["towpath.json"]) == (0o755, 0o644)
    assert "packages/towpath/engine/daemon.py" in names
    assert "packages/towpath/runbook/gap.md" in names
    assert not any(".pyc" in name for name in names)
    assert packed.packages == {"towpath": __version__, "other-lib": "2.0", "some-lib": "1.0"}
    assert packed.bytes == packed.path.stat().st_size
    assert not [each for each in tmp_path.glob("*.tar.gz*") if each != packed.path]


def test_the_same_environment_gives_the_same_bytes(tmp_path: Path) -> None:
    """Wherever it lies, and whenever it was made."""
    first = packing.pack(tmp_path / "a.tar.gz", environment(tmp_path / "a"))
    find = environment(tmp_path / "b")
    for path in (tmp_path / "b").rglob("*"):
        os.utime(path, (1, 1))
    again = packing.pack(tmp_path / "b.tar.gz", find)
    assert first.path.read_bytes() == again.path.read_bytes()
    assert first.digest == again.digest


def test_a_package_that_is_not_installed_is_named(tmp_path: Path) -> None:
    find = environment(tmp_path, without="some-lib")
    with pytest.raises(PackError, match=r"towpath needs Some\.Lib, which is not installed"):
        packing.pack(tmp_path / "out.tar.gz", find)
    assert not (tmp_path / "out.tar.gz").exists()


def unpacked(tmp_path: Path) -> Path:
    packed = packing.pack(tmp_path / "out.tar.gz", environment(tmp_path))
    with tarfile.open(packed.path) as archive:
        archive.extractall(tmp_path / "there", filter="data")
    return tmp_path / "there" / "bin" / "python"


def run(python: Path, code: str, **env: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "TOWPATH_PYTHON": sys.executable} | env
    return subprocess.run(
        [str(python), "-c", code], env=env, capture_output=True, text=True, check=False
    )


def test_its_python_finds_the_packages(tmp_path: Path) -> None:
    """Behind what Spark puts on the path, and without the packages of a user."""
    python = unpacked(tmp_path)
    (tmp_path / "spark").mkdir()
    code = "import some_lib, sys; print(some_lib.NAME, sys.path[1], sys.flags.no_user_site)"
    done = run(python, code, PYTHONPATH=str(tmp_path / "spark"), TOWPATH_VERSION=__version__)
    assert done.stdout.split() == ["some", str(tmp_path / "spark"), "1"], done.stderr


def test_another_python_is_refused_in_a_sentence(tmp_path: Path) -> None:
    python = unpacked(tmp_path)
    other = tmp_path / "other python"
    other.write_text("#!/bin/sh\necho .cpython-399-x86_64-linux-gnu.so\n")
    other.chmod(0o755)
    done = run(python, "print(1)", TOWPATH_PYTHON=str(other))
    assert (done.returncode, done.stdout) == (1, "")
    said = done.stderr.strip()
    assert said.startswith("towpath.model.errors.WorkersError: the worker ")
    assert f"archive needs a Python whose modules end in {SUFFIX}" in said
    assert f"{other} (.cpython-399-x86_64-linux-gnu.so)" in said
    assert "name one that all workers have in PYSPARK_PYTHON" in said
    absent = run(python, "print(1)", TOWPATH_PYTHON="no-such-python")
    assert "no-such-python (does not run)" in absent.stderr


def test_another_towpath_is_refused_in_a_sentence(tmp_path: Path) -> None:
    done = run(unpacked(tmp_path), "print(1)", TOWPATH_VERSION="9.9")
    assert done.returncode == 1
    assert f"the archive holds Towpath {__version__}, the driver is Towpath 9.9" in done.stderr


def test_the_launcher_is_portable() -> None:
    """Workers may have any shell."""
    done = subprocess.run(["sh", "-n"], input=launcher_text(), text=True, check=False)
    assert done.returncode == 0


def test_spark_gets_the_archive_beside_those_of_the_user() -> None:
    made = settings("/a/towpath.tar.gz", "python3.12", {"spark.archives": "b.zip#b"})
    assert made == {
        "spark.archives": "b.zip#b,/a/towpath.tar.gz#towpath",
        "spark.executorEnv.TOWPATH_VERSION": __version__,
        "spark.executorEnv.TOWPATH_PYTHON": "python3.12",
    }
    assert "spark.executorEnv.TOWPATH_PYTHON" not in settings("/a/b.tar.gz", None, {})


def test_the_driver_has_a_program_of_the_same_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """One setting names the program for workers and for the helpers of the driver."""
    monkeypatch.setattr(pythons, "_RUNNING", [])
    monkeypatch.setenv("PYSPARK_PYTHON", "python-of-workers")
    monkeypatch.delenv("PYSPARK_DRIVER_PYTHON", raising=False)
    pythons.start("spark://nowhere:1", [], packed=True)
    running = pythons.running()
    assert running is not None
    assert running.folder is not None
    try:
        assert os.environ["PYSPARK_PYTHON"] == PROGRAM
        done = subprocess.run(
            [PROGRAM, "-c", "import towpath; print('found')"],
            cwd=running.folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.stdout == "found\n", done.stderr
    finally:
        pythons.stop()
    assert os.environ["PYSPARK_PYTHON"] == "python-of-workers"
    assert "PYSPARK_DRIVER_PYTHON" not in os.environ


def test_an_archive_is_checked_before_spark_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = packing.pack(tmp_path / "out.tar.gz", environment(tmp_path))
    assert check(str(packed.path)) == str(packed.path)
    monkeypatch.chdir(tmp_path)
    assert check("out.tar.gz") == str(packed.path), "Spark may look from another folder"
    assert check("hdfs:///apps/towpath.tar.gz") == "hdfs:///apps/towpath.tar.gz"
    monkeypatch.setattr("towpath.engine.packages.__version__", "9.9")
    with pytest.raises(ConfigError, match=r"holds Towpath 0\.1\.0, this is Towpath 9\.9; make it"):
        check(str(packed.path))
    monkeypatch.undo()
    monkeypatch.setattr("towpath.engine.packages.SUFFIX", ".cpython-399.so")
    with pytest.raises(ConfigError, match=r"was made by another Python \(.*\) than this one"):
        check(str(packed.path))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "does not exist"),
        (b"", "is not an archive of `towpath pack`"),
        (b"no archive at all", "is not an archive of `towpath pack`"),
    ],
)
def test_what_is_no_archive_is_told(tmp_path: Path, content: bytes | None, text: str) -> None:
    path = tmp_path / "out.tar.gz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=f"--packages-archive: .*{text}"):
        check(str(path))
