"""Types of the JSON that `towpath kraft` writes; its schemas are made of them (docs/output)."""

from __future__ import annotations

from typing import Annotated, Any

from typing_extensions import TypedDict

from towpath.kraft.findings.findings import Value
from towpath.kraft.run.comparison_shape import StoreComparisonJson
from towpath.model.json_shapes import open_object, shape


@shape
class FindingJson(TypedDict):
    """A finding about a cluster or a migration."""

    code: str
    """A code that `towpath explain` explains."""
    severity: str
    """`stop`, for example, if it stops a migration."""
    values: dict[str, Value]
    """Values of its sentences, by name."""
    what: str
    """A sentence about what was seen."""
    advice: str
    """A sentence about what to do."""


@shape
class AlarmJson(FindingJson):
    """An alarm: a state in which a cluster is lost if its migration continues."""

    alarm: str


@shape
class FindingsJson(TypedDict):
    """Output of `towpath kraft check FILE --output json`."""

    findings: list[FindingJson]


@shape
class ZooKeeperServerJson(TypedDict):
    """A ZooKeeper server."""

    address: str
    mode: str | None
    """`leader` or `follower`, for example; `null` if it does not serve."""
    version: str
    why: str
    """What it answered instead of a mode, "" otherwise."""


@shape
class EnsembleJson(TypedDict):
    """The ZooKeeper servers of a cluster."""

    voters: int
    """Number of voting servers."""
    serve: int
    """Number of voting servers that serve."""
    spare: int
    """Number of servers that may fail."""
    servers: list[ZooKeeperServerJson]


@shape
class KraftNodeJson(TypedDict):
    """A broker or a controller."""

    id: int
    role: str
    running: bool
    mode: str | None
    """The mode in which a broker runs, `null` for others."""
    file_mode: str | None
    """The mode in which a broker's file would start it."""
    flag: bool | None
    """Whether it tells the flag of a migration, `null` without an answer."""
    software: str | None
    """Its release, such as `3.9`."""
    build: str | None
    """Its version with the patch level, such as `3.9.2`."""
    heap: int | None
    """The largest heap of its process in bytes."""
    meta: list[str]
    """Its log directories, with the version of each."""


@shape
class KraftStatusJson(TypedDict):
    """Output of `towpath kraft status FILE --output json`."""

    at: str
    """When it was seen."""
    cluster_id: str | None
    stage: str
    well: bool
    """Whether nothing is alarming, and all was seen that should be."""
    kip: str
    """Name and number of KIP-866's state, or `none`."""
    kip_number: int | None
    metric: int | None
    """What Kafka's own metric `ZkMigrationState` says then."""
    controller: int | None
    """The controller in ZooKeeper."""
    quorum_leader: int | None
    alarms: list[AlarmJson]
    doubts: list[FindingJson]
    """Why the stage is unknown."""
    unseen: list[str]
    """What could not be seen, and why."""
    offline: list[str] | None
    """Partitions without a leader, `null` if unknown."""
    under_replicated: list[str] | None
    comparison: StoreComparisonJson | None
    zookeeper_read_seconds: float | None
    odd_znodes: list[str]
    ensemble: EnsembleJson | None
    about_nodes: list[FindingJson]
    next: list[FindingJson]
    """What to do next."""
    nodes: list[KraftNodeJson]


@shape
class KraftStepJson(TypedDict):
    """A step of a migration."""

    step: str
    """The kind of step."""
    what: str
    expected: str
    """The stage behind it."""
    way_back: list[str]
    """The steps that would undo it."""
    nothing_leads_back: bool
    changes: list[str]
    """Changed lines of a file, as in a diff."""


@shape
class KraftPlanJson(TypedDict):
    """Output of `towpath kraft plan FILE --output json`."""

    now: KraftStatusJson
    steps: list[KraftStepJson]
    first: list[FindingJson]
    """What must be done before the first step."""
    refusals: list[FindingJson]
    """Why no step leads further."""


@shape
class KraftRunJson(TypedDict):
    """Output of `towpath kraft run`, `rollback` and `finalize` with `--output json`."""

    stage: str
    kip: str
    """Name and number of KIP-866's state, or `none`."""
    steps: int
    """Number of steps that were done."""
    reached: bool
    """Whether the goal was reached."""
    stopped: bool
    """Whether the user stopped it before."""
    left: str
    """What a step still waited for when the user stopped it."""
    refusals: list[FindingJson]
    """Why no further step was safe."""
    notes: list[FindingJson]


JournalEntryJson = Annotated[
    dict[str, Any],
    open_object(
        "An entry of the journal, and its facts by name.",
        at="When it was written.",
        event="What happened.",
    ),
]
"""An entry of the journal: `at`, `event`, and the facts of this kind of event."""


@shape
class KraftFactsJson(TypedDict):
    """Facts of a migration, as its report has them."""

    migration: str
    now: KraftStatusJson
    journal: list[JournalEntryJson]


@shape
class KraftReportJson(KraftFactsJson):
    """Output of `towpath kraft report FILE --output json`."""

    page: str
    """The written HTML page."""
