"""A journal that cannot be used, or not be trusted: nothing is done, and all goes on behind it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters.small_disks import SmallDisk, mounted
from towpath.kraft.errors import KraftJournalError
from towpath.kraft.facts.seen import Proven
from towpath.kraft.journal import KraftEvent, KraftJournal

_HOUR = 3_600_000
_EQUAL: dict[str, Any] = {"equal": True, "compared": {}, "digests": {}, "differences": []}
NOBODY = 65534


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with mounted(tmp_path / "disk") as made:
        yield made


def names(folder: Path) -> set[str]:
    return {each.name for each in folder.rglob("*")}


def test_on_a_full_disk_an_entry_is_written_whole_or_not_at_all(disk: SmallDisk) -> None:
    journal = KraftJournal(disk.folder / "journal")
    journal.add(KraftEvent.PROBED, epoch=4)
    file = journal.folder / "journal.jsonl"
    disk.fill()
    page = os.sysconf("SC_PAGE_SIZE")
    steps = ["x" * 100] * (2 * page // 100)
    before = file.read_bytes()
    with pytest.raises(KraftJournalError, match="No space left on device"):
        journal.add(KraftEvent.APPROVED, goal="final", by="me", steps=steps)
    assert file.read_bytes() == before, "half a line is no line"
    with pytest.raises(KraftJournalError, match="No space left on device"):
        journal.keep(1, "/etc/1.properties", b"x" * 2 * page)
    assert names(journal.folder) <= {"journal.jsonl", "kept"}, "no half of an original is left"
    disk.free()
    journal.add(KraftEvent.STARTED)
    assert journal.proven == Proven(probed=4)
    assert [each.event for each in journal.entries()] == [KraftEvent.PROBED, KraftEvent.STARTED]


def of_a_folder(folder: Path) -> None:
    (folder / "journal" / "journal.jsonl").mkdir(parents=True)


def of_a_file(folder: Path) -> None:
    (folder / "journal").write_text("somebody's file")


def of_a_lost_link(folder: Path) -> None:
    (folder / "journal").symlink_to(folder / "not" / "mounted")


def of_a_loop(folder: Path) -> None:
    (folder / "journal").symlink_to(folder / "journal")


@pytest.mark.parametrize("make", [of_a_folder, of_a_file, of_a_lost_link, of_a_loop])
def test_what_is_no_journal_is_a_sentence(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path)
    before = names(tmp_path)
    journal = KraftJournal(tmp_path / "journal")
    acts: list[Callable[[], object]] = [
        lambda: journal.add(KraftEvent.STARTED),
        lambda: journal.keep(1, "/a", b"x"),
        lambda: journal.belong_to("x"),
        lambda: journal.held().__enter__(),
    ]
    if make is of_a_folder:
        acts.pop()
    for act in acts:
        with pytest.raises(KraftJournalError, match="name another folder as `journal`"):
            act()
    assert names(tmp_path) - {"kept", "1-a"} == before


def test_a_link_to_a_folder_is_that_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "journal").symlink_to(tmp_path / "real")
    KraftJournal(tmp_path / "journal").add(KraftEvent.PROBED, epoch=4)
    assert KraftJournal(tmp_path / "real").proven.probed == 4
    assert (tmp_path / "journal").is_symlink()


def test_the_journal_is_for_its_owner_alone_also_in_a_folder_of_others(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir(mode=0o755)
    journal = KraftJournal(tmp_path / "journal")
    journal.add(KraftEvent.STARTED)
    journal.keep(1, "/a", b"secret")
    found = {each.name: each.stat().st_mode & 0o077 for each in journal.folder.rglob("*")}
    assert set(found.values()) == {0}, found


def test_the_journal_of_another_user_is_a_sentence(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root may become another user")
    journal = KraftJournal(tmp_path / "journal")
    journal.add(KraftEvent.PROBED, epoch=4)
    journal.keep(1, "/a", b"x")
    said: list[str] = []
    for each in tmp_path, *tmp_path.parents:
        if each.stat().st_uid == 0 and each not in {Path("/"), Path("/tmp")}:  # noqa: S108
            each.chmod(0o755)
    os.seteuid(NOBODY)
    try:
        for act in (
            lambda: journal.proven,
            lambda: journal.add(KraftEvent.STARTED),
            lambda: journal.keep(1, "/a", b"y"),
            lambda: journal.belong_to("x"),
            lambda: journal.held().__enter__(),
        ):
            with pytest.raises(KraftJournalError) as caught:
                act()
            said.append(str(caught.value))
    finally:
        os.seteuid(0)
    assert all("Permission denied" in each for each in said), said
    assert journal.proven.probed == 4


@pytest.mark.parametrize(
    "line",
    [
        "{",
        '{"at": 1, "event": "of a newer version"}',
        "\x00" * 20,
        '{"at": 1, "event": "compared"}',
    ],
)
def test_proofs_before_a_line_that_cannot_be_read_are_none(tmp_path: Path, line: str) -> None:
    """It may have said that controllers were started, or that both stores differed."""
    journal = KraftJournal(tmp_path)
    journal.add(KraftEvent.PROBED, epoch=4)
    journal.add(KraftEvent.COMPARED, **_EQUAL)
    journal.add(KraftEvent.STOPPED, epoch=9)
    assert journal.proven == Proven(probed=4, stopped=9)
    with (tmp_path / "journal.jsonl").open("a") as file:
        file.write(line + "\n")
    assert journal.proven == Proven()
    journal.add(KraftEvent.PROBED, epoch=5)
    assert journal.proven == Proven(probed=5)


def test_a_time_that_has_not_come_yet_proves_no_duration(tmp_path: Path) -> None:
    """The clock was ahead as it was written, and is right now."""
    now = time.time_ns() // 1_000_000
    lines = [
        {"at": at, "event": "compared", **_EQUAL} for at in (now + _HOUR, now - 5_000, now - 1_000)
    ]
    (tmp_path / "journal.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    assert KraftJournal(tmp_path).proven.equal_since == now - 5_000
    (tmp_path / "journal.jsonl").write_text(f"{json.dumps(lines[0])}\n")
    assert KraftJournal(tmp_path).proven.equal_since is None
