"""The result of the last compaction, as one object in the store.

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
    """The result of a compaction.

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
        """Whether every qualifying segment was merged."""
        return not (self.stopped or self.why or self.failures)

    @property
    def failing(self) -> bool:
        """Whether this compaction failed to merge segments, or an earlier failure is unmended."""
        return bool(self.why or self.failures) or self.unmended

    @property
    def trouble(self) -> str:
        """The failed merges and their reasons, "" if there are none."""
        if self.failing and not (self.why or self.failures):
            return "the last one that was not stopped had failures"
        return self.why or some_of(self.failed)

    @property
    def where(self) -> str:
        """The command, host and start time of the compaction, for people."""
        return f"`archive {self.command}` on {self.host}, began {readable(self.began)}"


_json = TypeAdapter(LastCompaction)


@contextmanager
def recording_compaction(
    store: Store, region: str, command: str, progress: CompactionProgress, stop: Event
) -> Iterator[None]:
    """Record the result of the compaction that runs in this context.

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
    """Return the first failures of a compaction with their reasons, "" if there are none."""
    return "; ".join(f"{at}: {why}" for at, why in sorted(failed.items())[:_SHOWN])


def _was_failing(store: Store, region: str) -> bool:
    with suppress(StoreError):
        last = last_compaction(store, region)
        return last is not None and last.failing
    return False


def last_compaction(store: Store, region: str) -> LastCompaction | None:
    """Return the result of the last compaction, `None` if there is none.

    Raises:
        StoreError: The store cannot be read.
    """
    try:
        return _json.validate_json(store.get(outcome_key(region, WORK)))
    except (ObjectMissingError, ValidationError):
        return None
