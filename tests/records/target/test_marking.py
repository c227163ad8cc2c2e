"""Copiers that race to fill one gap: the log never grows beyond it, whatever comes when."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import pytest

from towpath.cluster.admin import Admin
from towpath.cluster.admin.markers import Marker
from towpath.cluster.metadata import Answers, ProducerState
from towpath.model.errors import RefusedError, UnreachableError
from towpath.model.nouns import ProducerId, Side, TargetOffset, TopicName, TopicPartition
from towpath.records.target import claims
from towpath.records.target.claims import Claim, ExhaustedError, standing, taken_over
from towpath.records.target.marking import Due, MarkerFiller

ID = ProducerId(1 << 50)
TP = TopicPartition(TopicName("t"), 0)


class Leader:
    """What a leader does with markers, and no more: `ProducerAppendInfo.appendEndTxnMarker`.

    Answers get lost, markers come late, and the high watermark trails, all at random.
    """

    def __init__(self, rng: random.Random, *, kind: bool = False) -> None:
        self.rng, self.kind = rng, kind
        self.end = self.mark = 0
        self.kept: dict[int, tuple[int, int]] = {}
        self.late: list[threading.Thread] = []
        self._lock = threading.Lock()
        self.offsets = self.producers = self

    def append(self, marker: Marker) -> int:
        """Return the error code."""
        with self._lock:
            epoch, coordinator = self.kept.get(marker.producer_id, (-1, -1))
            if marker.epoch < epoch:
                return 47
            if marker.coordinator_epoch < coordinator:
                return 52
            self.kept[marker.producer_id] = marker.epoch, marker.coordinator_epoch
            self.end += 1
            if self.kind or self.rng.random() < 0.5:
                self.mark = self.end
            return 0

    def pause(self) -> None:
        if not self.kind:
            time.sleep(self.rng.choice((0, 0, 0, 0.001, 0.003)))

    # As the parts of `Admin` have them

    def states(
        self, tps: Iterable[TopicPartition], *, patience: float
    ) -> Answers[TopicPartition, tuple[ProducerState, ...]]:
        del patience
        self.pause()
        with self._lock:
            found = tuple(
                ProducerState(ProducerId(number), -1, 0, -1, *epochs)
                for number, epochs in self.kept.items()
            )
        return Answers(dict.fromkeys(tps, found), {})

    def log_ends(
        self, tps: Iterable[TopicPartition], *, patience: float
    ) -> Answers[TopicPartition, int]:
        del patience
        self.pause()
        return Answers(dict.fromkeys(tps, self.end), {})

    def latest(
        self, tps: Iterable[TopicPartition], *, patience: float, leaders: object
    ) -> Answers[TopicPartition, int]:
        del patience, leaders
        self.pause()
        with self._lock:
            self.mark = self.end if self.rng.random() < 0.5 else self.mark
            return Answers(dict.fromkeys(tps, self.mark), {})

    def write_markers(
        self,
        markers: Mapping[TopicPartition, Sequence[Marker]],
        *,
        patience: float,
        leaders: object,
    ) -> Answers[TopicPartition, None]:
        del patience, leaders
        said = 0
        some = list(markers[TP])
        lost = not self.kind and self.rng.random() < 0.2
        if lost:
            cut = self.rng.randrange(len(some) + 1)
            some, rest = some[:cut], some[cut:]
            self._later(rest)
        for marker in some:
            self.pause()
            said = self.append(marker)
        if lost:
            return Answers({}, {TP: UnreachableError(Side.TARGET, "writing", "it was lost")})
        if said:
            error = RefusedError(Side.TARGET, "writing", said, "FENCED", "", retriable=False)
            return Answers({}, {TP: error})
        with self._lock:
            self.mark = self.end
        return Answers({TP: None}, {})

    def _later(self, markers: Sequence[Marker]) -> None:
        delay = self.rng.random() * 0.02

        def come() -> None:
            time.sleep(delay)
            for marker in markers:
                self.append(marker)

        self.late.append(threading.Thread(target=come))
        self.late[-1].start()


def filler(leader: Leader) -> MarkerFiller:
    admin: Admin = leader  # type: ignore[assignment]  # a stand-in
    return MarkerFiller(admin, 30.0)


def fill(with_it: MarkerFiller, base: int, end: int) -> None:
    due = Due(tp=TP, first_id=ID, base=TargetOffset(base), end=TargetOffset(end))
    while due.open:
        with_it.fill([due])
    assert due.error is None


def fill_in_turns(with_it: MarkerFiller, base: int, end: int) -> None:
    """Fill as a slice does: what is due is made anew each time, from what the last turn told.

    Another partition is filled already, so that a turn may end at any step.
    """
    other = TopicPartition(TopicName("other"), 0)
    while base < end:
        due = Due(tp=TP, first_id=ID, base=TargetOffset(base), end=TargetOffset(end))
        full = Due(
            tp=other,
            first_id=ID,
            base=TargetOffset(0),
            end=TargetOffset(0),
            reached=TargetOffset(0),
        )
        with_it.fill([due, full])
        assert due.error is None
        base = max(base, due.reached)


def race(*copiers: Callable[[], None]) -> None:
    failed: list[BaseException] = []

    def run(copier: Callable[[], None]) -> None:
        try:
            copier()
        except BaseException as error:  # noqa: BLE001  # told below
            failed.append(error)

    threads = [threading.Thread(target=run, args=(copier,)) for copier in copiers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    if failed:
        raise failed[0]


@pytest.mark.parametrize("length", [1, 2, 3, 40])
def test_racing_copiers_never_write_beyond_a_gap(
    rng: random.Random, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("towpath.records.target.marking._PAUSE", 0.001)
    for _ in range(int(os.environ.get("TOWPATH_SOAK_ROUNDS") or 8)):
        leader = Leader(rng)
        gaps = [(at, at + length) for at in range(0, 4 * length, length)]

        def copier(leader: Leader = leader, gaps: Sequence[tuple[int, int]] = gaps) -> None:
            mine = filler(leader)
            for base, end in gaps:
                fill(mine, base, end)

        race(copier, copier, copier)
        for thread in leader.late:
            thread.join()
        assert leader.end == gaps[-1][1]
        assert leader.mark <= leader.end


@pytest.mark.parametrize("copiers", [1, 3])
def test_turns_that_end_at_any_step_never_write_beyond_a_gap(
    rng: random.Random, copiers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copier that had just taken over wrote as many markers again as if it had written none."""
    monkeypatch.setattr("towpath.records.target.marking._PAUSE", 0.001)
    monkeypatch.setattr("towpath.records.target.marking._TURN", 0.004)
    for _ in range(int(os.environ.get("TOWPATH_SOAK_ROUNDS") or 8)):
        leader = Leader(rng)

        def copier(leader: Leader = leader) -> None:
            mine = filler(leader)
            for base in range(0, 20, 5):
                fill_in_turns(mine, base, base + 5)

        race(*[copier] * copiers)
        for thread in leader.late:
            thread.join()
        assert leader.end == 20


@pytest.mark.parametrize("numbers", [3, 5])
def test_ids_that_are_used_up_soon_let_nobody_write_twice(
    rng: random.Random, numbers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "_NUMBERS", numbers)
    test_racing_copiers_never_write_beyond_a_gap(rng, 3, monkeypatch)
    leader = Leader(rng, kind=True)
    mine = filler(leader)
    for at in range(40):
        fill(mine, at, at + 1)
    assert leader.end == 40
    assert len(leader.kept) >= 40 // numbers


def test_an_owner_writes_gap_after_gap_under_one_epoch(rng: random.Random) -> None:
    leader = Leader(rng, kind=True)
    mine = filler(leader)
    for at in range(50):
        fill(mine, at, at + 1)
    [(epoch, _)] = leader.kept.values()
    assert standing(_states(leader), ID) == Claim(0, 49, epoch)


def test_a_long_gap_is_told_in_parts(rng: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("towpath.records.target.marking.AT_ONCE", 10)
    monkeypatch.setattr("towpath.records.target.marking._TURN", 0.0)
    leader = Leader(rng, kind=True)
    mine = filler(leader)
    for reached in (1, 11, 21):
        due = Due(tp=TP, first_id=ID, base=TargetOffset(leader.end), end=TargetOffset(100))
        mine.fill([due])
        assert (due.reached, leader.end, due.error) == (reached, reached, None)


def test_a_log_that_ends_before_the_gap_is_an_error(rng: random.Random) -> None:
    due = Due(tp=TP, first_id=ID, base=TargetOffset(5), end=TargetOffset(6))
    filler(Leader(rng, kind=True)).fill([due])
    assert str(due.error) == "target: the log of t-0 ends at offset 0, before the gap at offset 5"


def test_what_is_there_already_is_left(rng: random.Random) -> None:
    leader = Leader(rng, kind=True)
    leader.end = leader.mark = 9
    fill(filler(leader), 5, 8)
    assert leader.end == 9


def test_of_two_that_take_over_from_the_same_claim_one_is_refused(rng: random.Random) -> None:
    for _ in range(300):
        leader, held = (
            Leader(rng, kind=True),
            Claim(3, rng.randrange(60_000), rng.randrange(20_000)),
        )
        leader.append(held.marker(ID))
        first, second = taken_over(held), taken_over(held)
        if first == second:
            continue
        assert leader.append(first.marker(ID)) == 0
        assert leader.append(second.marker(ID)) in {47, 52}
        assert leader.append(held.next().marker(ID)) == 47
        assert leader.append(first.next().marker(ID)) == 0


def test_an_id_that_is_used_up_is_closed_and_followed_by_the_next() -> None:
    for held in (Claim(7, 65_534, 100), Claim(7, 9, 28_671)):
        after = held
        while not after.closed:
            after = taken_over(after)
        assert after.index == 7
        assert after.epoch < 1 << 15
        marker = after.marker(ID)
        assert marker.coordinator_epoch < 1 << 31
        assert taken_over(after).index == 8
        assert taken_over(after).number == 0


def test_the_claim_that_holds_is_the_open_one_or_the_last_closed_one() -> None:
    closed = [Claim(index, 5, 30_000) for index in (claims.IDS - 1, 0, 1)]
    assert standing(map(_state, closed), ID) == closed[-1]
    assert standing(map(_state, [*closed, Claim(2, 0, 5)]), ID) == Claim(2, 0, 5)
    foreign = ProducerState(ProducerId(ID + 2), -1, 0, -1, 5, 5)
    assert standing([foreign], ID) is None
    with pytest.raises(ExhaustedError):
        standing((_state(Claim(index, 5, 30_000)) for index in range(claims.IDS)), ID)


def _state(claim: Claim) -> ProducerState:
    marker = claim.marker(ID)
    return ProducerState(marker.producer_id, -1, 0, -1, marker.epoch, marker.coordinator_epoch)


def _states(leader: Leader) -> tuple[ProducerState, ...]:
    return leader.states([TP], patience=1.0)[TP]
