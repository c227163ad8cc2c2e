"""How the last compaction of an archive ended: one object in the store, which each one replaces.

The commit log says what was merged, for ever. It does not say that a compaction found nothing to
do, or what it could not merge, and only the process that tried knows that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from threading import Event

from pydantic import TypeAdapter, ValidationError

from towpath.archive.keys import outcome_key
from towpath.archive.upkeep.compaction_rounds import WORK, CompactionProgress
from towpath.ledger.alive import this_host
from towpath.model.errors import ObjectMissingError, StoreError
from towpath.model.foreign import foreign
from towpath.runtime import log as logging
from towpath.runtime.clock import now_ms, readable
from towpath.store import Store

_SHOWN = 3
_NAMED = 100
"""Failures that are kept with their reasons; of more, only the number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastCompaction:
    """How a compaction ended.

    Attributes:
        began: When it began, in ms since 1970; `ended`, when it ended.
        command: The command of `towpath archive` that compacted.
        host: Where; `pid` of the process.
        stopped: Whether it was stopped before nothing qualified any more.
        why: The error that ended it, "" if none did.
        version: The newest version of the archive then.
        read: Segments that were merged; `written`, what they became.
        bytes: Bytes of their objects.
        deleted: Objects that were deleted, as no segment had them.
        failures: How many partitions had merges that failed.
        failed: Why, by partition; not all if there are many.
        strays: How many objects it found that hold what the archive lacks and are in no entry.
        stranded: Their keys; not all if there are many.
        unmended: Whether the one before it was failing, if this one was stopped.
    """

    began: int
    ended: int
    command: str
    host: str
    pid: int
    stopped: bool = False
    why: str = ""
    version: int = 0
    read: int = 0
    written: int = 0
    bytes: int = 0
    deleted: int = 0
    failures: int = 0
    failed: Mapping[str, str] = field(default_factory=dict)
    strays: int = 0
    stranded: tuple[str, ...] = ()
    unmended: bool = False

    @property
    def complete(self) -> bool:
        """Whether all was merged that qualified then."""
        return not (self.stopped or self.why or self.failures)

    @property
    def failing(self) -> bool:
        """Whether it could not merge what it should, or was stopped behind one that could not."""
        return bool(self.why or self.failures) or self.unmended

    @property
    def trouble(self) -> str:
        """What it could not merge and why, "" if there is nothing."""
        if self.failing and not (self.why or self.failures):
            return "the last one that was not stopped had failures"
        return self.why or some_of(self.failed)

    @property
    def where(self) -> str:
        """Which command it was, and where it ran, for people."""
        return f"`archive {self.command}` on {self.host}, began {readable(self.began)}"


_json = TypeAdapter(LastCompaction)


@contextmanager
def told_compaction(
    store: Store, region: str, command: str, progress: CompactionProgress, stop: Event
) -> Iterator[None]:
    """Write down how the compaction ends that is done in this context.

    Only the holder of the lease may do so. If the store does not take it, the log tells.

    Args:
        store: The store of the archive.
        region: The region.
        command: The command of `towpath archive` that compacts.
        progress: What is done.
        stop: Whether somebody stops it.
    """
    began, why = now_ms(), ""
    try:
        yield
    except BaseException as error:
        why = foreign(error)
        raise
    finally:
        told = LastCompaction(
            began=began,
            ended=now_ms(),
            command=command,
            host=this_host(),
            pid=os.getpid(),
            stopped=stop.is_set(),
            why="" if stop.is_set() else why,
            version=progress.version,
            read=progress.read,
            written=progress.written,
            bytes=progress.bytes,
            deleted=progress.swept + progress.orphans,
            failures=len(progress.failed),
            failed=dict(islice(sorted(progress.failed.items()), _NAMED)),
            strays=len(progress.stranded),
            stranded=progress.stranded[:_NAMED],
            unmended=stop.is_set() and _was_failing(store, region),
        )
        try:
            store.put(outcome_key(region, WORK), _json.dump_json(told))
        except StoreError as error:
            facts = {"why": str(error), "code": error.code}
            logging.event("compaction.untold", region, "", facts, trouble=True)


def some_of(failed: Mapping[str, str]) -> str:
    """Return the first failures of a compaction and why, "" if there are none."""
    return "; ".join(f"{at}: {why}" for at, why in sorted(failed.items())[:_SHOWN])


def _was_failing(store: Store, region: str) -> bool:
    with suppress(StoreError):
        last = last_compaction(store, region)
        return last is not None and last.failing
    return False


def last_compaction(store: Store, region: str) -> LastCompaction | None:
    """Return how the last compaction ended, `None` if nobody knows.

    Raises:
        StoreError: The store cannot be read.
    """
    try:
        return _json.validate_json(store.get(outcome_key(region, WORK)))
    except (ObjectMissingError, ValidationError):
        return None
