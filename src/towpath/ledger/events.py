"""Events: who did what to a link, when, and from which host; their format and their reader.

The ledger keeps the last entry of each key: what holds. The topic `__towpath_events` keeps what
happened, one record for each event, until its retention removes the record. Nothing that Towpath
does depends on an event: they are for people, and for what shows them (docs/ledger.md).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

from pydantic import TypeAdapter, ValidationError

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.ledger.batches import rows
from towpath.model.errors import ClusterError, RefusedError
from towpath.model.nouns import EVENTS, LinkName, TopicPartition
from towpath.wire.header import BatchHeader, split

PLACE = TopicPartition(EVENTS, 0)
"""Events of all links are in one partition, so they have one order."""

STOPPED = "stopped"
"""The state of a partition that is not mirrored any more, at least for now."""

_FORMAT = 1
_FETCH_BYTES = 4 << 20
_REPEATED = 2000
"""Number of latest events among which a repeated one is found. A batch has fewer, and a batch that
is sent again comes right after the first one."""


class What(StrEnum):
    """The kinds of events. Later versions may add some, so readers keep unknown ones as text."""

    LINK_CHANGED = "link.changed"
    RUN_STARTED = "run.started"
    RUN_ENDED = "run.ended"
    RUN_CHANGED = "run.changed"
    ROUND_STARTED = "round.started"
    ROUND_ENDED = "round.ended"
    ROUND_FAILED = "round.failed"
    ROUND_UNEVEN = "round.uneven"
    LEASE_TAKEN_OVER = "lease.taken_over"
    STEP_DONE = "step.done"
    STEP_FAILED = "step.failed"
    PARTITION_STATE = "partition.state"
    PARTITION_GAP = "partition.gap"
    PARTITION_REPAIRED = "partition.repaired"
    LINK_PAUSED = "link.paused"
    LINK_RESUMED = "link.resumed"
    TOPICS_STOPPED = "topics.stopped"
    TOPICS_STARTED = "topics.started"
    LINK_REMOVED = "link.removed"
    RATE_SET = "rate.set"
    TOPIC_RESTARTED = "topic.restarted"
    QUARANTINE_REPLAYED = "quarantine.replayed"
    CUTOVER_STARTED = "cutover.started"
    CUTOVER_ENDED = "cutover.ended"
    FAILOVER_STARTED = "failover.started"
    FAILOVER_UNDONE = "failover.undone"
    FAILOVER_ENDED = "failover.ended"
    FAILBACK_STARTED = "failback.started"
    FAILBACK_ENDED = "failback.ended"
    SALVAGE_REPLAYED = "salvage.replayed"
    GROUP_OVERTAKEN = "group.overtaken"
    STRAYS_KEPT = "strays.kept"
    PROMOTION_ENDED = "promotion.ended"


_KNOWN = frozenset(What)
_TROUBLE = {
    What.ROUND_FAILED,
    What.STEP_FAILED,
    What.PARTITION_GAP,
    What.GROUP_OVERTAKEN,
    What.STRAYS_KEPT,
}


def is_trouble(what: What, facts: Mapping[str, Any]) -> bool:
    """Return whether an event of this kind needs attention."""
    if what is What.PARTITION_STATE:
        return facts.get("state") == STOPPED
    if what is What.RUN_ENDED:
        return bool(facts.get("error"))
    if what is What.FAILOVER_ENDED:
        return facts.get("state") != "failed_over"
    if what is What.PROMOTION_ENDED:
        return facts.get("state") not in {"promoted", "reverted"}
    if what is What.CUTOVER_ENDED:
        return not facts.get("complete")
    return what in _TROUBLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The user, host and process that an event comes from.

    Attributes:
        user: The user of the operating system.
        login: The login on the target cluster, "" where it asks for none.
        host: The host name.
        pid: The process id.
        version: The version of Towpath.
    """

    user: str
    login: str
    host: str
    pid: int
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event in the history of a link.

    Attributes:
        id: Names the event. An event whose writing was not acknowledged may be there twice.
        at: When it happened, in ms since 1970, by the clock of the writer.
        link: The link.
        what: What happened: a value of `What`, or one that a later version added.
        about: The thing that it happened to: a partition, a topic, a user; "" for the link itself.
        facts: More about it, by name.
        origin: Who did it, and from where.
    """

    id: str
    at: int
    link: LinkName
    what: str
    about: str
    facts: Mapping[str, Any]
    origin: Origin
    v: int = field(default=_FORMAT)

    @property
    def is_trouble(self) -> bool:
        """Whether the event needs attention; kinds added by later versions count as harmless."""
        return self.what in _KNOWN and is_trouble(What(self.what), self.facts)

    def encode(self) -> tuple[bytes, bytes]:
        """Return key and value of the event's record."""
        return self.link.encode(), _json.dump_json(self)

    @classmethod
    def decode(cls, value: bytes | None) -> Self | None:
        """Decode the event in a record, `None` if this version cannot read it."""
        try:
            event = _json.validate_json(value or b"")
        except ValidationError:
            return None
        return event if event.v <= _FORMAT and isinstance(event, cls) else None


_json = TypeAdapter(Event)


class EventReader:
    """Reads the events of a link from the target.

    Attributes:
        foreign: Number of records so far that are no events, or events of a newer version.
    """

    def __init__(self, admin: Admin, client: Client) -> None:
        self._admin, self._client = admin, client
        self.foreign = 0

    def exists(self) -> bool:
        """Return whether the target has a topic of events.

        Raises:
            ClusterError: The target cannot be asked, or refuses to describe the topic.
        """
        return self._admin.topics.find(EVENTS) is not None

    def read(self, link: LinkName | None = None, since: int = 0) -> Iterator[Event]:
        """Yield all events in the order in which they were written.

        Args:
            link: Return only the events of this link.
            since: Return only events of this time or later, in ms since 1970.

        Raises:
            ClusterError: The target cannot be asked. Where there are no events there is no error.
        """
        seen: deque[str] = deque(maxlen=_REPEATED)
        for value in self._values(since):
            event = Event.decode(value)
            if event is None:
                self.foreign += 1
            elif event.id not in seen:
                seen.append(event.id)
                if event.at >= since and link in {None, event.link}:
                    yield event

    def _values(self, since: int) -> Iterator[bytes | None]:
        if not self.exists():
            return
        end = self._admin.offsets.latest([PLACE]).sure(PLACE)
        at = self._admin.offsets.at_time([PLACE], since).sure(PLACE)
        while at < end:
            try:
                chunk = self._client.fetch(PLACE, at, max_bytes=_FETCH_BYTES)
            except RefusedError as error:
                at = max(at + 1, self._first(error))
                continue
            for batch in split(chunk.batches):
                yield from (value for offset, _, value in rows(batch) if at <= offset < end)
                header = BatchHeader.read(batch)
                at = header.base_offset + header.last_offset_delta + 1

    def _first(self, error: ClusterError) -> int:
        """Return where the log begins now, if retention removed what was to be read next."""
        if not isinstance(error, RefusedError) or error.name != "OFFSET_OUT_OF_RANGE":
            raise error
        return self._admin.offsets.earliest([PLACE]).sure(PLACE)
