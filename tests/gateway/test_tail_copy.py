"""A move whose link nobody runs: when a run is started, what is told, and when it is given up."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import pytest

from towpath.gateway import tail_copy
from towpath.gateway.tail_copy import MoveOutcome, MoveWish, move
from towpath.ledger.entries import Promotion, PromotionStage
from towpath.ledger.link import OpenLink
from towpath.model.errors import ClusterError, ExtraMissingError, StoppedError
from towpath.model.nouns import LinkName, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode

LINK, TP = LinkName("shop"), TopicPartition(TopicName("orders"), 0)
NO_RUN = Reason.of(ReasonCode.PROMOTE_NO_RUN, link=LINK)
OTHER = Reason.of(ReasonCode.PROMOTE_NOTHING)
ENDS = "import sys; sys.stderr.write('no target\\n'); sys.exit(4)"
GOES_ON = "import time; time.sleep(600)"


@dataclass
class House:
    """What the command sees: a gateway that answers, runs that live or not, and a lag.

    Attributes:
        forbids: What a rehearsal finds while no run lives.
        lives: Whether a run of the link lives, by look; the last one holds on.
        left: How many records are left, by look; an error is raised.
        asked: Which requests were made, `True` for rehearsals.
    """

    forbids: tuple[Reason, ...] = (NO_RUN,)
    lives: list[bool] = field(default_factory=lambda: [False, True])
    left: list[int | ClusterError] = field(default_factory=lambda: [7, 0])
    state: PromotionStage = PromotionStage.PROMOTED
    taken: bool = True
    asked: list[bool] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def ask(self, *_: Any, dry_run: bool, **__: Any) -> Promotion:
        self.asked.append(dry_run)
        promotion = Promotion(
            link=LINK, name=f"r{len(self.asked)}", state=PromotionStage.ASKED.value, topics=(),
            dry_run=dry_run, user="u", host="h", at=1,
        )  # fmt: skip
        if not self.taken:
            return promotion
        if dry_run:
            return replace(promotion, state=PromotionStage.TOLD.value, reasons=self.forbids)
        return replace(promotion, state=self.state.value)

    def move(self, *, dry_run: bool = False, program: str = GOES_ON, **wish: Any) -> MoveOutcome:
        asked = MoveWish(Path("shop.yaml"), dry_run=dry_run, **wish)
        command: Callable[[Path], list[str]] = lambda _: [sys.executable, "-c", program]  # noqa: E731
        link = cast("OpenLink", SimpleNamespace(name=LINK, look=lambda: None))
        return move(link, asked, self.stop, lambda _: None, self.said.append, command)


T = TypeVar("T")


def next_of(values: list[T]) -> T:
    return values.pop(0) if len(values) > 1 else values[0]


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> House:
    made = House()

    @contextmanager
    def copying(link: OpenLink, _: LinkName) -> Iterator[OpenLink]:
        yield link

    def left(_: object) -> dict[TopicPartition, int]:
        found = next_of(made.left)
        if isinstance(found, ClusterError):
            raise found
        return {TP: found} if found else {}

    monkeypatch.setattr(tail_copy, "ask", made.ask)
    monkeypatch.setattr(tail_copy, "require_ledger", lambda _: None)
    monkeypatch.setattr(tail_copy, "copying", copying)
    monkeypatch.setattr(tail_copy, "runs", lambda _: next_of(made.lives))
    monkeypatch.setattr(tail_copy, "_has_begun", lambda _: True)
    monkeypatch.setattr(tail_copy.TailCopy, "_left", left)
    monkeypatch.setattr(tail_copy, "_LOOK", 0.01)
    return made


def test_where_a_run_lives_the_gateway_is_asked_at_once(house: House) -> None:
    house.lives = [True]
    moved = house.move()
    assert (house.asked, moved.copied) == ([False], None)


def test_without_a_run_one_is_started_and_ended(house: House) -> None:
    moved = house.move()
    assert house.asked == [True, False], "what forbids it is asked before, the move once"
    assert moved.promotion.state == PromotionStage.PROMOTED
    assert moved.copied is not None
    assert (moved.copied.to_copy, moved.copied.exit_code) == (7, 143)
    assert house.said[0] == (
        "no run of link shop lives; this command copies the rest itself: 7 records"
    )


def test_a_rehearsal_tells_it_and_starts_nothing(house: House) -> None:
    moved = house.move(dry_run=True, program=ENDS)
    assert house.asked == [True]
    assert moved.promotion.reasons == ()
    assert moved.promotion.told == (
        "no run of link shop lives; this command copies the rest itself: 7 records",
    )
    assert moved.copied is not None
    assert (moved.copied.to_copy, moved.copied.exit_code) == (7, None)


def test_what_else_forbids_it_is_told_without_a_run(house: House) -> None:
    house.forbids, house.lives = (NO_RUN, OTHER), [False]
    house.state = PromotionStage.REFUSED
    moved = house.move()
    assert (house.asked, moved.copied, house.said) == ([True, False], None, [])
    rehearsed = house.move(dry_run=True)
    assert rehearsed.promotion.reasons == (OTHER,)


def test_where_nothing_is_to_be_copied_none_is_needed(house: House) -> None:
    """Such as for groups whose topics have all moved."""
    house.forbids = ()
    moved = house.move(groups=("g",))
    assert (house.asked, moved.copied) == ([True, False], None)


def test_without_a_gateway_no_run_is_started(house: House) -> None:
    house.taken = False
    moved = house.move()
    assert (house.asked, moved.copied) == ([True], None)
    assert moved.promotion.state == PromotionStage.ASKED


def test_without_the_extra_the_refusal_stays(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def require(what: str) -> None:
        raise ExtraMissingError(what, "pyspark", "spark")

    monkeypatch.setattr(tail_copy, "require_spark", require)
    house.lives = [False]
    for dry_run in (True, False):
        house.state = PromotionStage.REFUSED
        moved = house.move(dry_run=dry_run)
        assert moved.copied is None
        (told,) = moved.promotion.told
        assert "towpath[spark]" in told
        assert "`towpath run shop.yaml` does" in told


def test_a_way_back_needs_the_file_of_the_link_back(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.lives = [False]
    monkeypatch.setattr(tail_copy, "link_back", lambda *_: LinkName("shop-back"))
    moved = house.move(back=True, dry_run=True)
    assert moved.promotion.reasons == (NO_RUN,)
    assert "shop-back.yaml is not the file of link shop" in moved.promotion.told[0]
    monkeypatch.setattr(tail_copy, "load", lambda _: SimpleNamespace(link=LINK))
    assert house.move(back=True, dry_run=True).promotion.reasons == ()


def test_a_run_that_fails_ends_it_with_the_reason(house: House) -> None:
    house.lives = [False]
    moved = house.move(program=ENDS)
    assert house.asked == [True], "nothing was asked for"
    assert moved.promotion.state == PromotionStage.UNDONE
    assert [str(each) for each in moved.promotion.reasons] == [
        "the run that this command started to copy the last records ended with exit code 4:"
        " no target"
    ]
    assert moved.copied is not None
    assert moved.copied.exit_code == 4


def test_a_run_that_began_elsewhere_meanwhile_copies_as_well(house: House) -> None:
    house.left = [*[5000] * 100, 0]
    moved = house.move(program=ENDS)
    assert moved.promotion.state == PromotionStage.PROMOTED
    assert moved.copied is not None
    assert moved.copied.exit_code == 4, "that of the command was refused"


def test_it_is_asked_only_once_each_partition_is_close(house: House) -> None:
    away = ClusterError("source: away")
    house.left = [5000, 5000, away, 4000, 1001, 1000]
    moved = house.move()
    assert moved.promotion.state == PromotionStage.PROMOTED
    assert house.left == [1000]


def test_one_that_does_not_catch_up_is_given_up(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail_copy, "_STILL", 0.2)
    house.left = [5000]
    moved = house.move()
    assert house.asked == [True]
    assert [str(each) for each in moved.promotion.reasons] == [
        "the run that this command started to copy the last records does not catch up: 5000"
        " records are left"
    ]


def test_whoever_stops_it_before_has_asked_for_nothing(house: House) -> None:
    house.stop.set()
    with pytest.raises(StoppedError, match="nothing has moved"):
        house.move()
    assert house.asked == [True]
