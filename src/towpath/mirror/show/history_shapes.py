"""Types of the JSON output of `towpath history`, from which its schema is made (docs/output)."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from towpath.mirror.show.shapes import shape
from towpath.mirror.show.status_shapes import MissingEventsJson


@shape
class OriginJson(TypedDict):
    """The user, host and process that an event comes from."""

    user: str
    login: str
    """The login on the target cluster, "" if it asks for none."""
    host: str
    pid: int
    version: str
    """The version of Towpath."""


@shape
class EventJson(TypedDict):
    """One event in the history of a link."""

    id: str
    at: int
    """When it happened, in ms since 1970."""
    link: str
    what: str
    """The kind of event, such as `run.started`."""
    about: str
    """What it happened to: a partition, a topic, a user; "" for the link itself."""
    facts: dict[str, Any]
    origin: OriginJson
    v: int
    """Version of the format of the event."""
    trouble: bool
    """Whether it needs attention."""
    text: str
    """What happened, as a sentence."""


@shape
class HistoryJson(TypedDict):
    """Output of `towpath history FILE --output json`."""

    link: str
    topic_exists: bool
    """Whether the target has a topic of events."""
    earlier: int
    """Number of earlier events that are not shown."""
    unreadable: int
    """Number of records that this version cannot read."""
    missing: MissingEventsJson | None
    """Events that the last command could not write."""
    events: list[EventJson]
