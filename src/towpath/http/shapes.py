"""What is asked over HTTP and answered, and the JSON output of `towpath http`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from towpath.model.json_shapes import JsonOutput, shape
from towpath.settings.sections.gateway import BATCH
from towpath.settings.sections.topics import LEGAL


def _topic(value: str) -> str:
    if not LEGAL.fullmatch(value):
        raise ValueError("is no name of a topic")
    return value


def _group(value: str) -> str:
    if not value.strip() or "," in value:
        raise ValueError("is no name of a group, or one that a list with commas cannot hold")
    return value


class MoveRequest(BaseModel):
    """Which topics of a link are to move."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    topics: Annotated[list[Annotated[str, AfterValidator(_topic)]], Field(min_length=1)] | None = (
        None
    )
    """Only these topics; by default all of the link."""
    batch: Annotated[str, Field(pattern=BATCH)] | None = None
    """Only the topics of this batch, from `gateway.batches`."""
    groups: Annotated[list[Annotated[str, AfterValidator(_group)]], Field(min_length=1)] | None = (
        None
    )
    """Only these groups, before their topics, where `gateway.reads` is `target`."""
    dry_run: bool = False
    """Tell who is connected and what would be held; no more."""
    gone: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]*$")] | None = None
    """A gateway that was killed with its machine, so that nobody can tell it is dead."""


@shape
class LinkFileJson(TypedDict):
    """A link that is served over HTTP."""

    link: str
    file: str
    """The name of its file."""


@shape
class ServedLinksJson(TypedDict):
    """All links that are served over HTTP."""

    links: list[LinkFileJson]


@shape
class CommandJson(TypedDict):
    """A command that was asked for over HTTP."""

    id: str
    link: str
    command: str
    """Such as `promote`."""
    state: Literal["running", "ended"]
    exit_code: int | None
    """Its exit code, once it has ended."""
    said: list[str]
    """What it has told meanwhile, such as the steps of a promotion: the last 1,000 lines."""
    output: dict[str, Any] | None
    """Its JSON output, or the error that it ended with, once it has ended."""


@shape
class HttpJson(TypedDict):
    """Output of `towpath http FILE... --output json`, at its end."""

    listen: str
    links: list[str]
    commands: int
    """Commands that were run."""


OUTPUTS: Mapping[str, JsonOutput] = MappingProxyType(
    {"http": JsonOutput(HttpJson, ("http",), ("listen", "links", "commands"))}
)
"""Each JSON output of `towpath http`, by the name of its schema."""
