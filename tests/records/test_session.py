"""Two runs of one link: exactly one of them goes on, and the other says so."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.support.kafka import wait_until
from tests.support.links import a_run_elsewhere
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.ledger import ledger as ledgers
from towpath.ledger.alive import birth, this_host, this_space
from towpath.ledger.entries import Session
from towpath.ledger.ledger import SESSIONS
from towpath.ledger.link import open_link
from towpath.model.errors import LinkBusyError
from towpath.model.nouns import LinkName, Side
from towpath.records import session as sessions
from towpath.records.session import LinkSession
from towpath.runtime.clock import now_ms

pytestmark = pytest.mark.broker
ENTRY = Session(
    link=LinkName("l"), run_id="r", host="host", pid=1, started=2, beat=3, ended_round=0, over=False
)


@pytest.fixture
def two(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[tuple[LinkSession, LinkSession]]:
    """Return two sessions of one link, which give signs of life more often than others do."""
    monkeypatch.setattr(sessions, "_BEAT", 0.5)
    mirror = Mirror(tmp_path, source, target, new_name("session"))
    mirror.create()
    mirror.slices()
    with ExitStack() as stack:
        made = []
        for _ in range(2):
            admin = stack.enter_context(Admin(mirror.config.target, Side.TARGET))
            made.append(LinkSession(mirror.config.link, mirror.config.target, admin))
            stack.callback(made[-1].close)
        yield made[0], made[1]


def test_of_two_that_start_at_once_the_later_one_ends(
    two: tuple[LinkSession, LinkSession], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two
    monkeypatch.setattr(second, "_refuse_second", lambda: None)
    first.start()
    with pytest.raises(LinkBusyError, match="is already running"):
        second.start()
    second.close()
    wait_until(lambda: first._heard[first.run_id] > 2, "the first one goes on")
    assert first.taken_over is None


def test_a_run_that_was_taken_for_dead_gives_way(
    two: tuple[LinkSession, LinkSession], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two
    for look in ("_refuse_second", "_refuse_later"):
        monkeypatch.setattr(second, look, lambda: None)
    heard = threading.Event()
    monkeypatch.setattr(first, "_on_end", heard.set)
    first.start()
    second.start()
    assert heard.wait(60), "the first one has seen the second"
    assert isinstance(first.taken_over, LinkBusyError)
    first.close()
    wait_until(lambda: second._heard[second.run_id] > 3, "the second one goes on")
    assert second.taken_over is None


@pytest.mark.parametrize(
    ("seconds", "over", "waits"),
    [(0, False, True), (300, False, True), (3600, False, False), (0, True, False)],
)
def test_a_run_that_died_long_ago_is_no_run(
    two: tuple[LinkSession, LinkSession],
    monkeypatch: pytest.MonkeyPatch,
    seconds: int,
    *,
    over: bool,
    waits: bool,
) -> None:
    """A run that fell silent a while ago on another machine is waited for, but not for ever."""
    old, fresh = two
    monkeypatch.setattr(sessions, "_SILENCE", 0.5)
    monkeypatch.setattr(sessions, "this_host", lambda: "elsewhere")
    monkeypatch.setattr(sessions, "now_ms", lambda: now_ms() - 1000 * seconds)
    old._over = over
    old._tell()
    monkeypatch.undo()
    monkeypatch.setattr(sessions, "_SILENCE", 0.5)
    asked: list[float] = []
    read = fresh._last

    def last(wait: float = 0.0) -> Session | None:
        asked.append(wait)
        return read(wait)

    monkeypatch.setattr(fresh, "_last", last)
    fresh.start()
    assert asked[0] == 0
    assert (len(asked) > 1) is waits
    assert fresh.taken_over is None


def hold(file: Path) -> None:
    """Hold the session of a link until this process is killed."""
    with a_run_elsewhere(file):
        threading.Event().wait()


def test_behind_a_killed_run_nothing_has_settled_until_a_round_has(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("session"))
    mirror.create()
    mirror.slices()
    config = mirror.config
    killed = get_context("forkserver").Process(
        target=hold, args=(tmp_path / f"{config.link}.yaml",)
    )
    killed.start()
    with open_link(config) as link, ExitStack() as stack:

        def begun() -> bool:
            entries = link.ledger.read(SESSIONS)
            return any(isinstance(e, Session) and e.link == config.link for e in entries)

        wait_until(begun, "the first run has begun")
        assert killed.pid is not None
        born = birth(killed.pid)
        killed.kill()
        killed.join()
        found = []
        for _ in range(3):
            admin = stack.enter_context(Admin(config.target, Side.TARGET))
            run = LinkSession(config.link, config.target, admin)
            run.start()
            settled = run.settled
            found.append((run.dead, settled.before, settled.begin(1)))
            settled.ended(1, settled=len(found) > 1)
            run.end()
            run.close()
    assert found == [
        ((this_host(), killed.pid, this_space(), born), False, False),
        (None, False, False),  # the round of the second run did not settle
        (None, True, True),
    ]


def test_a_run_among_those_of_many_links_is_found(
    two: tuple[LinkSession, LinkSession], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others may have given signs of life for weeks."""
    monkeypatch.setattr(ledgers, "_RECENT", 200)
    first, second = two
    noise = replace(ENTRY, link=LinkName("another"))
    for _ in range(3):
        first._ledger.append([noise] * 150, SESSIONS)
    first.start()
    first._ledger.append([noise] * 150, SESSIONS)
    with pytest.raises(LinkBusyError):
        second.start()
