"""Alarms: states that lose a cluster if the migration continues as usual. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from towpath.kraft.facts.nodes import in_mode, shown_mode
from towpath.kraft.facts.nouns import Alarm, BrokerMode, LogState, NodeId, Stage
from towpath.kraft.facts.quotas import left_behind
from towpath.kraft.facts.seen import MigrationZnode, NodeSeen, Observation, Oddity, has_flag
from towpath.kraft.facts.states import not_made
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Finding

_JUST_COPIED = 100
"""Records behind a copy within which `/migration` may still be at -1.

ZooKeeper is read a moment before the log, and an idle log grows by two records a second."""

_BUSY = 1_000
"""Records by which `/migration` may be behind under a leader that writes."""

_COPIED_NOTHING = frozenset({LogState.PRE_MIGRATION, LogState.NONE})

_BOTH_WRITTEN = frozenset({Stage.HYBRID, Stage.MIXED, Stage.DUAL_WRITE, Stage.FINALIZING})


@dataclass(frozen=True, slots=True, order=True)
class RaisedAlarm:
    """A raised alarm with its finding."""

    alarm: Alarm
    finding: Finding

    def __str__(self) -> str:
        return str(self.finding)


def alarms_of(seen: Observation, stage: Stage) -> tuple[RaisedAlarm, ...]:
    """Return all alarms of an observation."""
    found = ((alarm, look(seen, stage)) for alarm, look in _LOOKS.items())
    return tuple(RaisedAlarm(alarm, finding) for alarm, finding in found if finding is not None)


def claimed(seen: Observation) -> bool:
    """Return whether `/controller` names a KRaft controller, which may have ended since."""
    controller = seen.zookeeper.controller if seen.zookeeper else None
    return controller is not None and controller.kraft_epoch >= 0


def anchor(seen: Observation) -> MigrationZnode | None:
    """Return the znode `/migration`, `None` if it is missing or ZooKeeper was not read."""
    return seen.zookeeper.migration if seen.zookeeper else None


def in_log(seen: Observation, *states: LogState) -> bool:
    """Return whether the log's newest migration state is one of the given ones."""
    return seen.log is not None and seen.log.state in states


def obeys_nobody(seen: Observation) -> bool:
    """Return whether migrated controllers lead no broker, as all are back in ZooKeeper mode.

    Somebody started what a rollback had stopped, and not yet wiped.
    """
    modes = {shown_mode(each) for each in seen.brokers.values()}
    return not claimed(seen) and modes == {BrokerMode.ZOOKEEPER}


def holds_everything(seen: Observation) -> bool:
    """Return whether ZooKeeper has all metadata, so that controllers may be stopped for good.

    Both stores are equal, or the controllers have copied nothing yet.
    """
    if in_log(seen, *_COPIED_NOTHING):
        return True
    return seen.comparison is not None and seen.comparison.equal


def without_log(seen: Observation) -> tuple[NodeId, ...]:
    """Return the formatted controllers whose log lacks the offset in `/migration`.

    Somebody has formatted them anew. One that runs and is led by a controller with that log gets it
    from there.
    """
    znode = anchor(seen)
    if znode is None or znode.offset < 0 or in_log(seen, LogState.POST_MIGRATION):
        return ()  # behind the end it is old
    led = in_log(seen, LogState.MIGRATION)
    return tuple(
        sorted(
            each.id
            for each in seen.controllers.values()
            if each.meta
            and each.epochs is not None
            and not (led and each.running)
            and not reaches(each.epochs, znode)
        )
    )


def reaches(epochs: tuple[tuple[int, int], ...], znode: MigrationZnode) -> bool:
    """Return whether a metadata log has the epoch that `/migration` names at its offset.

    A log that begins behind that offset was cut there, as a snapshot holds what came before.
    """
    if not epochs or max(epoch for epoch, _first in epochs) < znode.offset_epoch:
        return False
    before = [epoch for epoch, first in epochs if first <= znode.offset]
    return not before or before[-1] == znode.offset_epoch


def may_lead_empty(seen: Observation) -> bool:
    """Return whether controllers without the log are a majority, which could elect one.

    A minority cannot: those that hold the log give none of them a vote (KIP-595).
    """
    return 2 * len(without_log(seen)) > len(seen.controllers)


def just_copied(seen: Observation) -> bool:
    """Return whether ZooKeeper was copied so recently that `/migration` may not show it yet."""
    log, znode = seen.log, anchor(seen)
    if log is None or log.copied is None or znode is None or not claimed(seen):
        return False
    all_migrating = all(each.migrating for each in log.brokers.values())
    return znode.offset < 0 and all_migrating and log.end - log.copied.end <= _JUST_COPIED


def running_flagless(seen: Observation) -> tuple[NodeId, ...]:
    """Return the controllers that run without the flag, by their answer or registration."""
    return tuple(
        sorted(each.id for each in seen.controllers.values() if _runs_flagless(seen, each))
    )


def flagless(seen: Observation) -> tuple[NodeId, ...]:
    """Return the controllers that run, or would start, without the flag.

    One whose folder is not formatted cannot be started, whatever its file says.
    """
    running = running_flagless(seen)
    return tuple(
        sorted(
            each.id
            for each in seen.controllers.values()
            if each.id in running
            or (each.meta and each.properties and not has_flag(each.properties))
        )
    )


def _runs_flagless(seen: Observation, node: NodeSeen) -> bool:
    if node.flag is not None:
        return not node.flag
    registered = seen.log.ready.get(node.id, True) if seen.log else True
    return node.running and not registered


def _never_migratable(seen: Observation, _stage: Stage) -> Finding | None:
    # Wiping the controllers of a cluster that was made in KRaft mode would lose it.
    none = in_log(seen, LogState.NONE) and not in_mode(seen, BrokerMode.KRAFT)
    return Finding.of(FindingCode.NEVER_MIGRATABLE) if none else None


def _wipe_ahead(seen: Observation, stage: Stage) -> Finding | None:
    znode = anchor(seen)
    if znode is None or znode.offset < 0:
        return None
    fresh = in_log(seen, *_COPIED_NOTHING)
    older = stage is Stage.HEADLESS and _is_older(seen, znode)
    empty = stage is not Stage.FINAL and may_lead_empty(seen)
    if fresh or stage is Stage.ZOOKEEPER or older or empty:
        return Finding.of(FindingCode.WIPE_AHEAD, offset=znode.offset)
    return None


def _is_older(seen: Observation, znode: MigrationZnode) -> bool:
    """Whether `/controller` was claimed by controllers that have never led as `/migration` says."""
    controller = seen.zookeeper.controller if seen.zookeeper else None
    return controller is not None and znode.controller_epoch > controller.kraft_epoch


def _lost_anchor(seen: Observation, stage: Stage) -> Finding | None:
    left = stage is Stage.ZOOKEEPER and in_log(seen, LogState.MIGRATION)
    if (stage not in _BOTH_WRITTEN and not left) or seen.zookeeper is None:
        return None
    znode = seen.zookeeper.migration
    if znode is None:
        return Finding.of(FindingCode.LOST_ANCHOR, found="is gone")
    if znode.offset < 0:
        return Finding.of(FindingCode.LOST_ANCHOR, found="is at -1")
    return None


def _stranded(seen: Observation, stage: Stage) -> Finding | None:
    if stage is not Stage.FINAL or seen.log is None:
        return None
    stranded = {each.id for each in seen.log.brokers.values() if each.migrating}
    stranded |= seen.zookeeper.brokers if seen.zookeeper else set()
    for mode in (BrokerMode.ZOOKEEPER, BrokerMode.MIGRATION):
        stranded.update(in_mode(seen, mode))
    return Finding.of(FindingCode.STRANDED, brokers=sorted(stranded)) if stranded else None


def _flag_missing(seen: Observation, stage: Stage) -> Finding | None:
    nodes = flagless(seen)
    if not nodes or stage not in _BOTH_WRITTEN | {Stage.COPYING, Stage.HEADLESS}:
        return None
    return Finding.of(FindingCode.FLAG_MISSING, controllers=nodes)


def _unequal(seen: Observation, stage: Stage) -> Finding | None:
    comparison = seen.comparison
    if stage not in _BOTH_WRITTEN or comparison is None or comparison.equal:
        return None
    differences = comparison.differences
    names = [f"{each.kind} {each.name}" for each in differences]
    return Finding.of(FindingCode.UNEQUAL, count=len(differences), names=names)


def _unwritable(seen: Observation, stage: Stage) -> Finding | None:
    names = seen.log.unwritable if seen.log is not None else ()
    both = stage in _BOTH_WRITTEN
    return Finding.of(FindingCode.UNWRITABLE, names=names) if names and both else None


def _kraft_only(seen: Observation, stage: Stage) -> Finding | None:
    names = seen.log.kraft_only if seen.log is not None else ()
    if not names or stage not in _BOTH_WRITTEN:
        return None
    return Finding.of(FindingCode.KRAFT_ONLY, count=len(names), names=names)


def _users_deleted(seen: Observation, stage: Stage) -> Finding | None:
    users = seen.log.deleted_users if seen.log is not None else ()
    both = stage in _BOTH_WRITTEN
    return Finding.of(FindingCode.USERS_DELETED, users=users) if users and both else None


def quotas_left(seen: Observation) -> tuple[str, ...]:
    """Return the entities whose deleted quotas ZooKeeper keeps while both stores are written."""
    if seen.zookeeper is None or seen.log is None or not in_log(seen, LogState.MIGRATION):
        return ()
    return left_behind(seen.zookeeper.image, seen.log.image)


def _quotas_left(seen: Observation, stage: Stage) -> Finding | None:
    left = quotas_left(seen) if stage in _BOTH_WRITTEN else ()
    return Finding.of(FindingCode.QUOTAS_LEFT, quotas=left) if left else None


def states_not_made(seen: Observation) -> tuple[str, ...]:
    """Return the partitions without a state in ZooKeeper, at which leaders stop to write."""
    if seen.zookeeper is None or seen.log is None or not in_log(seen, LogState.MIGRATION):
        return ()
    return tuple(map(str, sorted(not_made(seen.zookeeper, seen.log.image))))


def _states_not_made(seen: Observation, stage: Stage) -> Finding | None:
    lost = states_not_made(seen) if stage in _BOTH_WRITTEN else ()
    if not lost:
        return None
    return Finding.of(FindingCode.STATES_NOT_MADE, count=len(lost), partitions=lost)


def behind(seen: Observation) -> bool:
    """Return whether the leading controller has not written to ZooKeeper for long.

    It writes the offset of each change into `/migration`, also of those that change nothing. The
    first one is written once all that differed is (`KRaftMigrationDriver.java`).
    """
    log, znode, quorum = seen.log, anchor(seen), seen.quorum
    if log is None or znode is None or quorum is None or znode.offset < 0:
        return False
    begun = znode.offset_epoch >= quorum.epoch
    return log.end - znode.offset > (_BUSY if begun else _JUST_COPIED)


def _zookeeper_behind(seen: Observation, stage: Stage) -> Finding | None:
    znode, log = anchor(seen), seen.log
    if stage not in _BOTH_WRITTEN or znode is None or log is None or not behind(seen):
        return None
    return Finding.of(FindingCode.ZOOKEEPER_BEHIND, offset=znode.offset, end=log.end)


def _ends_brokers(seen: Observation, stage: Stage) -> Finding | None:
    odd = seen.zookeeper.odd if seen.zookeeper is not None and stage is not Stage.FINAL else ()
    paths = sorted(each.path for each in odd if each.oddity is Oddity.ENDS_BROKERS)
    if not paths:
        return None
    return Finding.of(FindingCode.ENDS_BROKERS, count=len(paths), paths=paths)


_LOOKS: dict[Alarm, Callable[[Observation, Stage], Finding | None]] = {
    Alarm.NEVER_MIGRATABLE: _never_migratable,
    Alarm.WIPE_AHEAD: _wipe_ahead,
    Alarm.LOST_ANCHOR: _lost_anchor,
    Alarm.STRANDED: _stranded,
    Alarm.FLAG_MISSING: _flag_missing,
    Alarm.QUOTAS_LEFT: _quotas_left,
    Alarm.STATES_NOT_MADE: _states_not_made,
    Alarm.ZOOKEEPER_BEHIND: _zookeeper_behind,
    Alarm.UNEQUAL: _unequal,
    Alarm.UNWRITABLE: _unwritable,
    Alarm.ENDS_BROKERS: _ends_brokers,
    Alarm.KRAFT_ONLY: _kraft_only,
    Alarm.USERS_DELETED: _users_deleted,
}
