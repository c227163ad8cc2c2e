"""Commands that work on an archive end soon after SIGTERM, also while the store does not answer."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.archive.compacting import SPARK, compacted, held_records
from tests.support.archive.compacting import here as merged
from tests.support.archive.forgetting import erased, forgotten
from tests.support.archive.stored import StoredArchive, old_records
from tests.support.here import MASTER
from tests.support.kafka import wait_until
from tests.support.objects.buckets import Buckets, StoreFront
from tests.support.objects.stores import section
from tests.support.program import START, Program
from towpath.archive.log import lease
from towpath.archive.read.verify.findings import VerifyScope
from towpath.archive.read.verify.verify import verify
from towpath.archive.restore.run import run as restore
from towpath.archive.restore.task import RestoreTask
from towpath.archive.upkeep import compacting, forgetting
from towpath.archive.upkeep.compacting import CompactionWishes, compact
from towpath.archive.upkeep.forgetting import ForgetWishes, forget
from towpath.archive.upkeep.pruning import PruneWishes, prune
from towpath.model.errors import StoppedError

pytestmark = pytest.mark.slow

SOON = 30.0
"""Far from `store.timeout`, which is an hour here, and from the few seconds that it should take."""
REFUSES, SILENT = "refuses", "is silent"
EAGER = {"min_age": "0s", "min_count": 2, "min_size": "1B"}
OWN = {"grace": "0s", "segments": {"share": "0B"}, "compaction": [EAGER]}
Command = Callable[["Away", threading.Event], Any]


class Away:
    """An archive in a store of its own, which goes away and comes back."""

    def __init__(self, folder: Path, store: Buckets) -> None:
        self._store, self._how = store, ""
        told = section(store.new(), folder, timeout="1h", request_timeout="10m")
        self.archive = StoredArchive(folder, "shop", "127.0.0.1:1", {"store": told, **OWN})
        for number in range(2):
            self.archive.put("orders", old_records(40), cuts=(10, 20, 30), partition=number)
        self.before = self.records()

    def records(self) -> list[Any]:
        """Return the records that each partition has."""
        store, state = self.archive.store, self.archive.log.state
        return [held_records(store, state, each) for each in sorted(state.partitions)]

    def leave(self, how: str) -> None:
        """Answer nothing more."""
        self._how = how
        if how == REFUSES:
            self._store.stop()
        else:
            os.kill(self._store.pid, signal.SIGSTOP)

    def back(self) -> None:
        """Answer again."""
        if self._how == REFUSES:
            self._store.start()
        elif self._how:
            os.kill(self._store.pid, signal.SIGCONT)
        self._how = ""


@pytest.fixture
def away(tmp_path: Path, own_buckets: Buckets, monkeypatch: pytest.MonkeyPatch) -> Iterator[Away]:
    # A lease that could not be given back is that of a process that is gone; here it is alive.
    monkeypatch.setattr(lease, "_SILENCE", 1.0)
    made = Away(tmp_path, own_buckets)
    yield made
    made.back()


def stopped(command: Command, away: Away, how: str) -> Any:
    """Let the store go, and then ask a command to stop; return what became of it."""
    stop = threading.Event()
    away.leave(how)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(command, away, stop)
        with suppress(TimeoutError):
            asked.result(0.5)  # it waits for the store
        began = time.monotonic()
        stop.set()
        try:
            return asked.result(SOON)
        except TimeoutError:
            away.back()
            pytest.fail(f"it goes on {time.monotonic() - began:.0f} s after the stop")


def _compact(away: Away, stop: threading.Event) -> Any:
    return compact(away.archive.config(), CompactionWishes(), SPARK, stop, lambda _: None)


def _forget(away: Away, stop: threading.Event) -> Any:
    wishes = ForgetWishes(key=b"key 3", writes=True)
    return forget(away.archive.config(), wishes, SPARK, stop, lambda _: None)


def _prune(away: Away, stop: threading.Event) -> Any:
    return prune(away.archive.config(), PruneWishes(version=1), stop)


def _verify(away: Away, stop: threading.Event) -> Any:
    return verify(away.archive.config(), VerifyScope(), None, lambda *_: None, stop)


def _restore(away: Away, stop: threading.Event) -> Any:
    return restore(RestoreTask.of(away.archive.config()), SPARK, stop, lambda _: None)


@pytest.mark.parametrize(
    ("command", "how"),
    [
        (_verify, REFUSES),
        (_restore, REFUSES),
        *(
            pytest.param(command, how, marks=pytest.mark.soak)
            for command in (_compact, _forget, _prune, _verify, _restore)
            for how in (REFUSES, SILENT)
            if (command, how) not in {(_verify, REFUSES), (_restore, REFUSES)}
        ),
    ],
)
def test_a_command_that_waits_for_a_store_ends_soon(away: Away, command: Command, how: str) -> None:
    with pytest.raises(StoppedError) as raised:
        stopped(command, away, how)
    assert "the store did not answer" in str(raised.value)
    away.back()
    assert away.records() == away.before


class Slices:
    """Runs slices in this process; the store goes away behind the first ones."""

    def __init__(self, away: Away, how: str, run: Callable[..., Any]) -> None:
        self._away, self._how, self._run = away, how, run
        self.gone = threading.Event()

    def __call__(self, slices: Sequence[Any], told: Any) -> Any:
        found = self._run(slices, told)
        self._away.leave(self._how)
        self.gone.set()
        return found


def committing(
    away: Away, command: Command, slices: Slices, module: ModuleType, patch: pytest.MonkeyPatch
) -> Any:
    """Ask a command to stop that cannot commit; return what became of it, and bring back the store.

    Args:
        away: The archive.
        command: The command.
        slices: Runs its slices.
        module: The module of the command, which would run them on Spark.
        patch: Puts `slices` there.
    """
    patch.setattr(module, "run_on", lambda *_: slices)
    patch.setattr(module, "following", lambda *_: SPARK)
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(command, away, stop)
        assert slices.gone.wait(SOON)
        with suppress(TimeoutError):
            asked.result(0.5)  # it waits for the store
        stop.set()
        try:
            done = asked.result(SOON)
        except TimeoutError:
            away.back()
            pytest.fail("it goes on")
    assert "the store did not answer" in done.unanswered
    away.back()
    return done


@pytest.mark.parametrize("how", [SILENT, pytest.param(REFUSES, marks=pytest.mark.soak)])
def test_a_compaction_that_cannot_commit_ends_soon_and_leaves_nothing_half_done(
    away: Away, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    slices = Slices(away, how, merged)
    done = committing(away, _compact, slices, compacting, monkeypatch)
    assert away.records() == away.before
    done = compacted(away.archive.config())
    assert not done.failed
    assert away.records() == away.before
    state = away.archive.log.state
    assert [len(state.segments(each)) for each in state.partitions] == [1, 1]


@pytest.mark.parametrize("how", [REFUSES, pytest.param(SILENT, marks=pytest.mark.soak)])
def test_an_erasure_that_cannot_commit_ends_soon_and_is_done_by_the_next_one(
    away: Away, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    slices = Slices(away, how, erased)
    done = committing(away, _forget, slices, forgetting, monkeypatch)
    erased_now = forgotten(away.archive.config(), b"key 3").erased
    assert done.erased + erased_now <= 2
    assert forgotten(away.archive.config(), b"key 3").records == 0


@pytest.mark.soak
@pytest.mark.spark(own=True)
@pytest.mark.parametrize("master", [(), MASTER])
@pytest.mark.parametrize(
    "words", [("compact",), ("forget", "key 3", "--yes"), ("verify", "--deep")]
)
def test_sigterm_ends_a_command_whose_slices_wait_for_the_store(
    tmp_path: Path,
    buckets: Buckets,
    front: StoreFront,
    words: tuple[str, ...],
    master: tuple[str, ...],
) -> None:
    told = section(front.before(buckets.new()), tmp_path, timeout="1h", request_timeout="10m")
    archive = StoredArchive(tmp_path, "shop", "127.0.0.1:1", {"store": told, **OWN})
    archive.put("orders", old_records(40), cuts=(10, 20, 30))
    asked, healed = threading.Event(), threading.Event()

    def silent(_method: str, path: str, _headers: object) -> None:
        if "/orders/0/" in path:
            asked.set()
        if asked.is_set():
            healed.wait(120)

    front.change = silent
    command, *rest = words
    program = Program(tmp_path, "archive", command, str(archive.file()), *rest, *master)
    try:
        wait_until(asked.is_set, "a slice reads", START)
        began = time.monotonic()
        assert program.stop() == 3, program.said
        assert time.monotonic() - began < SOON
        assert "stopped" in program.said
    finally:
        healed.set()
        program.close()
    front.change = lambda *_: None
    store, state = archive.store, archive.log.state
    (partition,) = state.partitions
    assert len(held_records(store, state, partition)) == 40
