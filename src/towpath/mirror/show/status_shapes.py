"""Types of the JSON output of `towpath status`, from which its schema is made (docs/output)."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from towpath.cli.show.shapes import SchemaIdsJson
from towpath.mirror.show.shapes import AtRiskJson, DeletedJson, StateJson
from towpath.model.json_shapes import shape


@shape
class RunJson(TypedDict):
    """The last run of a link."""

    state: str
    """`alive`, `silent`, `ended` or `dead`."""
    host: str
    pid: int
    since: int
    """When it started, in ms since 1970 by the clock of that host."""
    beat: int
    """Its last heartbeat, likewise."""
    silence: float
    """Seconds since the last heartbeat."""


@shape
class HolderJson(TypedDict):
    """A process that held the lease of a link."""

    command: str
    host: str
    pid: int
    since: int
    """When it got the lease, in ms since 1970."""


@shape
class MissingEventsJson(TypedDict):
    """Events that a process could not write."""

    count: int
    why: str
    """Why the last attempt to write failed, "" if it did not."""


@shape
class LeaseJson(TypedDict):
    """The present or last holder of a link's lease."""

    link: str
    owner: str
    """A name that no other process has."""
    command: str
    host: str
    pid: int
    since: int
    """When it got the lease, in ms since 1970."""
    beat: int
    """Its last heartbeat, in ms since 1970."""
    over: bool
    """Whether it has given the lease back."""
    work: str
    replaced: HolderJson | None
    """The dead process that it took the lease over from."""
    missing_events: MissingEventsJson | None
    space: str
    """Which processes `pid` is one of."""


@shape
class TotalsJson(TypedDict):
    """Sums over the shown partitions."""

    partitions: int
    states: dict[str, int]
    """Number of partitions by state."""
    records: int
    bytes: int
    lag_records: int
    lag_bytes_estimated: int | None
    """`null` if the lag of a partition in bytes is unknown."""
    lag_seconds: float | None
    """The longest lag, `null` if that of a partition is unknown."""
    lag_seconds_longest_known: float | None
    lag_unknown: int
    """Number of partitions whose lag in seconds is unknown."""
    deleted_at_most: int
    """Upper bound on records that the target deleted and the source still has."""
    unstable: int
    """Number of source offsets that open transactions hold back; no lag counts them."""


@shape
class ReasonJson(TypedDict):
    """The reason for a gap: a code, and its values by name."""

    code: str
    values: list[tuple[str, int | str | ReasonJson]]


@shape
class GapJson(TypedDict):
    """Source offsets [first, end) that were not copied."""

    link: str
    topic: str
    partition: int
    producer_id: int
    first: int
    end: int
    why: ReasonJson
    went_on: bool
    """Whether copying continued after the gap."""
    at: int
    """When it was recorded, in ms since 1970."""
    target: int | None
    """The target offset at which copying went back to `first`, where the log was cut."""


@shape
class LostJson(TypedDict):
    """Acknowledged records that the target lost."""

    target_end: int
    acknowledged: int
    source_first: int
    source_end: int
    records: int
    """Upper bound on the number of lost records."""


@shape
class PauseJson(TypedDict):
    """A pause of a topic, or of the link if `topic` is empty."""

    link: str
    topic: str
    user: str
    host: str
    at: int
    """When it was paused, in ms since 1970."""


@shape
class CutJson(TypedDict):
    """The last cutover of a partition."""

    link: str
    topic: str
    partition: int
    producer_id: int
    source_end: int
    target_end: int
    """The target offset from which on clients write."""
    records: int
    at: int
    """When it was, in ms since 1970."""
    fences: int
    """Offsets from there on that fences of a failover took."""
    passed: int
    """Records of a mapped partition that are on the target and were in no receipt."""


@shape
class RestartJson(TypedDict):
    """The person who accepted that a source topic was deleted and recreated."""

    link: str
    topic: str
    source_topic_id: str
    user: str
    host: str
    at: int
    """When it was, in ms since 1970."""


@shape
class SetAsideJson(TypedDict):
    """Counts of records that were left out, by kind of reason."""

    quarantined: list[tuple[str, int]]
    skipped: list[tuple[str, int]]


@shape
class OpenTransactionJson(TypedDict):
    """The open transaction at the source behind which nothing is copied yet."""

    first: int
    """The offset at which it begins."""
    offsets: int
    """Number of offsets from there to the end of the log."""
    producer_id: int
    """-1 if unknown."""
    transactional_id: str | None
    last_timestamp: int
    """Time of the producer's last record in ms since 1970, -1 if unknown."""
    hangs: bool
    """Whether it seems that nobody will end it."""


@shape
class PartitionJson(TypedDict):
    """A source partition and its mirror partition."""

    topic: str
    partition: int
    target_topic: str
    state: str
    mode: str
    """`identical`, `mapped` or `transformed`; "" before it was opened."""
    reason: str
    """Why it is mapped."""
    producer_id: int
    source_end: int
    """The source offset up to which records are copied."""
    target_end: int
    """The target offset after the last copied record."""
    lag_records: int
    """Lag in source offsets, -1 if unknown."""
    lag_seconds: float
    """Lag in seconds, -1 if unknown."""
    records: int
    bytes: int
    gaps: list[GapJson]
    error: str
    """What keeps it from moving, "" if nothing does."""
    lost: LostJson | None
    holes: int
    """Number of filled offsets that compaction left empty at the source."""
    transacted: int
    """Number of offsets filled in transactions."""
    codes: list[str]
    """Codes that `towpath explain` explains."""
    source_log_end: int
    """Last stable offset of the source, -1 if unknown."""
    target_log_end: int
    """Log end offset of the target, -1 if unknown."""
    pause: PauseJson | None
    cut: CutJson | None
    restart: RestartJson | None
    change: str
    """Digest of the change under which records are copied, "" for none."""
    tally: list[tuple[str, int]]
    """Pairs of what a change did to records, and how often."""
    set_aside: SetAsideJson
    deleted: DeletedJson | None
    lag_log_bytes: int
    """Bytes of the lag by the size of the source log, -1 if not looked up."""
    unread_end: int
    """The offset after what the source deleted before it was copied, -1 for nothing."""
    clients_own: int
    """Number of target offsets after the cutover that the link did not copy; fences count there
    behind a promotion."""
    unstable: int
    """Number of offsets from `source_log_end` on that an open transaction holds back; or -1."""
    open_transaction: OpenTransactionJson | None
    before_start: tuple[int, int] | None
    """Source offsets [first, end) from before `records.start`, which are not copied."""
    stray_records: int
    """Records that came to the source though clients use the target, and are kept aside."""
    stray_offsets_not_kept: int
    """Source offsets that came after the topic was promoted, and are not kept aside yet."""


@shape
class FileRatesJson(TypedDict):
    """Rate limits of the file, in bytes per second."""

    link: int | None
    topics: dict[str, int]


@shape
class SetRateJson(TypedDict):
    """A rate limit that `towpath rate` has set."""

    topic: str | None
    rate: int | None
    """Bytes per second, `null` for no limit."""
    user: str
    host: str
    at: int
    """When it was set, in ms since 1970."""


@shape
class RatesJson(TypedDict):
    """The rate limits of a link, in bytes per second."""

    link: int | None
    file: FileRatesJson
    set: list[SetRateJson]


@shape
class GroupsJson(TypedDict):
    """Counts of consumer groups, from the ledger."""

    asked: bool
    """Whether the file asks for groups."""
    groups: int
    positions_there: int
    positions_left: int
    at: int | None
    """When the source was seen last, in ms since 1970."""


@shape
class ForetoldJson(TypedDict):
    """A forecast of source records that the target would delete."""

    link: str
    topic: str
    target_id: str
    reasons: list[dict[str, Any]]
    """Each with its `code`, and its values by name."""
    ranges: list[tuple[int, int, int]]
    """Partition, first source offset, and the offset after the last."""
    kept: bool
    """Whether retention, or compaction, stays held back."""
    meant: bool
    """Whether the file allows it."""
    at: int
    """When it was made, in ms since 1970."""
    reason: str
    offsets: int


@shape
class FailedStepJson(TypedDict):
    """A step of a plan whose last attempt failed."""

    link: str
    subject: str
    name: str
    do: str
    """The kind of step."""
    part: str
    step: dict[str, Any]
    """The step as `towpath plan --output json` shows it."""
    phase: str
    plan: str
    """Digest of the saved plan, "" for a step of a run."""
    owned: bool
    topic_id: str
    error: str
    at: int
    """When it failed, in ms since 1970."""


@shape
class LateGroupJson(TypedDict):
    """A group that a gateway has moved to the target, with members at the source."""

    group: str
    members: list[str]
    """Client id and host of each."""
    error: str | None
    """Why they are not known; null if they are."""


@shape
class OvertakenJson(TypedDict):
    """What another program has committed for the link's group beyond what the link has copied."""

    group: str
    topic: str
    partition: int
    """The first partition in which the group is ahead."""
    committed: int
    copied: int
    """The source offset up to which the link has copied that partition."""
    offsets: int
    """Number of offsets between both, in all partitions; a run copies them all the same."""
    partitions: int


@shape
class StatusJson(TypedDict):
    """Output of `towpath status FILE --output json`."""

    link: str
    run: RunJson | None
    lease: LeaseJson | None
    lost_entries: str | None
    """A sentence, if the ledger has lost entries about mirror topics."""
    totals: TotalsJson
    partitions: list[PartitionJson]
    max_rate: RatesJson
    lag_seconds_at_least: float | None
    """How long the lag takes at least because of rate limits."""
    states: list[StateJson]
    """States of the link and of topics, where a failover has moved them."""
    paused: list[PauseJson]
    groups: GroupsJson | None
    schema_ids: SchemaIdsJson | None
    foretold: list[ForetoldJson]
    at_risk: list[AtRiskJson]
    at_risk_unknown: dict[str, str]
    """By source topic, why it is not known whether the target keeps less."""
    late_groups: list[LateGroupJson]
    """Groups that a gateway has moved, and that are still read at the source."""
    overtaken: OvertakenJson | None
    """`null` where the group is nowhere ahead, or the file has no `records.commit`."""
    source_gone: str | None
    """Why the source could not be asked."""
    failed_steps: list[FailedStepJson]
