"""What a slice concludes from the signs of life of its own run and of others."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from towpath.ledger.entries import Session
from towpath.model.nouns import LinkName
from towpath.records.lease import Lease
from towpath.records.watch import End, Watch

LINK = LinkName("orders")
OURS = Session(LINK, "ours", "host", 1, 2_000, 2_000, 0, over=False)
OLDER = replace(OURS, run_id="older", started=1_000)
YOUNGER = replace(OURS, run_id="younger", started=3_000)


@dataclass
class StandInLedger:
    """Answers with one batch of sessions after the other."""

    batches: list[Sequence[Session]]

    def read(self, _tp: object, *, wait: float) -> Sequence[Session]:
        assert wait > 0
        return self.batches.pop(0)


@dataclass
class Watched:
    batches: list[Sequence[Session]]
    ends: list[End] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lease = Lease(0)
        ledger = StandInLedger(self.batches)
        self.watch = Watch(ledger, LINK, OURS.run_id, 1, self.lease, self.ends.append)  # type: ignore[arg-type]  # a stand-in

    def run(self) -> list[End]:
        """Read until there is a reason to end, or nothing is left to read."""
        with contextlib.suppress(IndexError):
            self.watch.run()
        return self.ends


@pytest.mark.parametrize(
    "batches",
    [
        [[OLDER, OLDER, OURS], [OURS]],
        [[OURS], [OLDER], [OURS], [OLDER]],
        [[OURS], [replace(YOUNGER, over=True)]],
        [[OURS], [replace(YOUNGER, link=LinkName("payments"))]],
        [[]],
    ],
    ids=["before ours", "one late sign", "refused", "another link", "nothing"],
)
def test_a_run_that_is_no_longer_there_replaces_nobody(batches: list[list[Session]]) -> None:
    watched = Watched([*batches])
    assert watched.run() == []
    assert (watched.lease.good, watched.lease.fresh) == (True, True)


@pytest.mark.parametrize(
    "batches",
    [[[OURS], [YOUNGER]], [[OURS], [OLDER, OLDER]], [[OURS], [OLDER], [OLDER]], [[YOUNGER]]],
    ids=["a younger one", "its clock is behind", "one sign after the other", "without a driver"],
)
def test_a_run_that_goes_on_replaces_ours(batches: list[list[Session]]) -> None:
    watched = Watched([*batches])
    assert watched.run() == [End.REPLACED]
    assert not watched.lease.good


def test_the_end_of_the_round_leaves_time_to_drain() -> None:
    watched = Watched([[OURS], [replace(OURS, ended_round=1)]])
    assert watched.run() == [End.ROUND]
    assert watched.lease.fresh, "what is queued may still be sent"


def test_a_slice_that_drains_hears_of_another_run() -> None:
    over = replace(OURS, over=True)
    watched = Watched([[OURS], [over], [over], [YOUNGER]])
    assert watched.run() == [End.ROUND, End.REPLACED]
    assert not watched.lease.good
