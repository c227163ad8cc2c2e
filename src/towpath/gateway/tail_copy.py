"""Moves of topics whose link nobody runs: the command copies the last records by a run of its own.

The gateway promotes, and only waits until both logs are equal. So the command asks it first what
forbids the move; if that is the run alone, it starts one, waits until this is close behind, and
asks again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from towpath.gateway.own_run import OwnRun, run_command
from towpath.gateway.promotion.link_back import copying, link_back
from towpath.gateway.promotion.promotion_requests import ask, require_ledger
from towpath.gateway.promotion.promotion_scope import lags, runs
from towpath.ledger.entries import MIRROR, Attempt, Promotion, PromotionStage, Session
from towpath.ledger.ledger import SESSIONS
from towpath.ledger.link import OpenLink
from towpath.model.amounts import counted
from towpath.model.errors import ConfigError, ExtraMissingError, StoppedError, TowpathError
from towpath.model.extras import require_spark
from towpath.model.link_names import back_path
from towpath.model.nouns import Mode, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.runtime.deadline import Deadline
from towpath.settings import load

CLOSE_ENOUGH = 1000
"""Records by which a partition may be behind when the gateway is asked; it waits for the rest."""
_LOOK = 1.0
_START = 300.0
"""Seconds within which a run begins to copy: it starts Spark."""
_STILL = 60.0
"""Seconds within which fewer records are left than ever before, or it does not catch up."""
_TELL = 10.0


@dataclass(frozen=True, slots=True)
class MoveWish:
    """A request to promote or to take back topics.

    Attributes:
        file: The file of the link.
        topics: The topics, none for all.
        groups: Groups that are to be promoted without their topics.
        back: The topics are to go back to the source.
        dry_run: Nothing is to be changed.
        gone: The name of a gateway that was killed, "" for none.
    """

    file: Path
    topics: tuple[TopicName, ...] = ()
    groups: tuple[str, ...] = ()
    back: bool = False
    dry_run: bool = False
    gone: str = ""


@dataclass(frozen=True, slots=True)
class OwnCopy:
    """What a run copied that the command started itself, or would start.

    Attributes:
        to_copy: Records that one cluster lacked before, -1 where that could not be asked.
        seconds: How long the run went on.
        exit_code: Its exit code, `None` in a rehearsal.
    """

    to_copy: int
    seconds: float = 0.0
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class MoveOutcome:
    """What became of a request, and of the run that the command started, if it did."""

    promotion: Promotion
    copied: OwnCopy | None = None


def move(
    link: OpenLink,
    wish: MoveWish,
    stop: threading.Event,
    reached: Callable[[str], object],
    said: Callable[[str], object],
    command: Callable[[Path], list[str]] = run_command,
) -> MoveOutcome:
    """Ask the gateway to move topics; copy the last records by a run of our own if nobody does.

    Args:
        link: The link.
        wish: What is asked for.
        stop: Set when it is not waited for any longer.
        reached: Called with each step that is reached.
        said: Called with sentences about the run.
        command: Makes the command that runs a link, given its file.

    Raises:
        ClusterError: A cluster does not answer.
        ConfigError: There is no such gateway, or it has not ended.
        LedgerError: The target has no ledger yet.
        StoppedError: `stop` was set before the gateway was asked.
    """
    require_ledger(link)

    def asked(*, dry_run: bool, gone: str = "") -> Promotion:
        return ask(
            link, wish.topics, stop, dry_run=dry_run, back=wish.back, gone=gone,
            groups=wish.groups, told=reached,
        )  # fmt: skip

    name = link_back(link, wish.topics) if wish.back else link.name
    if name is None:
        return MoveOutcome(asked(dry_run=wish.dry_run, gone=wish.gone))
    with copying(link, name) as copier:
        if runs(copier):
            return MoveOutcome(asked(dry_run=wish.dry_run, gone=wish.gone))
        seen = asked(dry_run=True, gone=wish.gone)
        if seen.state != PromotionStage.TOLD.value:  # no gateway took it
            return MoveOutcome(seen)
        if all(each.code is not ReasonCode.PROMOTE_NO_RUN for each in seen.reasons):
            return MoveOutcome(seen if wish.dry_run else asked(dry_run=False))
        tail = TailCopy(copier, wish, stop, said)
        if wish.dry_run:
            return tail.rehearsed(seen)
        return tail.go(seen, lambda: asked(dry_run=False), command)


class TailCopy:
    """The last records of a link that nobody runs, copied by a run of the command's own.

    Args:
        copier: The link that copies them.
        wish: What moves.
        stop: Set when the command shall end.
        said: Called with sentences for people.
    """

    def __init__(
        self,
        copier: OpenLink,
        wish: MoveWish,
        stop: threading.Event,
        said: Callable[[str], object],
    ) -> None:
        self._copier, self._wish, self._stop, self._said = copier, wish, stop, said
        self._file = back_path(wish.file) if wish.back else wish.file
        self.link = copier.name

    def why_not(self) -> str:
        """Return why this command cannot run the link itself, "" if it can."""
        cannot = f"this command cannot copy the rest itself: {{}}; `towpath run {self._file}` does"
        try:
            require_spark("a run")
        except ExtraMissingError as error:
            return cannot.format(error)
        if not self._wish.back:
            return ""
        try:
            found = load(self._file).link
        except ConfigError:
            found = None
        if found == self.link:
            return ""
        return (
            f"this command cannot copy the rest itself: {self._file} is not the file of link"
            f" {self.link}; start `towpath run` with that file"
        )

    def to_copy(self) -> int:
        """Return how many records one cluster lacks, -1 if that cannot be asked."""
        try:
            self._copier.look()
            return sum(self._left().values())
        except TowpathError:
            return -1

    def rehearsed(self, seen: Promotion) -> MoveOutcome:
        """Return what a rehearsal tells of the run that the command would start.

        Args:
            seen: What the gateway told.
        """
        if why_not := self.why_not():
            return MoveOutcome(replace(seen, told=(*seen.told, why_not)))
        copied = OwnCopy(self.to_copy())
        return MoveOutcome(
            replace(seen, told=(*seen.told, self._sentence(copied)), reasons=_others(seen)), copied
        )

    def _sentence(self, copied: OwnCopy) -> str:
        told = f"no run of link {self.link} lives; this command copies the rest itself"
        return told + (f": {counted(copied.to_copy, 'record')}" if copied.to_copy >= 0 else "")

    def go(
        self, seen: Promotion, asked: Callable[[], Promotion], command: Callable[[Path], list[str]]
    ) -> MoveOutcome:
        """Start a run, ask once it is close behind, and end it; ask at once if that is no use.

        Args:
            seen: What the gateway told when it was asked what forbids the move.
            asked: Asks the gateway; returns what became of it.
            command: Makes the command that runs a link.

        Raises:
            StoppedError: The user asked to stop before the gateway was asked.
        """
        why_not = self.why_not()
        if why_not or _others(seen):
            found = asked()
            return MoveOutcome(replace(found, told=(*found.told, *filter(None, (why_not,)))))
        copied = OwnCopy(self.to_copy())
        self._said(self._sentence(copied))
        with OwnRun(command(self._file)) as run:
            why = self._come_close(run)
            if why is None:
                self._said("its run is close behind; the gateway is asked")
                found = asked()
            else:
                found = replace(seen, state=PromotionStage.UNDONE.value, told=(), reasons=(why,))
        return MoveOutcome(found, replace(copied, seconds=run.seconds, exit_code=run.exit_code))

    def _come_close(self, run: OwnRun) -> Reason | None:
        """Wait until a run copies and little is left; return why that does not happen."""
        waiting = _Waiting()
        while not self._stop.wait(_LOOK):
            has_ended, seen = run.exit_code is not None, self._look()
            if seen is not None:
                waiting.left = sum(seen.left.values())
                if seen.is_close:
                    return None
                if has_ended and not seen.lives:
                    return run.why_ended()
            if waiting.is_over(copies=seen is not None and seen.copies):
                what = "does not catch up"
                left = f"{counted(waiting.left, 'record')} are left"
                return Reason.of(ReasonCode.PROMOTE_RUN, what=what, why=left)
            if waiting.tells:
                self._said(f"{counted(waiting.left, 'record')} are left")
        raise StoppedError("the gateway was not asked, and nothing has moved")

    def _look(self) -> _Seen | None:
        """Return how far the copy is, `None` where a cluster does not answer now."""
        try:
            lives = runs(self._copier)
            return _Seen(lives, lives and _has_begun(self._copier), self._left())
        except TowpathError:
            return None

    def _left(self) -> Mapping[TopicPartition, int]:
        """Return how many records each partition lacks that moves and lacks any.

        Raises:
            ClusterError: A cluster does not tell.
        """
        places = [*self._places()]
        if not places:
            return {}
        copier = self._copier
        source, target = copier.source.offsets, copier.target.offsets
        ends, there = source.log_ends(places), target.latest(places)
        for error in (*ends.failed.values(), *there.failed.values()):
            raise error
        return {tp: each for tp, each in lags(ends, there).items() if each > 0}

    def _places(self) -> Iterator[TopicPartition]:
        """Yield the partitions that the link copies now, of the topics that move."""
        books, wanted = self._copier.books, self._wish.topics
        for tp, each in books.partitions.items():
            if each.opened is None or each.opened.target != tp or each.mode is not Mode.IDENTICAL:
                continue
            is_open = books.closed(tp.topic) is None and books.pause_of(tp.topic) is None
            if is_open and (not wanted or tp.topic in wanted):
                yield tp


def _others(seen: Promotion) -> tuple[Reason, ...]:
    """Return what forbids a move besides that no run lives."""
    return tuple(each for each in seen.reasons if each.code is not ReasonCode.PROMOTE_NO_RUN)


@dataclass(frozen=True, slots=True)
class _Seen:
    """How far a copy is.

    Attributes:
        lives: Whether a run of the link lives.
        copies: Whether slices of it have begun.
        left: The records that partitions lack, none for none.
    """

    lives: bool
    copies: bool
    left: Mapping[TopicPartition, int]

    @property
    def is_close(self) -> bool:
        """Whether little is left for the gateway to wait for."""
        return self.copies and all(each <= CLOSE_ENOUGH for each in self.left.values())


class _Waiting:
    """How long a run has not come closer.

    Attributes:
        left: Records that are left.
    """

    def __init__(self) -> None:
        self._least: int | None = None
        self._patience, self._tell = Deadline.after(_START), Deadline.after(_TELL)
        self.left = 0

    def is_over(self, *, copies: bool) -> bool:
        """Return whether it was waited for long enough, given whether a run copies by now."""
        if copies and (self._least is None or self.left < self._least):
            self._least, self._patience = self.left, Deadline.after(_STILL)
        return self._patience.over

    @property
    def tells(self) -> bool:
        """Whether it is time to tell how many are left."""
        if not self._tell.over:
            return False
        self._tell = Deadline.after(_TELL)
        return True


def _has_begun(link: OpenLink) -> bool:
    """Return whether slices of the last run of a link have begun."""
    kinds = {Session.kind, Attempt.kind}
    found = link.ledger.another().read(
        SESSIONS, wanted=lambda key: key.kind in kinds and key.link == link.name
    )
    beats = [each for each in found if isinstance(each, Session) and each.work == MIRROR]
    last = beats[-1].run_id if beats else ""
    return any(isinstance(each, Attempt) and each.run_id == last for each in found)
