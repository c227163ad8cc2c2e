"""Keeping aside of what comes to the source of promoted topics, during a run, in its own thread.

A run that mirrors a link sees by each of its looks where the source ends. What comes there to a
topic that a gateway has promoted is copied to a salvage topic at once, before retention at the
source deletes it (`strays.py`), and again as more comes. Nothing else of the run waits for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from towpath.ledger.link import open_link
from towpath.mirror.failback.clusters import both_clusters
from towpath.mirror.failback.strays import KeepWish, KeptNow, StrayKeeper
from towpath.mirror.run.progress import RunProgress
from towpath.mirror.status.partition_status import PartitionStatus
from towpath.model.amounts import counted
from towpath.model.errors import StoppedError, TowpathError
from towpath.model.foreign import foreign
from towpath.model.nouns import TopicName, TopicPartition
from towpath.model.rates import RateLimits
from towpath.records.source.pace import Bucket
from towpath.runtime import log
from towpath.runtime.backoff import BackOff
from towpath.settings import LinkConfig

_TURN = 1.0
"""Seconds between two looks at what the run has seen."""
_EVERY = 10.0
"""Seconds after which more of a topic is kept, where its records go on coming."""
_AGAIN = BackOff(first=10.0, longest=300.0)
_SHARE = 0.1
"""The part of the limits of copying that may be used, so that copying keeps its own."""
_READ = 2
"""How often each record is read at the source: to be copied, and to be compared."""
_GOODBYE = 5.0
"""Longest time in seconds that a run which ends waits for a request that is under way."""


class StrayLoop:
    """Keeps aside what comes to the source of promoted topics, until it is closed.

    Args:
        config: The link. Where `gateway.keep_strays` is off, nothing is kept.
        progress: What the run has seen last.
        hold: Raises if this process must not write any more.

    Attributes:
        sentences: What was kept, and why something was not, since the run began.
    """

    def __init__(self, config: LinkConfig, progress: RunProgress, hold: Callable[[], None]) -> None:
        self._config, self._progress, self._hold = config, progress, hold
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="towpath-strays", daemon=True)
        self._turns, self._limit = StrayTurns(), KeepingLimit(self._over)
        self._trouble = ""
        self._left: tuple[str, ...] = ()
        self._kept: dict[TopicName, int] = {}

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences about what was kept, and why something was not."""
        return (*told(self._kept), *self._left, *filter(None, (self._trouble,)))

    def start(self) -> None:
        """Start the thread, if the file does not forbid it."""
        section = self._config.gateway
        if section is None or section.keep_strays:
            self._thread.start()

    def finish(self, stop: threading.Event) -> None:
        """Wait until all that the run has seen is kept or has failed, or until `stop` is set."""
        while self._thread.is_alive() and not stop.is_set():
            if not self._turns.due(self._progress.rows, time.monotonic()):
                return
            stop.wait(_TURN / 4)

    def close(self) -> None:
        """Stop after the present transaction; what is left is kept by the next run."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(_GOODBYE)

    def _run(self) -> None:
        while not self._over.wait(_TURN):
            if self._turns.due(self._progress.rows, time.monotonic()):
                with self._surviving():
                    self._go_on()

    def _go_on(self) -> None:
        """Keep what is due until the run ends, with connections of its own."""
        with open_link(self._config) as link, both_clusters(link) as clusters:
            keeper = StrayKeeper(link, clusters, hold=self._hold, pace=self._limit.wait)
            while not self._over.is_set():
                due = self._turns.due(self._progress.rows, time.monotonic())
                if due:
                    self._keep(keeper, due)
                self._over.wait(_TURN)

    def _keep(self, keeper: StrayKeeper, due: Mapping[TopicPartition, int]) -> None:
        topics = frozenset(tp.topic for tp in due)
        self._limit.follow(self._progress.rates, topics)
        now = KeptNow()
        try:
            keeper.keep(KeepWish(topics, self._over), now)
        except BaseException:
            self._turns.failed(topics, time.monotonic())
            raise
        finally:
            self._count(now)
        good = {tp: end for tp, end in due.items() if tp.topic not in now.failed}
        self._turns.kept(good, time.monotonic())
        self._turns.failed(now.failed, time.monotonic())
        self._left = now.left
        self._failed("; ".join(f"{topic}: {error}" for topic, error in now.failed.items()))

    def _count(self, now: KeptNow) -> None:
        """Add what one look has kept to what is shown."""
        self._kept = {
            topic: self._kept.get(topic, 0) + now.records.get(topic, 0)
            for topic in sorted({*self._kept, *now.records})
        }

    @contextmanager
    def _surviving(self) -> Iterator[None]:
        """Note an error; a fault of ours must not end all further looks either."""
        try:
            yield
        except StoppedError:
            return
        except TowpathError as error:
            self._failed(str(error))
        except Exception as error:  # noqa: BLE001
            self._failed(foreign(error))

    def _failed(self, why: str) -> None:
        """Note why something is not kept; "" for nothing."""
        text = f"not kept aside: {why}" if why else ""
        if text != self._trouble and not self._over.is_set():
            what = "strays.not_kept" if why else "strays.back"
            log.event(what, self._config.link, "", {"why": why}, trouble=bool(why))
        self._trouble = text


class StrayTurns:
    """Tells of which partitions something is to be kept aside now. Pure."""

    def __init__(self) -> None:
        self._ends: dict[TopicPartition, int] = {}
        """Up to which offset of the source each partition was looked at."""
        self._next: dict[TopicName, float] = {}
        self._failures: dict[TopicName, int] = {}

    def due(self, rows: Iterable[PartitionStatus], now: float) -> dict[TopicPartition, int]:
        """Return the partitions with something new, each with where its log ends as it was seen.

        Args:
            rows: Where each partition stands.
            now: The time, in seconds.
        """
        return {
            row.tp: row.source_log_end
            for row in rows
            if row.unkept
            and row.source_log_end > self._ends.get(row.tp, -1)
            and now >= self._next.get(row.topic, now)
        }

    def kept(self, ends: Mapping[TopicPartition, int], now: float) -> None:
        """Note up to where partitions were looked at, and all was kept."""
        self._ends |= ends
        for topic in {tp.topic for tp in ends}:
            self._failures.pop(topic, None)
            self._next[topic] = now + _EVERY

    def failed(self, topics: Iterable[TopicName], now: float) -> None:
        """Note that not all of topics was kept; they are due again after a while."""
        for topic in topics:
            self._failures[topic] = self._failures.get(topic, 0) + 1
            self._next[topic] = now + _AGAIN.after(self._failures[topic])


class KeepingLimit:
    """Makes keeping aside use only a part of the limits of copying.

    Args:
        stop: Set to end a wait early.
    """

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._bucket: Bucket | None = None

    def follow(self, rates: RateLimits, topics: Iterable[TopicName]) -> None:
        """Follow the limits of now.

        Args:
            rates: The limits that hold.
            topics: Of which topics something is to be kept.
        """
        limits = [each for each in (rates.link, *map(rates.topics.get, topics)) if each is not None]
        if not limits:
            self._bucket = None
        elif self._bucket is None:
            self._bucket = Bucket(_SHARE * min(limits), time.monotonic())
        else:
            self._bucket.change(_SHARE * min(limits), time.monotonic())

    def wait(self, size: int) -> None:
        """Wait until so many bytes may be read from the source."""
        if self._bucket is not None:
            self._stop.wait(self._bucket.wait(time.monotonic()))
            self._bucket.take(_READ * size)


def told(kept: Mapping[TopicName, int]) -> list[str]:
    """Return a sentence about the records of each topic that were kept aside. Pure."""
    return [
        f"kept aside: {counted(number, 'record')} of {topic} that came to the source after it was"
        f" promoted; replay with `towpath salvage replay FILE --topics {topic}`"
        for topic, number in kept.items()
        if number
    ]
