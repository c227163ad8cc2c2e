"""Whose silence is waited for before a lease is taken over."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from towpath.archive.errors import ArchiveHeldError
from towpath.archive.keys import lease_key
from towpath.archive.log.lease import ArchiveLease, HeldArchive
from towpath.ledger.alive import this_host, this_space
from towpath.runtime.clock import now_ms
from towpath.settings import StoreConfig
from towpath.store import Store

WORK = "run"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(StoreConfig.model_validate({"url": (tmp_path / "store").as_uri()}))


@pytest.fixture
def dead() -> int:
    """Return the id of a process that has ended."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(60)
    return ended.pid


def leave(store: Store, pid: int, space: str = "") -> None:
    """Leave the lease of a process that gave no sign that it is over."""
    told = ArchiveLease(
        owner="other", command="run", host=this_host(), pid=pid, epoch=3, since=1, beat=now_ms(),
        space=space,
    )  # fmt: skip
    store.put_new(lease_key("eu", WORK), TypeAdapter(ArchiveLease).dump_json(told))


def taken(store: Store) -> HeldArchive | None:
    """Return the lease if it is taken at once, and not after a silence."""
    stop = threading.Event()
    stop.set()
    held = HeldArchive(store, "orders", "eu", "run", WORK, stop)
    try:
        with held:
            return held
    except ArchiveHeldError:
        return None


def test_the_lease_of_a_process_that_ended_here_is_taken_at_once(store: Store, dead: int) -> None:
    leave(store, dead, space=this_space())
    held = taken(store)
    assert held is not None
    assert held.replaced is not None
    assert (held.replaced.owner, held.epoch) == ("other", 4)


def test_a_process_of_another_container_with_this_host_name_is_waited_for(
    store: Store, dead: int
) -> None:
    """Before, it was taken for dead, as there was no process with its id here."""
    leave(store, dead, space="another-boot pid:[4026531836]")
    assert taken(store) is None


def test_leases_of_older_programs_are_judged_by_their_host(store: Store, dead: int) -> None:
    leave(store, dead)
    assert taken(store) is not None


def test_a_lease_tells_which_processes_its_id_is_one_of(store: Store) -> None:
    held = taken(store)
    assert held is not None
    assert this_space() in asdict(held._mine)["space"]
