"""Sessions with real servers: TLS, logins, starts, several servers."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_digest_acl

from tests.support.clusters.certificates import Authority
from tests.support.kafka import wait_until
from tests.support.kraft import ensembles, znodes
from tests.support.kraft.ensembles import Ensemble
from towpath.dev import ports
from towpath.kraft.errors import ZooKeeperAwayError, ZooKeeperDeniedError
from towpath.kraft.facts.servers import EnsembleSeen, ServerMode
from towpath.kraft.zookeeper.client import ZooKeeper
from towpath.runtime.deadline import Deadline

pytestmark = pytest.mark.soak


def soon() -> Deadline:
    return Deadline.after(20)


def test_a_server_that_is_not_there_is_told_in_time(tmp_path: Path) -> None:
    config = Ensemble(tmp_path).config()
    began = time.monotonic()
    with pytest.raises(ZooKeeperAwayError, match=r"a session.*refused.*`zookeeper.connect`"):
        ZooKeeper(config).open(Deadline.after(1))
    assert time.monotonic() - began < 5


def test_a_server_that_says_nothing_is_told_in_time(tmp_path: Path) -> None:
    with ensembles.ensemble(tmp_path) as made, ensembles.zookeeper(made.config()):
        made.send(0, signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(ZooKeeperAwayError, match="took the connection, but opened no session"):
            ZooKeeper(made.config()).open(Deadline.after(1))
        assert time.monotonic() - began < 5


def test_a_session_opens_as_soon_as_a_server_is_up(tmp_path: Path) -> None:
    made = Ensemble(tmp_path)
    made.start()
    try:
        with ensembles.zookeeper(made.config(), 30) as zookeeper:
            (server,) = zookeeper.ensemble(soon()).servers
            assert (server.mode, server.version) == (ServerMode.STANDALONE, "3.8.4")
    finally:
        made.stop()


def test_who_is_connected_is_told_by_each_server(tmp_path: Path) -> None:
    words = {"4lw.commands.whitelist": "srvr,cons"}
    with (
        ensembles.ensemble(tmp_path, 3, **words) as made,
        ensembles.zookeeper(made.config()) as zookeeper,
        clients(made.connect, 3),
    ):
        ensembles.fill(made.connect, {"/brokers/ids": b""})
        _settled(zookeeper, 3)
        with clients(made.connect, 2) as brokers:
            for number, each in enumerate(brokers):
                each.create(f"/brokers/ids/{number}", b"{}", ephemeral=True)
            told = zookeeper.clients(soon())
            assert (dict(told.known), dict(told.others)) == ({"127.0.0.1": 2}, {"127.0.0.1": 3})
        assert told.untold == ()


def test_servers_that_do_not_tell_who_is_connected_say_so(tmp_path: Path) -> None:
    with ensembles.ensemble(tmp_path) as made, ensembles.zookeeper(made.config()) as zookeeper:
        [said] = zookeeper.clients(soon()).untold
        word = "cons is not executed because it is not in the whitelist."
        assert said.startswith(f"{made.connect} ({word}; its AdminServer at port {made.admin_port}")
        assert said.endswith("refused)")


def test_an_admin_server_tells_who_is_connected_where_the_word_is_forbidden(tmp_path: Path) -> None:
    with (
        ensembles.ensemble(tmp_path, admin=True) as made,
        ensembles.zookeeper(made.config()) as zookeeper,
        clients(made.connect, 3) as others,
    ):
        ensembles.fill(made.connect, {"/brokers/ids": b""})
        others[0].create("/brokers/ids/1", b"{}", ephemeral=True)
        told = zookeeper.clients(soon())
        assert (dict(told.known), dict(told.others)) == ({"127.0.0.1": 1}, {"127.0.0.1": 2})
        assert told.untold == ()


def test_thousands_of_connections_are_told(tmp_path: Path) -> None:
    # Else those without a session are cut after ten seconds.
    patient = {"nio.sessionlessCnxnTimeout": "600000", "maxClientCnxns": "0"}
    words = {"4lw.commands.whitelist": "cons", **patient}
    with (
        ensembles.ensemble(tmp_path, 1, **words) as made,
        ensembles.zookeeper(made.config()) as zookeeper,
        clients(made.connect, 1),
        ExitStack() as lines,
    ):
        for _ in range(2000):  # above 64 KiB of answer
            lines.enter_context(socket.create_connection(("127.0.0.1", made.port())))
        wait_until(lambda: _answer(made.port()).count(b"\n") > 2000, "the server took them all")
        told = zookeeper.clients(soon())
        assert (dict(told.others), told.untold) == ({"127.0.0.1": 1}, ())


def _answer(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(b"cons")
        with line.makefile("rb") as answer:
            return answer.read()


@contextmanager
def clients(connect: str, number: int) -> Iterator[list[KazooClient]]:
    """Yield clients that are connected."""
    made = [KazooClient(connect) for _ in range(number)]
    try:
        for each in made:
            each.start(20)
        yield made
    finally:
        for each in made:
            each.stop()
            each.close()


def test_three_servers_of_which_one_falls(tmp_path: Path) -> None:
    with ensembles.ensemble(tmp_path, 3) as made, ensembles.zookeeper(made.config()) as zookeeper:
        ensembles.fill(made.connect, znodes.small())
        before = zookeeper.read(soon())
        whole = _settled(zookeeper, 3)
        assert (whole.voters, whole.voting, whole.spare) == (3, 3, 1)
        leader = [each.mode for each in whole.servers].index(ServerMode.LEADER)
        made.processes[leader].kill()
        left = _settled(zookeeper, 2)
        assert (left.voters, left.voting, left.spare) == (3, 2, 0)
        assert "refused" in left.servers[leader].why
        assert zookeeper.read(soon()).image == before.image


def _settled(zookeeper: ZooKeeper, voting: int) -> EnsembleSeen:
    deadline = Deadline.after(30)
    while True:
        seen = zookeeper.ensemble(deadline)
        if seen.voting == voting or deadline.over:
            return seen
        time.sleep(0.1)


def test_a_session_goes_through_tls(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "ca")
    own = authority.issue("server")
    port = ports.reserve(1)[0]
    secure = {
        "secureClientPort": str(port),
        "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
        "ssl.keyStore.location": str(own.both),
        "ssl.trustStore.location": str(authority.certificate),
        "ssl.trustStore.type": "PEM",
        "ssl.clientAuth": "none",
    }
    with ensembles.ensemble(tmp_path, 1, **secure) as made:
        there = f"localhost:{port}"
        tls = {"ca": str(authority.certificate)}
        with ensembles.zookeeper(made.config(connect=there, tls=tls)) as zookeeper:
            (server,) = zookeeper.ensemble(soon()).servers
            assert server.mode is ServerMode.STANDALONE
        other = {"ca": str(Authority(tmp_path / "other").certificate)}
        with pytest.raises(ZooKeeperAwayError, match="its certificate is not accepted"):
            ZooKeeper(made.config(connect=there, tls=other)).open(Deadline.after(2))
        with pytest.raises(ZooKeeperAwayError, match=r"`zookeeper\.tls`"):
            ZooKeeper(made.config(connect=there)).open(Deadline.after(2))


def _login(user: str, variable: str) -> dict[str, str]:
    return {"username": user, "password": f"env:{variable}"}


def test_a_login_opens_what_strangers_may_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIGHT", "s3cret=,x")
    monkeypatch.setenv("WRONG", "other")
    with ensembles.ensemble(tmp_path, login={"kafka": "s3cret=,x"}) as made:
        right = made.config(**_login("kafka", "RIGHT"))
        with ensembles.zookeeper(right) as zookeeper:
            ensembles.fill(made.connect, znodes.small())
            zookeeper.lock("ann", soon())
            with ensembles.zookeeper(made.config()) as stranger:
                assert stranger.read(soon()).odd
        for user, variable in (("kafka", "WRONG"), ("nobody", "WRONG")):
            wrong = made.config(**_login(user, variable))
            with pytest.raises(ZooKeeperDeniedError, match="the login was refused"):
                ZooKeeper(wrong).open(soon())


def test_znodes_that_the_login_may_not_read_are_named(tmp_path: Path) -> None:
    with ensembles.ensemble(tmp_path) as made, ensembles.zookeeper(made.config()) as zookeeper:
        ensembles.fill(made.connect, znodes.small())
        client = KazooClient(made.connect)
        client.start(20)
        closed = [make_digest_acl("kafka", "x", all=True)]
        for path in ("/config/users", "/config/brokers/1", "/brokers/topics"):
            client.set_acls(path, closed)
        seen = zookeeper.read(soon())
        paths = {each.path for each in seen.odd}
        assert {"/config/users", "/config/brokers/1", "/brokers/topics"} <= paths
        assert seen.writers == ()
        client.set_acls("/controller", closed)
        with pytest.raises(ZooKeeperDeniedError, match=r"reading /controller.*username"):
            zookeeper.read(soon())
        client.stop()
        client.close()


_HOLDER = """
import sys
from towpath.kraft.config.file import ZooKeeperConfig
from towpath.kraft.zookeeper.client import ZooKeeper
from towpath.runtime.deadline import Deadline
config = ZooKeeperConfig.model_validate({"connect": sys.argv[1], "session_timeout": "2s"})
with ZooKeeper(config) as zookeeper:
    zookeeper.lock("the killed one", Deadline.after(20))
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_lock_of_a_killed_process_ends_with_its_session(tmp_path: Path) -> None:
    with ensembles.ensemble(tmp_path) as made, ensembles.zookeeper(made.config()) as zookeeper:
        holder = subprocess.Popen(
            [sys.executable, "-c", _HOLDER, made.connect],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        with holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            told: list[str] = []
            holder.kill()
            lock = zookeeper.lock("next", soon(), lambda held: told.append(held.holder))
            assert told == ["the killed one"]
            lock.require(soon())
