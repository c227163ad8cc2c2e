"""Types of JSON that the outputs of several products share."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from towpath.ledger.events import Event
from towpath.model.json_shapes import shape
from towpath.schemas.ids_standing import IdsStanding


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


def event_as_json(event: Event, *, trouble: bool, text: str) -> EventJson:
    """Return an event for programs, as it was written.

    Args:
        event: The event.
        trouble: Whether it needs attention.
        text: What happened, as a sentence.
    """
    origin = event.origin
    return EventJson(
        id=event.id,
        at=event.at,
        link=event.link,
        what=event.what,
        about=event.about,
        facts=dict(event.facts),
        origin=OriginJson(
            user=origin.user,
            login=origin.login,
            host=origin.host,
            pid=origin.pid,
            version=origin.version,
        ),
        v=event.v,
        trouble=trouble,
        text=text,
    )


@shape
class AwaitedJson(TypedDict):
    """Schema ids without a decision, for which a partition waits."""

    topic: str
    partition: int
    since: int
    """Since when, in ms since 1970."""
    keys: list[int | str]
    values: list[int | str]


@shape
class SchemaIdsJson(TypedDict):
    """The map of schema ids."""

    translated: int
    untranslated: dict[str, int]
    """Number of ids that pass unchanged, by the code of the reason."""
    awaited: list[AwaitedJson]


def ids_as_json(found: IdsStanding) -> SchemaIdsJson:
    """Return what is known of schema ids for programs."""
    return SchemaIdsJson(
        translated=found.translated,
        untranslated=dict(found.untranslated),
        awaited=[
            AwaitedJson(
                topic=each.topic,
                partition=each.partition,
                since=each.at,
                keys=list(each.keys),
                values=list(each.values),
            )
            for each in found.awaited
        ],
    )


@shape
class FileProblemJson(TypedDict):
    """A fault in a file or an option."""

    path: str
    """The key in the file, or the option."""
    text: str
    file: str | None
    line: int | None
    column: int | None


@shape
class FailureJson(TypedDict):
    """The reason why a command failed."""

    code: str
    """A code that `towpath explain` explains."""
    text: str
    problems: list[FileProblemJson]


@shape
class ErrorJson(TypedDict):
    """Output of a command that failed, with `--output json`."""

    error: FailureJson
