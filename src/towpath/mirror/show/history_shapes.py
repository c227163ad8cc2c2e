"""Types of the JSON output of `towpath history`, from which its schema is made (docs/output)."""

from __future__ import annotations

from typing_extensions import TypedDict

from towpath.cli.show.shapes import EventJson
from towpath.mirror.show.status_shapes import MissingEventsJson
from towpath.model.json_shapes import shape


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
