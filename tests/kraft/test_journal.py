"""A journal keeps what was approved, done and proven, also where a kill cut off a line."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from towpath.kraft.journal import KraftEvent, KraftJournal
from towpath.kraft.observing.seen import Proven
from towpath.model.errors import KraftJournalError


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
    name = journal.keep("/etc/kafka/server.properties", b"password=x\n")
    kept = tmp_path / "kept" / name
    assert kept.read_bytes() == b"password=x\n"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert b"password" not in (tmp_path / "journal.jsonl").read_bytes()


def test_what_was_proven_holds_until_it_does_not(tmp_path: Path) -> None:
    journal = KraftJournal(tmp_path)
    journal.add(KraftEvent.PROBED, epoch=4)
    journal.add(KraftEvent.COMPARED, equal=True)
    first = journal.proven.equal_since
    journal.add(KraftEvent.COMPARED, equal=True)
    assert journal.proven.equal_since == first
    journal.add(KraftEvent.COMPARED, equal=False)
    assert journal.proven.equal_since is None
    journal.add(KraftEvent.COMPARED, equal=True)
    journal.add(KraftEvent.STOPPED, epoch=9)
    assert journal.proven == Proven(probed=4, stopped=9)
    journal.add(KraftEvent.STARTED)
    assert journal.proven == Proven(probed=4)


def test_a_journal_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(KraftJournalError, match="nothing is done that could not be written down"):
        KraftJournal(tmp_path / "file").add(KraftEvent.STARTED)
