"""`down` stops only what `up` started; `cli/test_dev.py` tests both with brokers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from towpath.cli.main import main
from towpath.dev import distribution, ports, secure, updown
from towpath.dev.process import Identity
from towpath.dev.secure import Strongbox
from towpath.dev.updown import DevCluster
from towpath.model.acl import Operation, Resource
from towpath.model.nouns import Side
from towpath.settings import check


class Started:
    """What `up` would have started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ports: list[tuple[str, str, int]] = []
        monkeypatch.setattr(updown, "_start", self)
        monkeypatch.setattr(ports, "require_free", lambda _: None)

    def __call__(
        self, folder: Path, side: Side, version: str, port: int, box: Strongbox | None
    ) -> DevCluster:
        self.ports.append((str(side), version, port))
        data = folder / f"{'secure-' if box else ''}{side}-{version}"
        data.mkdir(exist_ok=True)
        (data / "log").write_text("records")
        # A process that lives for as long as this one, and is never stopped.
        process = Identity.of(os.getpid())
        return DevCluster(side, f"127.0.0.1:{port}", version, process, box is not None)


def _without_keytool(box: Strongbox) -> None:
    """Make files in the place of certificates: keytool takes two seconds, and nobody reads them."""
    for path in (box.keystore, box.authority):
        path.write_text("")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    monkeypatch.setattr(secure, "_certify", _without_keytool)
    monkeypatch.setattr(Identity, "stop", lambda _: None)
    return Started(monkeypatch)


def test_other_ports_while_it_runs_are_said_not_to_be_used(
    tmp_path: Path, started: Started
) -> None:
    told: list[str] = []
    updown.up(tmp_path, source_port=7001, target_port=7002)
    updown.up(tmp_path, tell=told.append)
    updown.up(tmp_path, source_port=7001, tell=told.append)
    assert not told
    updown.up(tmp_path, source_port=8001, target_port=7002, version="3.9.2", tell=told.append)
    newest = distribution.NEWEST
    assert told == [
        f"The source runs already, with Kafka {newest} on 127.0.0.1:7001; port 8001 and Kafka 3.9.2"
        " not used. To change that, run `towpath dev down` first.",
        f"The target runs already, with Kafka {newest} on 127.0.0.1:7002; Kafka 3.9.2 not used. To"
        " change that, run `towpath dev down` first.",
    ]
    assert len(started.ports) == 2


def test_reset_deletes_only_data_of_clusters_and_starts_on_the_same_ports(
    tmp_path: Path, started: Started
) -> None:
    updown.up(tmp_path, version="4.1.0", source_port=7001, target_port=7002)
    (tmp_path / "source-of-truth").mkdir()
    (tmp_path / "source-4.1.0" / "old").write_text("x")
    (tmp_path / "target-3.9.2").mkdir()
    first, again = started.ports[:], updown.reset(tmp_path)
    assert started.ports == first * 2
    assert [each.bootstrap for each in again] == ["127.0.0.1:7001", "127.0.0.1:7002"]
    assert (tmp_path / "source-of-truth").is_dir()
    assert [each.name for each in updown.data(tmp_path)] == ["source-4.1.0", "target-4.1.0"]
    assert not (tmp_path / "source-4.1.0" / "old").exists()


def test_pairs_of_both_kinds_never_run_at_once(
    tmp_path: Path, started: Started, capsys: pytest.CaptureFixture[str]
) -> None:
    updown.up(tmp_path, source_port=7001, target_port=7002)
    assert main(["dev", "up", "--secure", "--home", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        "the source runs already on 127.0.0.1:7001, without TLS and logins; run `towpath dev down`"
        " first, which keeps its data\n"
    )
    updown.down(tmp_path)
    updown.up(tmp_path, source_port=7001, target_port=7002, secure=True)
    assert main(["dev", "up", "--home", str(tmp_path)]) == 2
    assert "127.0.0.1:7001, with TLS and logins; run `towpath dev down`" in capsys.readouterr().err
    assert len(started.ports) == 4


def test_reset_starts_the_kind_that_ran(tmp_path: Path, started: Started) -> None:
    updown.up(tmp_path, source_port=7001, target_port=7002, secure=True)
    assert all(each.secure for each in updown.reset(tmp_path))
    updown.down(tmp_path)
    assert all(each.secure for each in updown.reset(tmp_path)), "its data tell, if nothing runs"
    newest = distribution.NEWEST
    names = [f"secure-source-{newest}", f"secure-target-{newest}"]
    assert [each.name for each in updown.data(tmp_path)] == names
    assert len(started.ports) == 6


@pytest.mark.slow
def test_certificates_and_passwords_are_the_users_alone(tmp_path: Path) -> None:
    box = secure.prepare(tmp_path / "box")
    passwords = [box.password(name) for name in ("source", "target", "admin")]
    secure.write_link(box, {Side.SOURCE: "127.0.0.1:1", Side.TARGET: "127.0.0.1:2"})
    modes = {path.name: path.stat().st_mode & 0o777 for path in box.folder.iterdir()}
    assert box.folder.stat().st_mode & 0o777 == 0o700
    assert {modes.pop("ca.pem")} <= {0o600, 0o644}
    assert set(modes.values()) == {0o600}, modes
    assert len({each.reveal() for each in passwords}) == 3
    assert not any(each.reveal() in box.link.read_text() for each in passwords)
    assert check(box.link) == (), "the file of the link is right"
    before = {path: path.read_bytes() for path in box.folder.iterdir()}
    again = secure.prepare(tmp_path / "box")
    assert [again.password(name) for name in ("source", "target", "admin")] == passwords
    assert {path: path.read_bytes() for path in again.folder.iterdir()} == before


@pytest.mark.parametrize("side", Side)
def test_the_login_of_the_link_has_no_right_that_the_page_does_not_ask_for(side: Side) -> None:
    page = (Path(__file__).parents[2] / "docs" / "rights.md").read_text()
    rows = [line.split("|") for line in page.splitlines() if line.startswith("|")]
    asked = {
        (kind, operation)
        for _, on_side, where, operations, *_ in rows
        if str(side) in on_side
        for kind in Resource
        if kind.replace("_", " ") in where
        for operation in Operation
        if re.search(rf"\b{operation.kafka_name}\b", operations)
    }
    given = {(acl.resource, acl.operation) for acl in secure.rights(side)}
    assert len(given) >= 5
    assert given <= asked


@pytest.mark.slow
def test_the_authority_signs_nothing_else(tmp_path: Path) -> None:
    box = secure.prepare(tmp_path / "box")
    listed = secure._keytool(box, ["-list"])
    assert "broker," in listed
    assert "ca," not in listed, "its key is deleted"


def test_reset_asks_first(
    tmp_path: Path, started: Started, capsys: pytest.CaptureFixture[str]
) -> None:
    updown.up(tmp_path, source_port=7001, target_port=7002)
    assert main(["dev", "reset", "--home", str(tmp_path)]) == 2
    shown = capsys.readouterr().err
    assert f"to be deleted: {tmp_path}/source-{distribution.NEWEST}" in shown
    assert "--yes: not a terminal, so no confirmation is possible; add --yes" in shown
    assert len(started.ports) == 2
    assert main(["dev", "reset", "--home", str(tmp_path), "--yes"]) == 0
    assert len(started.ports) == 4


def test_a_recycled_pid_is_never_stopped(tmp_path: Path) -> None:
    """The file names a living process that started at another time than it says."""
    bystander = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with bystander:
        known = Identity.of(bystander.pid)
        assert known.process() is not None
        fact = {
            "side": "source",
            "bootstrap": "127.0.0.1:9092",
            "version": "4.3.1",
            "process": {"pid": known.pid, "started": known.started - 60},
        }
        (tmp_path / "running.json").write_text(json.dumps([fact]))
        assert updown.down(tmp_path) == ()
        assert bystander.poll() is None
        bystander.communicate(b"\n")
