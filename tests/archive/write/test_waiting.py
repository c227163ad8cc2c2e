"""What the run of an archive does whose source or store does not answer when it begins. Pure."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from towpath.archive.metrics.run_meter import ArchiveMeter
from towpath.archive.write import waiting
from towpath.archive.write.waiting import BeginningWaits
from towpath.cluster.connect.login import SecurityError
from towpath.metering.server import STALLED
from towpath.model.errors import StoreAwayError, StoreFullError, TowpathError, UnreachableError
from towpath.runtime.backoff import BackOff

SOURCE_AWAY = UnreachableError("source", "connecting to a:1", "nothing listens there")
STORE_AWAY = StoreAwayError("s3://b", "read", "nothing listens there")
FULL = StoreFullError("s3://b", "write", "507")
LOGIN = SecurityError("source", "connecting to a:1", "the login was refused")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_AGAIN", BackOff(first=0.0, longest=0.0))


def failing(*errors: TowpathError) -> Callable[[], str]:
    left = list(errors)

    def work() -> str:
        if left:
            raise left.pop(0)
        return "found"

    return work


def made(meter: ArchiveMeter, shown: list[str], *, wanted: bool = True) -> BeginningWaits:
    return BeginningWaits(wanted=wanted, stop=threading.Event(), meter=meter, tell=shown.append)


def test_it_waits_for_both_sides_and_says_for_whom_and_since_when() -> None:
    meter, shown = ArchiveMeter(), list[str]()
    work = failing(SOURCE_AWAY, STORE_AWAY)
    assert made(meter, shown).answered(work) == "found"
    assert [each.partition(": ")[2] for each in shown] == [str(SOURCE_AWAY), str(STORE_AWAY), ""]
    assert all(text.startswith("waiting for an answer since 20") for text in shown[:2])


def test_who_asks_for_life_meanwhile_hears_that_it_lives_and_is_in_trouble() -> None:
    meter, alive, told = ArchiveMeter(), list[float](), list[bool]()

    def work() -> str:
        alive.append(meter.idle)
        told.append(meter.read().trouble)
        meter._turned = time.monotonic() - 2 * STALLED
        if len(alive) < 3:
            raise STORE_AWAY
        return "found"

    made(meter, []).answered(work)
    assert max(alive) < STALLED
    assert told == [False, True, True]
    assert not meter.read().trouble
    assert not meter.ready


@pytest.mark.parametrize("error", [LOGIN, FULL])
def test_it_does_not_wait_for_what_stays(error: TowpathError) -> None:
    shown: list[str] = []
    with pytest.raises(type(error)):
        made(ArchiveMeter(), shown).answered(failing(error))
    assert not shown


def test_a_script_need_not_wait() -> None:
    with pytest.raises(StoreAwayError):
        made(ArchiveMeter(), [], wanted=False).answered(failing(STORE_AWAY))


def test_who_stops_it_gets_no_answer() -> None:
    stop = threading.Event()
    one = BeginningWaits(wanted=True, stop=stop, meter=ArchiveMeter(), tell=lambda _: stop.set())
    assert one.answered(failing(SOURCE_AWAY)) is None
