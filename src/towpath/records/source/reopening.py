"""The reopening of readers, whose position only their target knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from towpath.model.errors import ClusterError, TowpathError
from towpath.model.nouns import Side, SourceOffset
from towpath.model.reasons import Reason
from towpath.records.jobs import Gathered, Jobs
from towpath.records.source.reader import Feed, R
from towpath.records.source.trouble import LOOKS, damage
from towpath.records.trouble import AGAIN, passes

S = TypeVar("S")


class Reopening(Generic[R, S]):
    """Reopens readers, many at once, or stops them if that is impossible.

    Args:
        jobs: Jobs of a reader are void when it is opened again.
        feed: Hands nothing to a reader until it is open.
        ask: Returns where readers stand, or why that is not known. Blocking.
        leave: Stops writing for a reader until it is open.
        begin: Lets a reader continue from where it stands.
        given_up: Counts an error. Returns whether the reader is left out because of it.
        pool: Where `ask` is called, if not in the reactor's pool.
    """

    def __init__(
        self,
        jobs: Jobs,
        feed: Feed[R],
        *,
        ask: Callable[[Sequence[R]], Mapping[R, S | TowpathError]],
        leave: Callable[[R], None],
        begin: Callable[[R, S], None],
        given_up: Callable[[R, TowpathError], bool],
        pool: ThreadPoolExecutor | None = None,
    ) -> None:
        self._jobs, self._feed = jobs, feed
        self._leave, self._begin, self._given_up = leave, begin, given_up
        self._openings = Gathered[R, S](
            jobs, lambda readers: lambda: ask(readers), self._opened, pool
        )

    def reopen(self, reader: R) -> None:
        """Look up the reader's position, and continue from there."""
        reader.openings += 1
        reader.failures += 1
        reader.busy = True
        self._take_off(reader)
        pause = AGAIN.after(reader.failures)
        self._jobs.later(reader, pause, lambda: self._openings.add(reader))

    def fetch_anew(self, reader: R, offset: SourceOffset, why: str) -> None:
        """Reopen the reader, and fetch the damaged batch at `offset` once more."""
        damaged = damage(reader.source, offset, why)
        if reader.look(offset) < LOOKS:
            reader.hinder(Side.SOURCE, damaged)
            self._feed.doubt(reader)
            self.reopen(reader)
        else:
            self.stop(reader, damaged)

    def stop(self, reader: R, why: Reason) -> None:
        """Stop the reader, and record why."""
        reader.stop(why)
        self._take_off(reader)

    def _take_off(self, reader: R) -> None:
        self._feed.remove(reader)
        self._leave(reader)

    def _opened(self, reader: R, answer: S | TowpathError) -> None:
        if isinstance(answer, TowpathError):
            self._failed(reader, answer)
        else:
            self._begin(reader, answer)

    def _failed(self, reader: R, error: TowpathError) -> None:
        passing = isinstance(error, ClusterError) and passes(error)
        if self._given_up(reader, error) or not passing:
            self.stop(reader, error.reason)
        else:
            reader.hinder(Side.TARGET, error.reason)
            self.reopen(reader)
