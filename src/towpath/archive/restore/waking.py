"""Bucket notifications that wake the restores which follow an archive.

The commit log stays the truth. A message that is lost, late or doubled costs time at most.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from towpath.archive.keys import quoted
from towpath.model.errors import StoreError
from towpath.runtime.backoff import BackOff
from towpath.runtime.clock import now_ms
from towpath.settings import StoreConfig
from towpath.settings.sections.notify import NotifyConfig
from towpath.store.s3.events import CreatedObject, UnreadableEventError, created_objects

if TYPE_CHECKING:
    from towpath.store.s3.queue import MessageQueue, QueueMessage

_AGAIN = BackOff(first=1.0, longest=60.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notified:
    """Counts of the notification queue.

    Attributes:
        queue: The queue.
        messages: Messages that were handled.
        objects: Objects of followed archives that they told of.
        poison: Messages that could not be read, and were deleted after several attempts.
        failed: Times that a message could not be read, and was left for another attempt.
        errors: Requests to the queue that failed.
        lag: Seconds from the creation of the last object that a message told of to its reading;
            `None` before the first one.
        trouble: Why the queue cannot be read; empty if it can.
    """

    queue: str
    messages: int = 0
    objects: int = 0
    poison: int = 0
    failed: int = 0
    errors: int = 0
    lag: float | None = None
    trouble: str = ""

    def __str__(self) -> str:
        """Return it as a line for people."""
        poison = f", {self.poison} of them could not be read" if self.poison else ""
        trouble = f"; {self.trouble}" if self.trouble else ""
        return f"queue {self.queue}: {self.messages} messages{poison}{trouble}"


class Bell:
    """A wake-up flag for one restore, set by notifications.

    Args:
        store: Where its archive is.
        region: The region.
    """

    def __init__(self, store: StoreConfig, region: str) -> None:
        self._bucket = store.bucket
        prefix = f"{store.prefix}/" if store.prefix else ""
        self._parts = prefix, f"{quoted(region)}/"
        self._rung = threading.Event()

    def hear(self, made: CreatedObject) -> bool:
        """Set the flag if an object belongs to the archive; return whether it does."""
        if made.bucket != self._bucket or not self._is_ours(made.key):
            return False
        self._rung.set()
        return True

    def _is_ours(self, key: str) -> bool:
        prefix, region = self._parts
        if not key.startswith(prefix):
            return False
        rest = key.removeprefix(prefix)
        # Keys of data may begin with a hash (`store.spread`).
        return rest.startswith(region) or rest.partition("/")[2].startswith(region)

    def asked(self) -> bool:
        """Return whether the flag was set since the last call, and clear it."""
        rung = self._rung.is_set()
        self._rung.clear()
        return rung


class Waker(threading.Thread):
    """Reads a notification queue until closed, and wakes the restores concerned.

    Args:
        config: The queue.
        bells: Of the restores.
        show: Called when `told` has changed.

    Attributes:
        told: What came so far.
    """

    def __init__(
        self,
        config: NotifyConfig,
        bells: Iterable[Bell],
        show: Callable[[Notified], None] = lambda _: None,
    ) -> None:
        super().__init__(name="towpath-waker", daemon=True)
        self._config, self._bells, self._show = config, tuple(bells), show
        self._over = threading.Event()
        self.told = Notified(queue=config.queue)

    def close(self) -> None:
        """Stop reading; a pending request is abandoned."""
        self._over.set()

    def run(self) -> None:
        """Read the queue until closed."""
        from towpath.store.s3.queue import MessageQueue  # noqa: PLC0415  # most read none; slow

        failures, queue = 0, None
        while not self._over.is_set():
            try:
                queue = queue or MessageQueue(self._config)
                self._take(queue, queue.receive())
            except StoreError as error:
                failures += 1
                self._tell(replace(self.told, errors=self.told.errors + 1, trouble=str(error)))
                self._over.wait(_AGAIN.after(failures))
            else:
                failures = 0
        if queue is not None:
            queue.close()

    def _take(self, queue: MessageQueue, messages: list[QueueMessage]) -> None:
        """Ring for what messages tell of, and delete those that need not come again."""
        handled: list[QueueMessage] = []
        told = replace(self.told, trouble="")
        for each in messages:
            with suppress(UnreadableEventError):
                created = created_objects(each.body)
                heard = told.objects + sum(map(self._hear, created))
                lag = _lag(created, told.lag)
                told = replace(told, messages=told.messages + 1, objects=heard, lag=lag)
                handled.append(each)
                continue
            if each.times >= self._config.retries:
                told = replace(told, messages=told.messages + 1, poison=told.poison + 1)
                handled.append(each)
            else:
                told = replace(told, failed=told.failed + 1)
        if told != self.told:
            self._tell(told)
        queue.delete(handled)

    def _hear(self, made: CreatedObject) -> bool:
        return sum(bell.hear(made) for bell in self._bells) > 0  # all of them hear it

    def _tell(self, told: Notified) -> None:
        self.told = told
        self._show(told)


def _lag(created: Iterable[CreatedObject], before: float | None) -> float | None:
    """Return how many seconds ago the last of these objects was created, if that is known."""
    last = max((each.at for each in created if each.at is not None), default=None)
    return before if last is None else max(0.0, (now_ms() - last) / 1000)
