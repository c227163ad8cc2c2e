"""A mirror with an archive of its source behind it, in a folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.support.archive.stored import REGION, StoredArchive
from tests.support.kafka import Record as Produced
from tests.support.kafka import consume
from tests.support.mirror import Mirror
from towpath.archive.model import Segment
from towpath.cluster.admin import Admin
from towpath.model.nouns import Side, TopicName
from towpath.wire.plain import Record


class Backed:
    """An archive of what a mirror's source holds, and the file that names it.

    Args:
        mirror: The mirror; its file takes lost records from the archive from now on.
        wait: How long it waits for the archive.
        otherwise: What it does about what the archive does not give.
    """

    def __init__(self, mirror: Mirror, wait: str = "1s", otherwise: str = "stop") -> None:
        self.mirror = mirror
        with Admin(mirror.config.source, Side.SOURCE) as admin:
            name = TopicName(mirror.topic)
            cluster, self.topic_id = admin.cluster.id(), admin.topics.describe([name])[name].id
        self.stored = StoredArchive(
            mirror.folder, f"{mirror.topic}-archive", mirror.target.bootstrap, cluster=cluster
        )
        self.end = 0
        """Up to where it was archived at last."""
        self.ask(wait, otherwise)

    def ask(self, wait: str = "1s", otherwise: str = "stop", region: str = REGION) -> None:
        """Let the file of the mirror name the archive."""
        archive = (
            f"{{store: {{url: '{self.stored.url}', timeout: 1s}}, region: {region},"
            f" wait: {wait}, otherwise: {otherwise}}}"
        )
        self.mirror.records = {**self.mirror.records, "on_gap": "archive", "archive": archive}

    def put(
        self, first: int, end: int, cuts: Iterable[int] = (), number: str = ""
    ) -> list[Segment]:
        """Archive the offsets [first, end) of the source, of another topic if it has a number."""
        found = consume(self.mirror.source.bootstrap, self.mirror.topic)
        some = [each for each in found if first <= each.offset < end]
        return self.put_records(some, end, cuts, number, first)

    def put_records(
        self,
        seen: Sequence[Produced],
        end: int,
        cuts: Iterable[int] = (),
        number: str = "",
        start: int | None = None,
    ) -> list[Segment]:
        """Archive records that a consumer has seen; none is behind them, up to `end`."""
        records = [
            Record(each.key, each.value, _headers(each.headers), each.timestamp, each.offset)
            for each in seen
        ]
        self.end, number = end, number or self.topic_id
        topic = self.mirror.topic
        return self.stored.put(topic, records, cuts, number=number, end=end, start=start)


def _headers(told: Iterable[tuple[str, bytes | None]]) -> tuple[tuple[bytes, bytes | None], ...]:
    return tuple((name.encode(), value) for name, value in told)
