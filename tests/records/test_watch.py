"""What a slice concludes from the signs of life of its own run and of others."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pytest

from towpath.cluster.data.reactor import Reactor
from towpath.ledger.entries import Attempt, Dealt, Entry, LinkState, Released, Session
from towpath.model.errors import LedgerError, LedgerGoneError, UnreachableError
from towpath.model.nouns import LinkName, TopicName
from towpath.records import watch
from towpath.records.permit import WritePermit
from towpath.records.watch import SessionWatch, SliceEnd
from towpath.records.work import CopySlice
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig

LINK = LinkName("orders")
CLUSTER = ClusterConfig(bootstrap=("host:1",))
WORK = CopySlice(
    link=LINK,
    source=CLUSTER,
    target=CLUSTER,
    assignments=(),
    run_id="ours",
    round=1,
    seconds=60.0,
    number=3,
)
OURS = Session(
    link=LINK,
    run_id="ours",
    host="host",
    pid=1,
    started=2_000,
    beat=2_000,
    ended_round=0,
    over=False,
)
OLDER = replace(OURS, run_id="older", started=1_000)
YOUNGER = replace(OURS, run_id="younger", started=3_000)


AWAY: Sequence[Entry] = (replace(OURS, run_id="away"),)
"""In place of a batch: the ledger cannot be read."""
GONE: Sequence[Entry] = (replace(OURS, run_id="gone"),)
"""In place of a batch: the ledger was deleted."""


@dataclass
class StandInLedger:
    """Answers with one batch of entries after the other; `None` means what was appended.

    During the announcement it tells what was there before, then what was appended.
    """

    batches: list[Sequence[Entry] | None]
    before: Sequence[Entry] = ()
    appended: list[Entry] = field(default_factory=list)
    told: bool = False
    gone: bool = False

    def read(self, _tp: object, *, wait: float = 0.0) -> list[Entry]:
        if not self.appended:
            assert not wait
            return [*self.before]
        if not self.told:
            self.told = True
            return [*self.appended]
        batch = self.batches.pop(0)
        if batch == AWAY:
            raise LedgerError("away")
        self.gone = batch == GONE
        if self.gone:
            raise LedgerError("no answer of its topic")
        return [*(self.appended if batch is None else batch)]

    def require_same(self) -> None:
        if self.gone:
            raise LedgerGoneError(again=True)

    def append(self, entries: Sequence[Entry], _tp: object) -> None:
        self.appended += entries


@dataclass
class Watched:
    batches: list[Sequence[Entry] | None]
    ends: list[SliceEnd] = field(default_factory=list)
    dealt: list[Dealt] = field(default_factory=list)
    before: Sequence[Entry] = ()
    repeats: bool = False
    follows: int = 0
    heard: list[Released | str] = field(default_factory=list)

    def released(self, entry: Released) -> None:
        self.heard.append(entry)

    def left(self) -> None:
        self.heard.append("left")

    def __post_init__(self) -> None:
        self.permit, self.reactor = WritePermit(0), Reactor()
        self.ledger = StandInLedger(self.batches, self.before)
        self.watch = SessionWatch(
            self.ledger,  # type: ignore[arg-type]  # a stand-in
            replace(WORK, follows=self.follows),
            self.permit,
            self.ends.append,
            self.reactor,
            self.dealt.append,
            self,
        )

    def run(self) -> list[SliceEnd]:
        """Read until there is a reason to end, or nothing is left to read."""
        self.repeats = self.watch.announce()
        with contextlib.suppress(IndexError):
            self.watch.run()
        self.reactor.turn(0)
        self.reactor.close()
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
def test_a_run_that_is_no_longer_there_replaces_nobody(batches: list[Sequence[Entry]]) -> None:
    watched = Watched([*batches])
    assert watched.run() == []
    assert (watched.permit.good, watched.permit.fresh) == (True, True)


@pytest.mark.parametrize(
    "batches",
    [[[OURS], [YOUNGER]], [[OURS], [OLDER, OLDER]], [[OURS], [OLDER], [OLDER]], [[YOUNGER]]],
    ids=["a younger one", "its clock is behind", "one sign after the other", "without a driver"],
)
def test_a_run_that_goes_on_replaces_ours(batches: list[Sequence[Entry]]) -> None:
    watched = Watched([*batches])
    assert watched.run() == [SliceEnd.REPLACED]
    assert not watched.permit.good


def test_the_end_of_the_round_leaves_time_to_drain() -> None:
    watched = Watched([[OURS], [replace(OURS, ended_round=1)]])
    assert watched.run() == [SliceEnd.ROUND]
    assert watched.permit.fresh, "what is queued may still be sent"


def test_the_end_of_the_run_is_told_behind_that_of_the_round() -> None:
    last = replace(OURS, ended_round=1)
    assert Watched([[OURS], [last], [replace(last, over=True)]]).run() == [
        SliceEnd.ROUND,
        SliceEnd.RUN,
    ]


def test_a_slice_that_drains_hears_of_another_run() -> None:
    over = replace(OURS, over=True)
    watched = Watched([[OURS], [over], [over], [YOUNGER]])
    assert watched.run() == [SliceEnd.RUN, SliceEnd.REPLACED]
    assert not watched.permit.good


def test_a_slice_whose_driver_is_silent_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "ORPHANED", -1.0)
    watched = Watched([[]])
    assert watched.run() == [SliceEnd.ORPHANED]
    assert not watched.permit.good


def test_a_driver_is_not_silent_while_the_target_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "ORPHANED", 0.3)
    monkeypatch.setattr(watch, "_WAIT", 0.25)
    watched = Watched([[OURS], AWAY, AWAY, [], [OURS]])
    assert watched.run() == []
    assert watched.permit.good


def test_a_slice_without_a_ledger_writes_nothing_more() -> None:
    watched = Watched([[OURS], GONE, [OURS]])
    assert watched.run() == [SliceEnd.BOOKLESS]
    assert watched.permit.lost


def attempt(name: str, number: int = 3) -> Attempt:
    return Attempt(link=LINK, run_id="ours", round=1, slice=number, attempt=1, name=name)


@pytest.mark.parametrize(
    "batches",
    [[[OURS], None, [attempt("later")]], [[OURS], None, [attempt("later")], None]],
    ids=["later", "later, and ours once more"],
)
def test_a_later_attempt_at_the_slice_ends_the_earlier_one(
    batches: list[Sequence[Entry] | None],
) -> None:
    watched = Watched(batches)
    assert watched.run() == [SliceEnd.REPEATED]
    assert not watched.permit.good


@pytest.mark.parametrize(
    ("first", "repeats"),
    [(attempt("earlier"), True), (attempt("other", 4), False), (OURS, False)],
    ids=["an earlier one", "another slice", "none"],
)
def test_what_an_earlier_attempt_sent_may_still_arrive(first: Entry, *, repeats: bool) -> None:
    watched = Watched([[first]], before=[first])
    assert watched.run() == [], "it ends nothing"
    assert watched.repeats == repeats
    assert watched.permit.fresh


def test_a_slice_of_a_round_that_was_left_writes_no_more() -> None:
    """It stood still until others had gone on."""
    watched = Watched([[OURS], [replace(OURS, ended_round=1, left_round=1)]])
    assert watched.run() == [SliceEnd.ROUND]
    assert not watched.permit.good


def test_a_slice_that_was_paused_writes_no_more_behind_its_round() -> None:
    watched = Watched([[OURS], [replace(OURS, ended_round=1)]])
    watched.permit._pauses = 1
    assert watched.run() == [SliceEnd.ROUND]
    assert not watched.permit.good


def test_an_announcement_that_does_not_show_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched([])
    forgets = SimpleNamespace(append=lambda *_: None, read=lambda *_, **__: [])
    monkeypatch.setattr(watched.watch, "_ledger", forgets)
    monkeypatch.setattr(watch, "Deadline", SimpleNamespace(after=lambda _: Deadline.after(0)))
    with pytest.raises(UnreachableError, match="its entry does not show"):
        watched.watch.announce()


def test_what_was_read_during_the_announcement_is_no_permission() -> None:
    watched = Watched([], before=[OURS])
    assert watched.run() == []
    assert not watched.permit.fresh


def test_what_is_dealt_to_the_slice_is_handed_over() -> None:
    ours = Dealt(
        link=LINK, run_id="ours", round=1, slice=3, number=0, facts_from=0,
        settled=True, partitions=(),
    )  # fmt: skip
    others = [replace(ours, slice=2), replace(ours, round=2), replace(ours, run_id="older")]
    watched = Watched([None, [*others, replace(ours, number=1)]], before=[ours])
    assert watched.run() == []
    assert [each.number for each in watched.dealt] == [0, 1]


RELEASED = Released(link=LINK, run_id="ours", round=6, slice=0, number=0, partitions={})


def test_a_slice_hears_of_the_round_that_it_follows() -> None:
    others = [replace(RELEASED, round=5), replace(RELEASED, run_id="older")]
    left = [replace(OURS, left_round=number) for number in (5, 6, 7)]
    watched = Watched([[*others, *left]], before=[RELEASED], follows=6)
    assert watched.run() == []
    assert watched.heard == [RELEASED, "left", "left"]


def test_a_slice_that_follows_no_round_waits_for_none() -> None:
    watched = Watched([[OURS], [RELEASED, replace(OURS, left_round=1)]])
    assert watched.run() == []
    assert watched.heard == []


SEALED = LinkState(link=LINK, state="sealed", since=5, user="ana", host="ops", version="1")
UNDONE = replace(SEALED, state="running")


@pytest.mark.parametrize("batch", [[OURS, SEALED], [SEALED], [UNDONE, SEALED]])
def test_a_slice_of_a_sealed_link_sends_nothing_more(batch: Sequence[Entry]) -> None:
    watched = Watched([[OURS], batch])
    assert watched.run() == [SliceEnd.SEALED]
    assert watched.permit.lost


@pytest.mark.parametrize(
    "batch",
    [
        [SEALED, UNDONE],
        [replace(SEALED, topic=TopicName("pay"))],
        [replace(SEALED, link=LinkName("payments"))],
        [replace(SEALED, state="draining")],
    ],
    ids=["taken back", "another topic", "another link", "draining"],
)
def test_a_state_in_which_copying_goes_on_ends_no_slice(batch: Sequence[Entry]) -> None:
    watched = Watched([[OURS], batch])
    assert watched.run() == []
    assert watched.permit.good
