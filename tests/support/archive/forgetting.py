"""What `archive forget` does, without Spark."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from towpath.archive.config import ArchiveConfig
from towpath.archive.log import CommitLog
from towpath.archive.upkeep.compacting import archive_lease
from towpath.archive.upkeep.forgetting import Forgetting, ForgetWishes, ForgetWork
from towpath.archive.upkeep.slice.forget_slice import ForgetResult, ForgetSlice, forget
from towpath.store import Store


def erased(slices: Sequence[ForgetSlice], told: Callable[[int, int], None]) -> list[ForgetResult]:
    """Run slices in this process."""
    told(0, len(slices))
    return [ForgetResult.from_json(each.to_json()) for work in slices for each in forget(work)]


def forgotten(
    config: ArchiveConfig, key: bytes, *, writes: bool = True, **more: object
) -> Forgetting:
    """Forget a key in this process, without Spark."""
    stop = threading.Event()
    wishes = ForgetWishes(key=key, writes=writes, **more)  # type: ignore[arg-type]
    with Store(config.store) as store:
        log = CommitLog.open(store, config.region)
        with archive_lease(config, store, "forget", stop) as lease:
            log.follow()
            mine = lease if writes else None
            work = ForgetWork(config, wishes, log, mine, erased, stop, lambda _: None)
            work.go(2)
            return work.done
