"""Types of JSON that the outputs of several products share."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from towpath.model.json_shapes import shape


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
