"""Where the logs of both sides end, looked up by an admin client, and how far they are apart."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec

from bench.soaking.load import Place

Offsets = Mapping[Place, int]
SOON = 5.0
EVERY = 1.0


def ends(admin: AdminClient, places: Sequence[Place], isolation: IsolationLevel) -> Offsets:
    """Return the ends of partitions; what a cluster does not tell in time is left out."""
    wanted = {TopicPartition(*place): OffsetSpec.latest() for place in places}  # type: ignore[no-untyped-call]
    asked = admin.list_offsets(wanted, isolation_level=isolation, request_timeout=SOON)
    found = {}
    for tp, answer in asked.items():
        try:
            offset = int(answer.result(SOON + 1).offset)
        except (KafkaException, TimeoutError):
            continue
        if offset >= 0:  # else it is not known
            found[tp.topic, tp.partition] = offset
    return found


class Lag:
    """Looks every second how many source offsets the target lacks, until it is stopped.

    Partitions whose offsets differ on both sides are left out of it; `leave_out` adds a topic.

    Args:
        admins: Returns new admin clients of source and target.
        topics: The topics that are watched.
        partitions: Of each topic.

    Attributes:
        seen: (Seconds, offsets that are not copied) of each look that both clusters answered.
    """

    def __init__(
        self,
        admins: Callable[[], tuple[AdminClient, AdminClient]],
        topics: Sequence[str],
        partitions: int,
    ) -> None:
        self.seen: list[tuple[float, int]] = []
        self._new, self._partitions = admins, partitions
        self._topics, self._clients = list(topics), admins()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="soak-lag")

    @property
    def topics(self) -> Sequence[str]:
        """The topics that are watched."""
        return tuple(self._topics)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._over.set()
        self._thread.join()

    def leave_out(self, topic: str) -> None:
        """Watch a topic no more."""
        if topic in self._topics:
            self._topics.remove(topic)

    def renew(self) -> None:
        """Forget what clients remember of topics, one of which is another one now."""
        self._clients = self._new()

    def now(self, topics: Sequence[str] | None = None) -> int | None:
        """Return how many offsets the target lacks, `None` if that cannot be told now."""
        source = self.source_ends(topics)
        return None if source is None else self.behind(source)

    def source_ends(self, topics: Sequence[str] | None = None) -> Offsets | None:
        """Return where committed records end at the source, `None` if it does not say."""
        return self._ends(0, self._places(topics), IsolationLevel.READ_COMMITTED)

    def behind(self, wanted: Offsets) -> int | None:
        """Return how many offsets the target lacks up to these, `None` if it does not say."""
        found = self._ends(1, list(wanted), IsolationLevel.READ_UNCOMMITTED)
        if found is None:
            return None
        return sum(max(0, end - found[place]) for place, end in wanted.items())

    def await_copied(self, patience: float, topics: Sequence[str] | None = None) -> float | None:
        """Wait until what the source has now is copied.

        Args:
            patience: Seconds to wait.
            topics: Which topics; by default all that are watched.

        Returns:
            The seconds that it took, `None` if it took longer.
        """
        began, wanted = time.monotonic(), None
        while time.monotonic() < began + patience:
            wanted = wanted or self.source_ends(topics)
            if wanted and self.behind(wanted) == 0:
                return time.monotonic() - began
            time.sleep(0.5)
        return None

    def _ends(
        self, side: int, places: Sequence[Place], isolation: IsolationLevel
    ) -> Offsets | None:
        found = ends(self._clients[side], places, isolation)
        if len(found) < len(places):
            # A client whose broker was frozen may go on to answer errors after the broker does not.
            self.renew()
            return None
        return found

    def _places(self, topics: Sequence[str] | None) -> list[Place]:
        names = self._topics if topics is None else topics
        return [(name, number) for name in names for number in range(self._partitions)]

    def _look(self) -> None:
        while not self._over.wait(EVERY):
            lag = self.now()
            if lag is not None:
                self.seen.append((time.monotonic(), lag))
