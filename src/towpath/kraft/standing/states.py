"""The mapping from an observation to a stage, under KIP-866's names. Pure.

The table of stages: what `/controller` and `/migration` hold, which state record is the newest in
the metadata log, and which brokers are registered there as migrating.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from towpath.kraft.facts.nodes import in_mode
from towpath.kraft.facts.nouns import Alarm, BrokerMode, KipState, LogState, Stage
from towpath.kraft.facts.seen import MetadataLogSeen, Observation, ZooKeeperSeen
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Finding
from towpath.kraft.standing.alarms import (
    RaisedAlarm,
    alarms_of,
    anchor,
    claimed,
    in_log,
    just_copied,
    obeys_nobody,
    running_flagless,
)
from towpath.kraft.standing.stages import (
    Copying,
    DualWrite,
    Final,
    Finalizing,
    Headless,
    Hybrid,
    InZooKeeper,
    Mixed,
    Provisioned,
    Registering,
    StageType,
    Stranded,
    Unknown,
)

_BEHIND_THE_END = frozenset({FindingCode.FINAL_UNSEEN, FindingCode.METADATA_LOST})
"""Doubts about a cluster that left ZooKeeper: no alarm about a way back is of use there."""
_ON_BROKERS = 4
"""What `ZkMigrationState` is on brokers that read ZooKeeper, whatever the controllers say."""

_KIP = MappingProxyType(
    {
        Stage.PROVISIONED: KipState.MIGRATION_INELIGIBLE,
        Stage.REGISTERING: KipState.MIGRATION_INELIGIBLE,
        Stage.COPYING: KipState.MIGRATING_ZK_DATA,
        Stage.HYBRID: KipState.DUAL_WRITE_METADATA,
        Stage.MIXED: KipState.DUAL_WRITE_METADATA,
        Stage.DUAL_WRITE: KipState.DUAL_WRITE_METADATA,
        Stage.FINALIZING: KipState.DUAL_WRITE_METADATA,
        Stage.FINAL: KipState.MIGRATION_FINALIZED,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KraftStanding:
    """The interpretation of an observation: its stage, alarms and doubts.

    Attributes:
        kip: KIP-866's state; None where it has none: without controllers, or unknown.
        metric: What Kafka's own metric `ZkMigrationState` says then on controllers, which has
            other numbers; on brokers where no controllers are; None where it cannot be told.
        alarms: What loses a cluster if somebody goes on as if nothing was.
        doubts: Why the stage is unknown, and what would be safe; else empty.
    """

    stage: Stage
    kip: KipState | None
    metric: int | None
    alarms: tuple[RaisedAlarm, ...] = ()
    doubts: tuple[Finding, ...] = ()

    def has(self, alarm: Alarm) -> bool:
        """Return whether an alarm is raised."""
        return any(each.alarm is alarm for each in self.alarms)

    @property
    def over(self) -> bool:
        """Whether ZooKeeper was left for good, even if no controller is left to confirm it."""
        lost = any(each.code in _BEHIND_THE_END for each in self.doubts)
        return lost or self.stage is Stage.FINAL

    @property
    def typed(self) -> StageType:
        """The stage as a type with its legal moves only."""
        return Stranded() if self.has(Alarm.STRANDED) else _TYPES[self.stage]


_TYPES: MappingProxyType[Stage, StageType] = MappingProxyType(
    {
        Stage.ZOOKEEPER: InZooKeeper(),
        Stage.PROVISIONED: Provisioned(),
        Stage.REGISTERING: Registering(),
        Stage.COPYING: Copying(),
        Stage.HYBRID: Hybrid(),
        Stage.MIXED: Mixed(),
        Stage.DUAL_WRITE: DualWrite(),
        Stage.FINALIZING: Finalizing(),
        Stage.FINAL: Final(),
        Stage.HEADLESS: Headless(),
        Stage.UNKNOWN: Unknown(),
    }
)


def stage_of(seen: Observation) -> KraftStanding:
    """Return the stage that an observation shows, and its alarms."""
    doubts = _doubts(seen)
    over = any(each.code in _BEHIND_THE_END for each in doubts)
    stage = Stage.UNKNOWN if doubts else _stage(seen)
    none = seen.log is not None and seen.log.state is LogState.NONE
    return KraftStanding(
        stage=stage,
        kip=KipState.NONE if none else _KIP.get(stage),
        metric=_metric(seen),
        alarms=() if over else alarms_of(seen, stage),
        doubts=doubts,
    )


def _metric(seen: Observation) -> int | None:
    if seen.log is not None and seen.log.state is not None:
        return int(seen.log.state)
    return _ON_BROKERS if seen.zookeeper is not None and not claimed(seen) else None


def _stage(seen: Observation) -> Stage:
    match seen.log.state if seen.log else None:
        case LogState.POST_MIGRATION:
            return Stage.FINAL
        case LogState.MIGRATION:
            return _both_written(seen)
        case LogState.PRE_MIGRATION | LogState.NONE:
            return _before_copy(seen)
        case None:
            return Stage.HEADLESS if claimed(seen) else Stage.ZOOKEEPER


def _before_copy(seen: Observation) -> Stage:
    log = seen.log
    if log is None:
        return Stage.ZOOKEEPER
    if log.copying or claimed(seen):
        return Stage.COPYING
    registered = any(each.migrating for each in log.brokers.values())
    return Stage.REGISTERING if registered else Stage.PROVISIONED


def _both_written(seen: Observation) -> Stage:
    log = seen.log
    if log is None or just_copied(seen):
        return Stage.COPYING
    if obeys_nobody(seen):
        return Stage.ZOOKEEPER
    migrating = sum(each.migrating for each in log.brokers.values())
    if migrating:
        return Stage.HYBRID if migrating == len(log.brokers) else Stage.MIXED
    return Stage.FINALIZING if running_flagless(seen) else Stage.DUAL_WRITE


def _doubts(seen: Observation) -> tuple[Finding, ...]:
    """Return what contradicts itself, or is too little to tell a stage."""
    if (over := _doubt_behind_the_end(seen)) is not None:
        return (over,)
    if seen.log is not None and seen.log.state is not None:
        doubt = _doubt_of_log(seen, seen.log)
    elif seen.zookeeper is None:
        doubt = Finding.of(FindingCode.NOTHING_SEEN)
    else:
        kraft = in_mode(seen, BrokerMode.KRAFT)
        code = FindingCode.KRAFT_WITHOUT_CONTROLLERS
        doubt = Finding.of(code, brokers=kraft) if kraft and not claimed(seen) else None
    return () if doubt is None else (doubt,)


def _doubt_behind_the_end(seen: Observation) -> Finding | None:
    """Return what is wrong behind the end, where no log tells of the end any more.

    Where the journal knows nothing of it, ZooKeeper may: a cluster that was made in KRaft mode has
    no `/migration`.
    """
    if in_log(seen, LogState.POST_MIGRATION):
        return None
    if seen.log is None or seen.log.state is None:
        return Finding.of(FindingCode.FINAL_UNSEEN) if seen.proven.final else None
    znode = anchor(seen)
    kraft = bool(in_mode(seen, BrokerMode.KRAFT))
    migrated = kraft and znode is not None and znode.offset >= 0
    if seen.proven.final or (migrated and seen.log.state is LogState.NONE):
        return Finding.of(FindingCode.METADATA_LOST)
    return None


def _doubt_of_log(seen: Observation, log: MetadataLogSeen) -> Finding | None:
    kraft = in_mode(seen, BrokerMode.KRAFT)
    if log.state is LogState.NONE and kraft:
        return Finding.of(FindingCode.BORN_IN_KRAFT, brokers=kraft)
    if log.state is not LogState.MIGRATION:
        return None
    if obeys_nobody(seen):
        return None
    if not log.brokers:
        return Finding.of(FindingCode.NOBODY_REGISTERED)
    if seen.zookeeper is None or claimed(seen):
        return None
    return Finding.of(FindingCode.TWO_HEADS, found=_who_decides(seen.zookeeper))


def _who_decides(zookeeper: ZooKeeperSeen) -> str:
    if zookeeper.controller is None:
        return "is absent"
    return f"names broker {zookeeper.controller.id}"
