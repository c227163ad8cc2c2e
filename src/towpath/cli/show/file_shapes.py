"""Types of the JSON of commands about files, the runbook and local clusters."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from typing_extensions import TypedDict

from towpath.cli.show.shapes import FileProblemJson
from towpath.model.json_shapes import open_object, shape


@shape
class WrittenExampleJson(TypedDict):
    """Output of `towpath init FILE --output json`."""

    file: str


@shape
class LintJson(TypedDict):
    """Output of `towpath lint FILE --output json` for a file without problems.

    For one with problems it is an error that names them.
    """

    file: str
    problems: list[FileProblemJson]
    """Always empty."""
    notes: list[str]


FileSchemaJson = Annotated[
    dict[str, Any],
    open_object("A JSON schema of a file.", **{"$schema": "The version of JSON Schema."}),
]
"""Output of `towpath schema`: the JSON schema of a file."""


@shape
class PackedJson(TypedDict):
    """Output of `towpath pack OUT --output json`."""

    file: str
    bytes: int
    sha256: str
    suffix: str
    """What the names of modules end in that the workers' Python must take."""
    packages: dict[str, str]
    """Versions of packed packages by name."""


@shape
class RunbookPageJson(TypedDict):
    """A page of the runbook."""

    page: str
    title: str
    codes: list[str]
    """The codes and alerts that it explains."""
    text: NotRequired[str]
    """The page, where one code was asked for."""


@shape
class RunbookJson(TypedDict):
    """All pages of the runbook."""

    pages: list[RunbookPageJson]


ExplainJson = RunbookPageJson | RunbookJson
"""Output of `towpath explain --output json`."""


@shape
class DevClusterJson(TypedDict):
    """A local cluster."""

    side: str
    """`source` or `target`."""
    bootstrap: str
    kafka: str
    """The version of Kafka."""
    secure: bool
    """Whether clients need TLS and a login."""
    pid: int
    running: bool


@shape
class DevClustersJson(TypedDict):
    """Output of `towpath dev up`, `status`, `down` and `reset` with `--output json`."""

    clusters: list[DevClusterJson]
    link: str | None
    """The written link file, `null` if there is none."""
