"""The feed of a restore slice whose archive is still being opened."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from towpath.archive.read.feed.feed import SupplyFeed
from towpath.archive.read.feed.late_parts import LateParts
from towpath.archive.read.feed.logged_archive import LoggedArchive
from towpath.archive.read.feed.supply_trouble import SupplyTrouble
from towpath.model.errors import TowpathError
from towpath.model.nouns import TopicPartition
from towpath.records.landing.landing import Landing
from towpath.records.lane.lane import Lane

MadeFeed = Callable[[Landing], SupplyFeed]


class OpeningFeed:
    """Opens an archive in a thread, and passes the waiting lanes on to its feed.

    A store that is away is asked again, as it is for an object: until it answers, or the slice
    ends. The lanes tell what they wait for.

    Args:
        landing: Whose lanes are fed.
        opened: Opens the archive. Blocking.
        feeding: Returns what makes the feed of an archive.
        late: The parts that are missing.

    Attributes:
        ended: No lane is fed any more.
    """

    def __init__(
        self,
        landing: Landing,
        opened: Callable[[], LoggedArchive],
        feeding: Callable[[LoggedArchive], MadeFeed],
        late: LateParts,
    ) -> None:
        self._landing, self._opened, self._feeding = landing, opened, feeding
        self._trouble = SupplyTrouble(landing, late, self.add)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="towpath-log")
        self._feed: SupplyFeed | None = None
        self._waiting: dict[TopicPartition, Lane] = {}
        self._share, self._opening = 0, False
        self.ended = False
        self._open()

    def _open(self) -> None:
        if not self._opening:
            self._opening = True
            self._landing.jobs.run(self._opened, self._over, self._thread)

    def _over(self, said: LoggedArchive | TowpathError) -> None:
        """Hand the lanes to the feed of the archive, or ask again later."""
        self._opening = False
        if self.ended:
            return
        lanes, self._waiting = [*self._waiting.values()], {}
        if not isinstance(said, TowpathError):
            self._feed = self._feeding(said)(self._landing)
            self._feed.share = self._share
            for lane in lanes:
                self._feed.add(lane)
            return
        for lane in lanes:
            self._trouble.failed(lane, said)
            self._landing.go(lane)

    @property
    def throttled(self) -> float:
        """Seconds for which brokers throttled the feed."""
        return 0.0

    @property
    def share(self) -> int:
        """Bytes that each reader may always hold in memory."""
        return self._share

    @share.setter
    def share(self, share: int) -> None:
        self._share = share
        if self._feed is not None:
            self._feed.share = share

    def connect(self, tps: Iterable[TopicPartition]) -> None:
        """Do nothing: the archive is opened in any case."""

    def add(self, lane: Lane) -> None:
        """Feed `reader` from now on, from `expected`."""
        self._trouble.forget(lane)
        if self._feed is not None:
            self._feed.add(lane)
        elif not self.ended:
            self._waiting[lane.source] = lane
            self._open()

    def remove(self, lane: Lane) -> None:
        """Stop feeding `reader`."""
        self._trouble.forget(lane)
        self._waiting.pop(lane.source, None)
        if self._feed is not None:
            self._feed.remove(lane)

    def park(self, lane: Lane) -> None:
        """Drop a lane's reading, if the archive is open."""
        if self._feed is not None:
            self._feed.park(lane)

    def doubt(self, lane: Lane) -> None:
        """Stop feeding `reader` after a damaged batch, and use another source next time."""
        if self._feed is not None:
            self._feed.doubt(lane)

    def room(self, lane: Lane) -> None:
        """Continue to fill the paused queue of a lane, if it has room again."""
        if self._feed is not None:
            self._feed.room(lane)

    def refill(self) -> None:
        """Continue with lanes that waited for memory, as far as there is memory now."""
        if self._feed is not None:
            self._feed.refill()

    def news(self) -> None:
        """Read newly archived segments, if the archive is open."""
        if self._feed is not None:
            self._feed.news()

    def end(self) -> None:
        """Feed no reader any more, even if one is added later."""
        self.ended = True
        self._waiting.clear()
        if self._feed is not None:
            self._feed.end()

    def close(self) -> None:
        """Close all connections."""
        self.end()
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._feed is not None:
            self._feed.close()
