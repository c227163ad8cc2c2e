"""The local driver on real processes and files; `support` has what other drivers do as well."""

from __future__ import annotations

import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.kafka import wait_until
from towpath.kraft.config.drivers import LocalDriver
from towpath.kraft.errors import DriverError, NodeEndedError, StepLateError, StepRefusedError
from towpath.kraft.facts.nouns import NodeId, Role
from towpath.kraft.reach.commands import filled
from towpath.kraft.reach.local import LocalNode
from towpath.runtime.deadline import Deadline

PROGRAM = "import sys, time; print('node', *sys.argv[1:], flush=True); time.sleep(100)"


@pytest.fixture
def node(tmp_path: Path) -> Iterator[LocalNode]:
    made = _node(tmp_path)
    yield made
    made.kill()
    wait_until(lambda: made.started() is None, "it ended")


def _node(folder: Path) -> LocalNode:
    config = LocalDriver(
        via="local",
        start=(sys.executable, "-c", PROGRAM, "{id}", "{role}", "{properties}"),
        format=("true",),
        folder=str(folder / "run"),
    )
    return LocalNode(config, NodeId(7), Role.BROKER, "/etc/7.properties")


def test_a_later_driver_finds_and_stops_what_an_earlier_one_started(
    node: LocalNode, tmp_path: Path
) -> None:
    assert node.started() is None
    node.start()
    began = node.started()
    assert began is not None
    assert abs(began - time.time_ns() // 1_000_000) < 60_000
    later = _node(tmp_path)
    later.start()
    incarnation = node.incarnation()
    assert incarnation is not None
    assert later.incarnation() == incarnation
    assert later.started() == began, "it runs already"
    wait_until(lambda: "node" in node.log(1), "it printed")
    assert node.log(5) == "node 7 broker /etc/7.properties"
    assert later.stop(Deadline.after(30))
    assert node.started() is None
    assert node.stop(Deadline.after(0)), "nothing runs"
    assert node.incarnation() is None
    node.start()
    assert node.incarnation() not in {incarnation, None}


def test_a_write_replaces_the_file_and_keeps_its_rights(node: LocalNode, tmp_path: Path) -> None:
    file = tmp_path / "deep" / "server.properties"
    node.write(str(file), b"a=1\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.chmod(0o640)
    node.write(str(file), b"a=2\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert node.read(str(file)) == b"a=2\n"
    written = node.modified(str(file))
    node.write(str(file), b"a=2\n")
    assert node.modified(str(file)) == written, "the same again leaves all as it is"
    assert [each.name for each in file.parent.iterdir()] == ["server.properties"]


def test_a_file_that_is_written_before_the_start_is_not_newer(
    node: LocalNode, tmp_path: Path
) -> None:
    file = str(tmp_path / "server.properties")
    for text in b"a=1\n", b"a=2\n":
        node.write(file, text)
        node.start()
        started, modified = node.started(), node.modified(file)
        assert started is not None
        assert modified is not None
        assert modified <= started
        node.stop(Deadline.after(30))


def test_what_is_not_there_is_none_and_removed_already(node: LocalNode, tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")
    assert node.read(gone) is None
    assert node.modified(gone) is None
    node.remove(gone)
    assert node.free_bytes(f"{gone}/deeper") > 0
    (tmp_path / "data" / "log").mkdir(parents=True)
    node.remove(str(tmp_path / "data"))
    assert not (tmp_path / "data").exists()


def test_a_program_is_run_to_its_end(node: LocalNode) -> None:
    assert node.run(("echo", "formatted"), Deadline.after(30)) == "formatted"
    with pytest.raises(DriverError, match=r"node 7: running sh: it ended with code 3:\nno such"):
        node.run(("sh", "-c", "echo no such thing; exit 3"), Deadline.after(30))
    with pytest.raises(DriverError, match=r"running sleep: sleep did not end within"):
        node.run(("sleep", "100"), Deadline.after(0.1))
    with pytest.raises(DriverError, match=r"running /nowhere/x: No such file or directory"):
        node.run(("/nowhere/x",), Deadline.after(30))


def test_a_file_that_cannot_be_read_is_a_sentence(node: LocalNode, tmp_path: Path) -> None:
    with pytest.raises(DriverError) as caught:
        node.read(str(tmp_path))
    assert str(caught.value) == (
        f"node 7: reading {tmp_path}: Is a directory: {tmp_path}; correct it on the node's host,"
        " look at `towpath kraft status`, then run the command again, which goes on from what it"
        " sees"
    )


def test_other_braces_of_a_command_stay() -> None:
    command = ("-XX:{x}", "{id}.{role}", "--cluster-id={cluster_id}")
    made = filled(command, NodeId(3), Role.CONTROLLER, "p", cluster_id="-abc")
    assert made == ("-XX:{x}", "3.controller", "--cluster-id=-abc")


def test_errors_of_steps_are_sentences() -> None:
    assert str(NodeEndedError(2, "broker 2 serves", "FATAL")).endswith("sees\nFATAL")
    late = str(StepLateError("broker 2 is in sync", 30, "in_sync", "it is behind in a-0"))
    assert late.startswith(
        "this did not come within 30 s (`limits.in_sync`): broker 2 is in sync; seen last: it is"
        " behind in a-0;"
    )
    refused = StepRefusedError("WipeController", "controller 3000 runs")
    assert str(refused) == (
        "the step WipeController was not done: controller 3000 runs; look at `towpath kraft"
        " status`, mend that, then run the command again, which plans anew from what it sees"
    )
    for error in DriverError(7, "a", "b"), NodeEndedError(2, "a", "b"), late, refused:
        assert "`towpath kraft status`" in str(error)
