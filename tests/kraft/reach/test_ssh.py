"""Nodes over ssh, with a real server on the loopback."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.kafka import wait_until
from tests.support.kraft.sshd import LocalSshd, fetch
from towpath.kraft.config import SshDriver
from towpath.kraft.errors import DriverError
from towpath.kraft.facts.nouns import NodeId, Role
from towpath.kraft.reach.ssh import SshNode, ssh_command
from towpath.runtime.deadline import Deadline

pytestmark = pytest.mark.soak
NODE = NodeId(7)
PATIENT = "import sys, time; print('begun', flush=True); time.sleep(600)"
STUBBORN = "import signal, time; signal.signal(15, lambda *_: None); print('up', flush=True)\n"


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalSshd]:
    program = fetch()
    if program is None:
        pytest.skip("no package of an OpenSSH server can be had here")
    with LocalSshd(program, tmp_path_factory.mktemp("sshd")) as server:
        yield server


def driver(server: LocalSshd, **changes: object) -> SshDriver:
    return SshDriver.model_validate(
        {
            "via": "ssh",
            "format": "true",
            "port": server.port,
            "options": server.options,
            "broker_unit": "kafka-{id}.service",
            **changes,
        }
    )


@pytest.fixture
def node(sshd: LocalSshd) -> SshNode:
    return SshNode(driver(sshd), NODE, Role.BROKER, "127.0.0.1")


@pytest.mark.parametrize("name", ["x.properties", "with blank 'and\" quotes$(x);y", "ä"])
def test_files_are_replaced_whole(node: SshNode, tmp_path: Path, name: str) -> None:
    path = tmp_path / "deep" / name
    assert node.read(str(path)) is None
    assert node.modified(str(path)) is None
    first, second = b"a=1\n\x00\xff", b"b" * 3_000_000
    node.write(str(path), first)
    assert node.read(str(path)) == path.read_bytes() == first
    path.chmod(0o640)
    node.write(str(path), second)
    assert node.read(str(path)) == second
    assert [each.name for each in path.parent.iterdir()] == [name]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    changed = node.modified(str(path))
    assert changed is not None
    assert abs(changed - path.stat().st_mtime_ns / 1e6) < 2
    node.remove(str(path.parent))
    assert not path.parent.exists()


def test_a_link_is_as_old_as_the_file_that_it_names(node: SshNode, tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"a")
    link.symlink_to(real)
    os.utime(link, (1, 1), follow_symlinks=False)
    node.write(str(link), b"b")
    changed = node.modified(str(link))
    assert link.is_symlink()
    assert real.read_bytes() == b"b"
    assert changed is not None
    assert abs(changed - real.stat().st_mtime_ns / 1e6) < 2


def test_a_file_that_says_the_same_is_left(node: SshNode, tmp_path: Path) -> None:
    path = tmp_path / "x"
    node.write(str(path), b"a")
    before = path.stat().st_mtime_ns
    node.write(str(path), b"a")
    assert path.stat().st_mtime_ns == before


def test_a_unit_is_started_found_and_stopped(node: SshNode, sshd: LocalSshd) -> None:
    sshd.unit("kafka-7.service", sys.executable, "-c", PATIENT)
    assert node.started() is None
    node.start()
    wait_until(lambda: node.started() is not None, "the unit runs")
    wait_until(lambda: "begun" in node.log(5), "it has said something")
    began, incarnation = node.started(), node.incarnation()
    assert began is not None
    assert incarnation is not None
    node.start()
    assert node.incarnation() == incarnation
    assert abs((node.started() or 0) - began) < 50
    assert node.stop(Deadline.after(20))
    assert node.started() is None
    assert node.incarnation() is None
    node.start()
    wait_until(lambda: node.incarnation() not in {incarnation, None}, "the unit runs again")
    assert node.stop(Deadline.after(20))


def test_a_file_written_later_is_younger_than_the_process(
    node: SshNode, sshd: LocalSshd, tmp_path: Path
) -> None:
    sshd.unit("kafka-7.service", sys.executable, "-c", PATIENT)
    path = str(tmp_path / "x")
    node.write(path, b"before")
    node.start()
    wait_until(lambda: node.started() is not None, "the unit runs")
    before, began = node.modified(path), node.started()
    node.write(path, b"after")
    after = node.modified(path)
    assert before is not None
    assert began is not None
    assert after is not None
    assert before < began < after
    node.stop(Deadline.after(20))


def test_a_stubborn_unit_is_killed_at_the_deadline(node: SshNode, sshd: LocalSshd) -> None:
    code = STUBBORN + "while True: time.sleep(1)"
    (sshd.folder / "stubborn.py").write_text(code)
    sshd.unit("kafka-7.service", sys.executable, str(sshd.folder / "stubborn.py"))
    node.start()
    wait_until(lambda: "up" in node.log(5), "it ignores SIGTERM")
    assert not node.stop(Deadline.after(1))
    assert node.started() is None


def test_programs_are_run_as_they_are_written(node: SshNode, tmp_path: Path) -> None:
    assert (
        node.run(["printf", "%s|", "a b", "$HOME", "c'd"], Deadline.after(20)) == "a b|$HOME|c'd|"
    )
    assert (node.free_bytes(str(tmp_path / "not" / "there")) or 0) > 0
    with pytest.raises(DriverError, match="code 3: went wrong"):
        node.run(["sh", "-c", "echo went wrong; exit 3"], Deadline.after(20))


def test_a_host_that_is_away_says_so(sshd: LocalSshd) -> None:
    away = SshNode(driver(sshd, port=1), NODE, Role.BROKER, "127.0.0.1")
    with pytest.raises(DriverError, match=r"ssh to 127\.0\.0\.1 failed"):
        away.read("/etc/hostname")


def test_options_of_the_file_come_first_as_ssh_takes_the_first(sshd: LocalSshd) -> None:
    words = ssh_command(driver(sshd, options=["ControlPersist=5"]), "a")
    assert words.index("ControlPersist=5") < words.index("ControlPersist=60")


def test_what_a_login_prints_first_is_not_taken_for_an_answer(
    node: SshNode, sshd: LocalSshd, tmp_path: Path
) -> None:
    path = tmp_path / "x.properties"
    path.write_bytes(b"a=1\n")
    sshd.unit("kafka-7.service", sys.executable, "-c", PATIENT)
    with sshd.replaced("greeting", "Welcome!\nUser=nobody 100 %\n"):
        assert node.read(str(path)) == b"a=1\n"
        assert (node.free_bytes(str(tmp_path)) or 0) > 0
        assert abs((node.modified(str(path)) or 0) - path.stat().st_mtime_ns / 1e6) < 2
        assert node.started() is None
        assert node.run(("echo", "formatted"), Deadline.after(30)) == "formatted"
        node.write(str(path), b"b=2\n")
    assert path.read_bytes() == b"b=2\n"


def test_a_login_that_runs_no_commands_is_told(tmp_path: Path, sshd: LocalSshd) -> None:
    """As `nologin` does, but with exit code 0."""
    (tmp_path / "ssh").write_text("#!/bin/sh\necho This account is not available.\n")
    (tmp_path / "ssh").chmod(0o755)
    node = SshNode(driver(sshd), NODE, Role.BROKER, "127.0.0.1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        with pytest.raises(
            DriverError, match="does not run commands: This account is not available"
        ):
            node.read("/etc/hostname")


def test_a_changed_host_key_is_told(sshd: LocalSshd, tmp_path: Path) -> None:
    known = tmp_path / "known"
    key = (sshd.folder / "id.pub").read_text()  # any other key
    known.write_text(f"[127.0.0.1]:{sshd.port} {key}")
    options = [f"UserKnownHostsFile={known}", "StrictHostKeyChecking=yes", "ControlPath=none",
               f"IdentityFile={sshd.folder}/id"]  # fmt: skip
    other = SshNode(driver(sshd, options=options), NODE, Role.BROKER, "127.0.0.1")
    with pytest.raises(DriverError, match="IDENTIFICATION HAS CHANGED"):
        other.read("/etc/hostname")
    assert known.read_text().count("\n") == 1, "it was not written down as a new one"


def test_a_sudo_that_asks_for_a_password_is_told(node: SshNode, sshd: LocalSshd) -> None:
    asks = "#!/bin/sh\necho sudo: a password is required >&2; exit 1\n"
    with sshd.replaced("bin/sudo", asks):
        for ask in (lambda: node.read("/etc/hostname"), node.started, node.start):
            with pytest.raises(DriverError, match="code 1: sudo: a password is required"):
                ask()


def test_a_host_whose_systemd_does_not_answer_is_not_taken_for_one_whose_node_is_down(
    node: SshNode, sshd: LocalSshd
) -> None:
    fails = "#!/bin/sh\necho Failed to connect to bus >&2; exit 1\n"
    with sshd.replaced("bin/systemctl", fails):
        for ask in (node.started, node.incarnation, node.process, node.start):
            with pytest.raises(DriverError, match="code 1: Failed to connect to bus"):
                ask()


def test_a_connection_that_falls_silent_is_given_up_for_another_one(sshd: LocalSshd) -> None:
    """A host that lost its power leaves a connection which would be silent for hours."""
    control = f"ControlPath={sshd.sockets}/silent"
    options = [control, "ServerAliveInterval=1", "ServerAliveCountMax=2", *sshd.options]
    node = SshNode(driver(sshd, options=options), NODE, Role.BROKER, "127.0.0.1")
    assert node.read("/etc/hostname")
    with sshd.frozen():
        wait_until(lambda: answered(node), "another connection serves")


def answered(node: SshNode) -> bool:
    try:
        return bool(node.read("/etc/hostname"))
    except DriverError:
        return False


def test_a_proxy_that_never_connects_is_given_up(sshd: LocalSshd) -> None:
    options = ["ConnectTimeout=1", "ProxyCommand=sleep 600", *sshd.options]
    node = SshNode(driver(sshd, options=options), NODE, Role.BROKER, "127.0.0.2")
    with pytest.raises(DriverError, match=r"ssh to 127\.0\.0\.2 failed"):
        node.read("/etc/hostname")
    late = ["ConnectTimeout=300", *options]
    slow = SshNode(driver(sshd, options=late, sudo=False), NODE, Role.BROKER, "127.0.0.2")
    with pytest.raises(DriverError, match=r"ssh did not end within [\d.]+ s"):
        slow.run(("true",), Deadline.after(1))


def test_nothing_of_a_file_is_shown_where_reading_it_fails(
    node: SshNode, sshd: LocalSshd, tmp_path: Path
) -> None:
    path = tmp_path / "x.properties"
    path.write_text("password=hunter2\n")
    fails = '#!/bin/sh\n/bin/cat "$@"; echo no more >&2; exit 5\n'
    with sshd.replaced("bin/cat", fails):
        (sshd.folder / "bin/cat").chmod(0o755)
        with pytest.raises(DriverError, match="code 5: no more") as caught:
            node.read(str(path))
    assert "hunter2" not in str(caught.value)
