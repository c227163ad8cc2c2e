"""Types of the JSON that `towpath quarantine` writes."""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict

from towpath.model.json_shapes import shape


@shape
class CountedRecordsJson(TypedDict):
    """Numbers of a topic's records that were left out for one reason."""

    topic: str
    """The source topic."""
    reason: str
    """A code that `towpath explain` explains."""
    quarantined: int
    replayed: int
    outdated: int
    """Number of those that were copied or set aside again since."""
    skipped: int
    """Number of records that were left out without a copy."""


@shape
class ReplayMarkJson(TypedDict):
    """The replay of a record."""

    at: int
    """When it was, in ms since 1970."""
    target: str
    """The target partition."""
    user: str
    host: str


@shape
class QuarantinedJson(TypedDict):
    """A record that was set aside."""

    record: str
    """Its source partition and offset, as in `orders-3@4711`."""
    topic: str
    partition: int
    offset: int
    producer_id: int
    reason: dict[str, Any]
    """A `code`, and its values by name."""
    why: str
    """The same as a sentence."""
    at: int
    """When it was set aside, in ms since 1970."""
    size: int
    outdated: bool
    """Whether it was copied or set aside again since."""
    replayed: ReplayMarkJson | None


@shape
class QuarantineListJson(TypedDict):
    """Output of `towpath quarantine ls FILE --output json`."""

    link: str
    counts: list[CountedRecordsJson]
    records: list[QuarantinedJson]
    not_listed: int
    """Number of earlier records that are not listed."""
    foreign: int
    """Number of records that this version cannot read."""


@shape
class RecordBytesJson(TypedDict):
    """The first bytes of a part of a record, as text or in base64."""

    text: NotRequired[str]
    base64: NotRequired[str]
    size: int
    """Number of all its bytes."""


@shape
class RecordHeaderJson(TypedDict):
    """A header of a record."""

    name: RecordBytesJson | None
    value: RecordBytesJson | None


@shape
class QuarantinedRecordJson(QuarantinedJson):
    """Output of `towpath quarantine show FILE RECORD --output json`."""

    timestamp: int
    """In ms since 1970, -1 for none."""
    key: RecordBytesJson | None
    value: RecordBytesJson | None
    headers: list[RecordHeaderJson]


@shape
class ReplayedRecordJson(TypedDict):
    """A replayed record."""

    record: str
    target: str
    """The target partition."""


@shape
class NotReplayedJson(TypedDict):
    """A record that cannot be replayed."""

    record: str
    why: str


@shape
class ReplayJson(TypedDict):
    """Output of `towpath quarantine replay FILE --output json`."""

    link: str
    replayed: list[ReplayedRecordJson]
    left: list[NotReplayedJson]
