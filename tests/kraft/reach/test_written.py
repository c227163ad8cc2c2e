"""How files of nodes are replaced, by the local driver and by the script of the others."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.clusters.small_disks import SmallDisk, mounted
from towpath.kraft.config.drivers import LocalDriver
from towpath.kraft.errors import DriverError
from towpath.kraft.facts.nouns import NodeId, Role
from towpath.kraft.reach.local import LocalNode
from towpath.kraft.reach.scripts import WRITE

Write = Callable[[Path, bytes], None]
NOBODY = 65534


def by_local_driver(path: Path, data: bytes) -> None:
    config = LocalDriver(via="local", start=("true",), format=("true",), folder=str(path / "run"))
    LocalNode(config, NodeId(7), Role.BROKER, str(path)).write(str(path), data)


def by_script(path: Path, data: bytes) -> None:
    command = ["sh", "-c", WRITE, "sh", str(path), "", str(len(data))]
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    if done.returncode:
        raise DriverError(7, f"writing {path}", done.stderr.decode())


@pytest.fixture(params=[by_local_driver, by_script])
def write(request: pytest.FixtureRequest) -> Write:
    made: Write = request.param
    return made


def names(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def test_files_of_others_beside_it_survive(write: Write, tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_bytes(b"a=1\n")
    for end in "old", "new", "bak":
        (tmp_path / f"server.properties.{end}").write_text(f"somebody's {end} file")
    before = names(tmp_path)
    for data in b"a=2\n", b"a=3\n":
        write(file, data)
        assert file.read_bytes() == data
    assert names(tmp_path) == before, "nothing of ours is left beside it"
    for end in "old", "new", "bak":
        assert (tmp_path / f"server.properties.{end}").read_text() == f"somebody's {end} file"


@pytest.mark.parametrize("is_relative", [True, False])
def test_a_link_stays_and_the_file_that_it_names_is_written(
    write: Write, tmp_path: Path, *, is_relative: bool
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "etc").mkdir()
    real, link = tmp_path / "real" / "1.properties", tmp_path / "etc" / "server.properties"
    real.write_bytes(b"a=1\n")
    real.chmod(0o640)
    os.chown(real, NOBODY, NOBODY)
    to = Path("../real/1.properties") if is_relative else real
    between = tmp_path / "etc" / "between"
    between.symlink_to(to)
    link.symlink_to(between)
    write(link, b"a=2\n")
    assert link.is_symlink()
    assert between.readlink() == to
    assert not real.is_symlink()
    assert real.read_bytes() == b"a=2\n"
    about = real.stat()
    assert (stat.S_IMODE(about.st_mode), about.st_uid, about.st_gid) == (0o640, NOBODY, NOBODY)
    assert names(tmp_path / "etc") == {"server.properties", "between"}
    assert names(tmp_path / "real") == {"1.properties"}


def test_a_new_file_is_for_its_owner_alone(write: Write, tmp_path: Path) -> None:
    file = tmp_path / "deep" / "server.properties"
    write(file, b"a=1\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert names(file.parent) == {"server.properties"}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with mounted(tmp_path / "disk") as made:
        yield made


def test_on_a_full_disk_the_file_stays_as_it_was_and_nothing_is_left(
    write: Write, disk: SmallDisk
) -> None:
    file = disk.folder / "server.properties"
    before, after = b"a=1\n" * 10_000, b"a=2\n" * 20_000
    file.write_bytes(before)
    disk.fill()
    with pytest.raises(DriverError, match="No space left on device"):
        write(file, after)
    assert file.read_bytes() == before
    assert names(disk.folder) == {"server.properties", "ballast"}
    disk.free()
    write(file, after)
    assert file.read_bytes() == after
    assert names(disk.folder) == {"server.properties"}


def test_what_a_cut_connection_sent_replaces_nothing(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_bytes(b"a=1\n")
    command = ["sh", "-c", WRITE, "sh", str(file), "", "100"]
    done = subprocess.run(command, input=b"a=", capture_output=True, check=False)
    assert done.returncode == 1
    assert b"2 of 100 bytes arrived" in done.stderr
    assert file.read_bytes() == b"a=1\n"
    assert names(tmp_path) == {"server.properties"}
