"""What the files of a node say, through the driver of this machine."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from tests.support.kraft.worlds import kraft_config
from towpath.kraft.config import LocalDriver
from towpath.kraft.errors import KraftFileError, ZooKeeperAwayError
from towpath.kraft.facts.nouns import NodeId, Role
from towpath.kraft.files.stored import log_dirs, metadata_dir
from towpath.kraft.journal import KraftJournal
from towpath.kraft.look.node_files import client_ports, read_files
from towpath.kraft.look.observer import Observer
from towpath.kraft.reach.drivers import drivers_of
from towpath.kraft.reach.local import LocalNode
from towpath.runtime.deadline import Deadline

NODE = NodeId(1)
V0 = "version=0\nbroker.id=1\ncluster.id=c\ndirectory.id=d\n"
V1 = "version=1\nnode.id=1\ncluster.id=c\n"


@pytest.fixture
def driver(tmp_path: Path) -> LocalNode:
    start = shlex.join([sys.executable, "-c", "import time; time.sleep(60)"])
    config = LocalDriver.model_validate(
        {"via": "local", "start": start, "format": "true", "folder": str(tmp_path / "run")}
    )
    return LocalNode(config, NODE, Role.BROKER, str(tmp_path / "x.properties"))


def written(folder: Path, *metas: str) -> str:
    """Write a broker's properties with a log directory for each `meta.properties`."""
    places = []
    for number, text in enumerate(metas):
        place = folder / f"data{number}"
        place.mkdir()
        if text:
            (place / "meta.properties").write_text(text)
        places.append(str(place))
    path = folder / "x.properties"
    path.write_text(f"broker.id=1\nlog.dirs={', '.join(places)}\n")
    return str(path)


def test_all_log_directories_are_read(driver: LocalNode, tmp_path: Path) -> None:
    files = read_files(driver, NODE, written(tmp_path, V0, V1, ""))
    assert [(each.version, each.directory_id) for each in files.meta] == [(0, "d"), (1, None)]
    assert files.properties["broker.id"] == "1"
    assert (files.running, files.stale) == (False, False)
    assert files.free_bytes


def test_a_look_says_what_a_host_refused_and_gives_no_advice_for_each_node(tmp_path: Path) -> None:
    config = kraft_config(brokers=2, controllers=1)
    nodes = [each.model_copy(update={"properties": str(tmp_path)}) for each in config.brokers]
    config = config.model_copy(update={"brokers": tuple(nodes)})

    def away(_: Deadline) -> NoReturn:
        raise ZooKeeperAwayError("zk:1", "reading", "no answer")

    observer = Observer(config, drivers_of(config), away, KraftJournal(tmp_path / "j"), away)
    try:
        seen = observer.look(Deadline.after(30))
    finally:
        observer.close()
    told = [each.why for each in seen.unseen if each.what.startswith("node")]
    why = f"reading {tmp_path}: Is a directory: {tmp_path}"
    assert told == [f"node 0: {why}", f"node 1: {why}"]


def test_a_node_without_a_file_has_nothing(driver: LocalNode, tmp_path: Path) -> None:
    files = read_files(driver, NODE, str(tmp_path / "none.properties"))
    assert (files.properties, files.meta, files.free_bytes) == ({}, (), None)


def test_a_file_that_was_written_behind_the_start_is_stale(
    driver: LocalNode, tmp_path: Path
) -> None:
    path = written(tmp_path, V0)
    driver.start()
    try:
        assert read_files(driver, NODE, path).running
        assert not read_files(driver, NODE, path).stale
        started = driver.started()
        assert started is not None
        os.utime(path, ns=((started + 5000) * 1_000_000,) * 2)
        assert read_files(driver, NODE, path).stale
    finally:
        driver.kill()


@pytest.mark.parametrize("text", ["version=x\n", "cluster.id=c\n", "version=0\nnode.id=1\n"])
def test_a_strange_meta_properties_is_named(driver: LocalNode, tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(KraftFileError, match=r"data0/meta\.properties"):
        read_files(driver, NODE, path)


def test_a_strange_properties_file_is_named(driver: LocalNode, tmp_path: Path) -> None:
    (tmp_path / "x.properties").write_text("a=\\u12\n")
    with pytest.raises(KraftFileError, match=r"x\.properties"):
        read_files(driver, NODE, str(tmp_path / "x.properties"))


def test_folders_are_those_that_kafka_takes() -> None:
    assert log_dirs({"log.dirs": "/a, /b", "log.dir": "/c"}) == ("/a", "/b")
    assert log_dirs({"log.dir": "/c"}) == ("/c",)
    assert metadata_dir({"log.dirs": "/a,/b"}) == "/a"
    assert metadata_dir({"log.dirs": "/a", "metadata.log.dir": "/m"}) == "/m"


def test_the_kernel_tells_the_ports_of_clients(driver: LocalNode) -> None:
    told = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    assert client_ports(driver) == range(int(told[0]), int(told[1]) + 1)
