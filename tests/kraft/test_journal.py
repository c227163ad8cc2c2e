"""A journal keeps what was approved, done and proven, also where a kill cut off a line."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.kraft.worlds import kraft_config, start_of
from towpath.kraft.config.drivers import LocalDriver
from towpath.kraft.do.tools import Tools
from towpath.kraft.do.waiting import StepWaits
from towpath.kraft.errors import JournalHeldError, KraftJournalError
from towpath.kraft.facts.nouns import NodeId, Role, Stage
from towpath.kraft.facts.seen import Proven
from towpath.kraft.journal import KraftEvent, KraftJournal
from towpath.kraft.reach.local import LocalNode
from towpath.kraft.zookeeper.client import ZooKeeper

_COMPARED: Mapping[str, object] = {"compared": {}, "digests": {}, "differences": []}


def test_a_finalize_that_began_is_known_until_controllers_have_the_flag_again(
    tmp_path: Path,
) -> None:
    journal = KraftJournal(tmp_path)
    for event, facts, begun in (
        (KraftEvent.STAGE, {"stage": "dual_write"}, False),
        (KraftEvent.FINALIZING, {}, True),
        (KraftEvent.STAGE, {"stage": "finalizing"}, True),
        (KraftEvent.STAGE, {"stage": "headless"}, True),
        (KraftEvent.STAGE, {"stage": "dual_write"}, False),
    ):
        journal.add(event, **facts)
        assert journal.proven.finalizing is begun, event


def test_looking_makes_no_folder(tmp_path: Path) -> None:
    journal = KraftJournal(tmp_path / "journal")
    assert journal.entries() == ()
    assert journal.proven == Proven()
    assert not journal.folder.exists()


def test_entries_come_back_in_order(tmp_path: Path) -> None:
    journal = KraftJournal(tmp_path / "a" / "b")
    journal.add(KraftEvent.RUN_BEGAN, goal="final")
    journal.add(KraftEvent.STAGE, stage="hybrid", kip=3)
    told = KraftJournal(journal.folder).entries()
    assert [(each.event, each.facts) for each in told] == [
        (KraftEvent.RUN_BEGAN, {"goal": "final"}),
        (KraftEvent.STAGE, {"stage": "hybrid", "kip": 3}),
    ]
    assert stat.S_IMODE(journal.folder.stat().st_mode) == 0o700


def test_a_journal_of_another_cluster_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    journal = KraftJournal(tmp_path)
    journal.add(KraftEvent.PROBED, epoch=3)  # of a Towpath that did not write whose it is
    journal.belong_to("mine")
    KraftJournal(tmp_path).belong_to("mine")
    assert [each.facts for each in journal.entries()][1:] == [{"id": "mine"}]
    before = (tmp_path / "journal.jsonl").read_bytes()
    with pytest.raises(KraftJournalError, match="of cluster mine, and this is cluster other"):
        journal.belong_to("other")
    assert (tmp_path / "journal.jsonl").read_bytes() == before


def test_a_line_that_a_kill_cut_off_is_left_out_and_spoils_no_other(tmp_path: Path) -> None:
    journal = KraftJournal(tmp_path)
    journal.add(KraftEvent.STARTED)
    whole = (tmp_path / "journal.jsonl").read_bytes()
    for end in range(1, len(whole)):
        (tmp_path / "journal.jsonl").write_bytes(whole + whole[:end])
        journal.add(KraftEvent.PROBED, epoch=7)
        events = [each.event for each in journal.entries()]
        assert events[0] is KraftEvent.STARTED
        assert events[-1] is KraftEvent.PROBED
        assert journal.proven.probed == 7


def test_originals_are_kept_for_their_owner_alone(tmp_path: Path) -> None:
    journal = KraftJournal(tmp_path)
    name = journal.keep(7, "/etc/kafka/server.properties", b"password=x\n")
    kept = tmp_path / "kept" / name
    assert kept.read_bytes() == b"password=x\n"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert b"password" not in (tmp_path / "journal.jsonl").read_bytes()


def test_the_path_of_an_original_may_be_long(tmp_path: Path) -> None:
    path = "/" + "/".join(["ü" * 60] * 10) + "/server.properties"
    name = KraftJournal(tmp_path).keep(7, path, b"a")
    assert name.endswith("_server.properties")
    assert (tmp_path / "kept" / name).read_bytes() == b"a"


def test_an_original_is_kept_once_and_again_where_it_is_another_or_gone(tmp_path: Path) -> None:
    journal = KraftJournal(tmp_path)
    first = journal.keep(1, "/a", b"x")
    assert KraftJournal(tmp_path).keep(1, "/a", b"x") == first
    assert len({first, journal.keep(2, "/a", b"x"), journal.keep(1, "/a", b"y")}) == 3
    again = journal.keep(1, "/a", b"x")
    (tmp_path / "kept" / again).unlink()
    assert journal.keep(1, "/a", b"x") not in {first, again}


def test_a_file_is_written_only_once_its_original_is_in_the_journal(tmp_path: Path) -> None:
    config = kraft_config(brokers=1)
    file = tmp_path / "server.properties"
    file.write_bytes(b"broker.id=0\n")
    local = LocalDriver(via="local", start=("true",), format=("true",), folder=str(tmp_path))
    node = LocalNode(local, NodeId(0), Role.BROKER, str(file))
    waits = StepWaits(config.limits, {NodeId(0): node}, lambda _: start_of(config), lambda _: None)
    journal = KraftJournal(tmp_path / "journal")
    tools = Tools(config, {NodeId(0): node}, waits, journal, ZooKeeper(config.zookeeper))
    tools.replace(NodeId(0), str(file), b"broker.id=0\n", b"node.id=0\n")
    (kept,) = (tmp_path / "journal" / "kept").iterdir()
    assert kept.read_bytes() == b"broker.id=0\n"
    assert file.read_bytes() == b"node.id=0\n"
    (tmp_path / "broken").write_text("")
    broken = replace(tools, journal=KraftJournal(tmp_path / "broken"))
    with pytest.raises(KraftJournalError):
        broken.replace(NodeId(0), str(file), b"node.id=0\n", b"node.id=1\n")
    assert file.read_bytes() == b"node.id=0\n", "nothing is written that was not kept"


def test_what_was_proven_holds_until_it_does_not(tmp_path: Path) -> None:
    journal = KraftJournal(tmp_path)
    journal.add(KraftEvent.PROBED, epoch=4)
    journal.add(KraftEvent.COMPARED, **_COMPARED, equal=True)
    first = journal.proven.equal_since
    journal.add(KraftEvent.COMPARED, **_COMPARED, equal=True)
    assert journal.proven.equal_since == first
    journal.add(KraftEvent.COMPARED, **_COMPARED, equal=False)
    assert journal.proven.equal_since is None
    journal.add(KraftEvent.COMPARED, **_COMPARED, equal=True)
    journal.add(KraftEvent.STOPPED, epoch=9)
    assert journal.proven == Proven(probed=4, stopped=9)
    journal.add(KraftEvent.STARTED)
    assert journal.proven == Proven(probed=4)


def test_proofs_end_with_the_migration_that_they_are_of(tmp_path: Path) -> None:
    """Those of a quorum that was formatted anew begin at the same epochs again."""
    for stage in Stage:
        journal = KraftJournal(tmp_path / stage)
        journal.add(KraftEvent.PROBED, epoch=4)
        journal.add(KraftEvent.COMPARED, equal=True, **_COMPARED)
        since = journal.proven.equal_since
        journal.add(KraftEvent.STAGE, stage=stage, kip=None)
        begins = stage in {Stage.ZOOKEEPER, Stage.PROVISIONED, Stage.REGISTERING, Stage.COPYING}
        ended = stage is Stage.FINAL  # ZooKeeper grows old from there on
        kept = (
            Proven()
            if begins
            else Proven(probed=4, equal_since=None if ended else since, final=ended)
        )
        assert journal.proven == kept, stage


def test_controllers_that_were_seen_to_lead_are_no_longer_stopped(tmp_path: Path) -> None:
    """Somebody else may have started them, and have formatted them anew before."""
    for stage in Stage:
        journal = KraftJournal(tmp_path / stage)
        journal.add(KraftEvent.STOPPED, epoch=9)
        journal.add(KraftEvent.STAGE, stage=stage, kip=None)
        away = stage in {Stage.HEADLESS, Stage.UNKNOWN}
        assert journal.proven.stopped == (9 if away else None), stage


def test_a_journal_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(KraftJournalError, match="nothing is done that could not be written down"):
        KraftJournal(tmp_path / "file").add(KraftEvent.STARTED)


@pytest.mark.parametrize(
    "line",
    [
        '{"at": "x", "event": "probed", "epoch": 9}',
        '{"at": true, "event": "probed", "epoch": 9}',
        '{"at": 1e3, "event": "probed", "epoch": 9}',
        f'{{"at": {10**30}, "event": "probed", "epoch": 9}}',
        '{"at": 1, "event": "compared", "equal": "no"}',
        '{"at": 1, "event": "compared", "equal": true}',
        '{"at": 1, "event": "approved"}',
        '{"at": 1, "event": "step_done", "seconds": "long"}',
        '{"at": 1, "event": "probed", "epoch": "9"}',
        '{"at": 1, "event": "probed", "epoch": true}',
        '{"at": 1, "event": "stopped"}',
        '{"at": 1, "event": "kept", "node": 1, "name": "/a"}',
        '{"at": 1, "event": "kept", "node": 1, "name": "/a", "file": 7, "sha256": "x"}',
        '{"at": 1, "event": ["probed"], "epoch": 9}',
        '{"at": 1, "event": "of a newer version"}',
        '[1, 2]',
        'null',
        "not JSON",
        "\x00\ufffd",
        "[" * 100_000,
    ],
)  # fmt: skip
def test_what_somebody_else_wrote_proves_nothing_and_hinders_nobody(
    tmp_path: Path, line: str
) -> None:
    journal = KraftJournal(tmp_path)
    (tmp_path / "journal.jsonl").write_text(line + "\n")
    assert journal.proven == Proven()
    assert all(type(each.at) is int for each in journal.entries())
    assert (tmp_path / "kept" / journal.keep(1, "/a", b"x")).exists()
    journal.add(KraftEvent.PROBED, epoch=4)
    assert journal.proven.probed == 4


def test_a_journal_is_held_by_one_process_at_a_time(tmp_path: Path) -> None:
    journal = KraftJournal(tmp_path / "journal")
    other = KraftJournal(tmp_path / "journal")
    said = "another process on this machine"
    with journal.held(), pytest.raises(JournalHeldError, match=said), other.held():
        pass
    with journal.held():
        pass
    with pytest.raises(BlockingIOError), journal.held():
        raise BlockingIOError


def test_names_of_new_files_and_folders_are_on_disk_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power cut, a file whose name is not on disk is gone, whatever was synced of it."""
    synced: dict[int, set[str]] = {}
    true = os.fsync

    def fsync(file: int) -> None:
        true(file)
        about = os.fstat(file)
        if stat.S_ISDIR(about.st_mode):
            synced[about.st_ino] = {*os.listdir(file)}

    monkeypatch.setattr(os, "fsync", fsync)
    journal = KraftJournal(tmp_path / "a" / "b")
    kept = journal.keep(1, "/etc/server.properties", b"broker.id=1\n")

    def names(folder: Path) -> set[str]:
        return synced.get(folder.stat().st_ino, set())

    assert "a" in names(tmp_path)
    assert "b" in names(tmp_path / "a")
    assert {"journal.jsonl", "kept"} <= names(journal.folder)
    assert kept in names(journal.folder / "kept")
