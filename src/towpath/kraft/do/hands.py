"""Does the steps of a migration, each so that it may be cut off anywhere and done again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from threading import Event

from towpath.kraft.config.file import KraftConfig
from towpath.kraft.do.brokers import await_healthy, mend_meta_properties, roll_broker
from towpath.kraft.do.controllers import (
    format_controller,
    restart_controller,
    start_controllers,
    stop_controllers,
    wipe_controller,
)
from towpath.kraft.do.probe import Probing, probe
from towpath.kraft.do.tools import StepFacts, Tools, since
from towpath.kraft.do.waiting import Look, Missing, StepWaits, Tell
from towpath.kraft.errors import StepLateError, StepRefusedError
from towpath.kraft.facts.nouns import LogState, NodeId
from towpath.kraft.facts.seen import Observation
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Finding
from towpath.kraft.journal import KraftEvent, KraftJournal
from towpath.kraft.reach.driver import Driver
from towpath.kraft.standing.alarms import quotas_left
from towpath.kraft.standing.partition_versions import lower_versions
from towpath.kraft.steps.kinds import (
    AwaitCopy,
    AwaitFinal,
    AwaitHealthy,
    Compare,
    FormatController,
    MendMetaProperties,
    RaiseControllerEpoch,
    RaisePartitionVersions,
    ReleaseZooKeeper,
    RestartController,
    RollBroker,
    StartControllers,
    Step,
    StopControllers,
    WipeController,
)
from towpath.kraft.zookeeper.client import ZooKeeper
from towpath.kraft.zookeeper.write import CONTROLLER, MIGRATION, ReleasedZnodes
from towpath.model.deadline import Deadline
from towpath.model.errors import TowpathError

_NAMED = 3
"""Number of differences that a sentence names."""
_LOST = 10.0
"""Seconds that a deleted quota may be in ZooKeeper: setting it anew, which writes it, ends that."""
_LOG_LINES = 2_000
_FAULTS = "zk migration fault", "MigrationClientException"
"""What the log of a controller has where a write to ZooKeeper failed (`KRaftMigrationDriver`)."""


NodeStep = (
    FormatController
    | StartControllers
    | RestartController
    | StopControllers
    | WipeController
    | RollBroker
    | MendMetaProperties
    | AwaitHealthy
)
"""A step that brokers or controllers are restarted, stopped or waited for in."""


class Hands:
    """Does steps.

    Args:
        config: The file.
        drivers: One for each node.
        zookeeper: An open session.
        look: Looks at the whole cluster.
        journal: Keeps originals of files and znodes.
    """

    def __init__(
        self,
        config: KraftConfig,
        drivers: Mapping[NodeId, Driver],
        zookeeper: ZooKeeper,
        look: Look,
        journal: KraftJournal,
    ) -> None:
        self._journal = journal
        self._config, self._drivers = config, drivers
        self._zookeeper, self._look = zookeeper, look

    def do(self, step: Step, tell: Tell, stop: Event) -> StepFacts:
        """Do a step, and return its facts; it is done when this returns.

        Args:
            step: The step.
            tell: Is told what is waited for.
            stop: Once it is set, waits end as soon as nothing of the step must follow.

        Raises:
            StepStoppedError: The user asked to end, and the step was waiting.
            StepLateError: What the step waits for did not come in time.
            NodeEndedError: A node ended by itself.
            StepRefusedError: The step would destroy something.
            DriverError: A node's host refused.
            ZooKeeperError: ZooKeeper refused, or holds something else than the step expects.
            ClusterError: The brokers refused the probe topic.
        """
        waits = StepWaits(self._config.limits, self._drivers, self._look, tell, stop)
        return self._act(step, Tools(self._config, self._drivers, waits, self._journal))

    def _act(self, step: Step, tools: Tools) -> StepFacts:
        match step:
            case AwaitCopy():
                return _await("ZooKeeper is copied into the metadata log", _not_copied, tools)
            case AwaitFinal():
                return _await("the migration is over in the metadata log", _not_final, tools)
            case Compare():
                return self._compare(tools)
            case RaiseControllerEpoch() | RaisePartitionVersions() | ReleaseZooKeeper():
                return self._write(step, tools)
            case _:
                return _on_nodes(step, tools)

    def _compare(self, tools: Tools) -> StepFacts:
        began, seen = time.monotonic(), tools.waits.now()
        if seen.log is not None and seen.log.state is LogState.MIGRATION:
            _await_equal(tools)
        equal, seconds = since(began), float(self._config.limits.copy_)
        read, waits = self._zookeeper.read, tools.waits
        cluster, journal = self._config.cluster, self._journal
        probing = Probing(cluster, read, journal, "copy", seconds, waits.tell, waits.stop)
        times = probe(probing)
        return {
            "equal_seconds": equal,
            "created_seconds": round(times.created, 3),
            "deleted_seconds": round(times.deleted, 3),
        }

    def _write(
        self, step: RaiseControllerEpoch | RaisePartitionVersions | ReleaseZooKeeper, tools: Tools
    ) -> StepFacts:
        match step:
            case RaiseControllerEpoch():
                return self._raise_epoch(step)
            case RaisePartitionVersions():
                return self._raise_versions(tools)
            case ReleaseZooKeeper():
                return self._release(step, tools)

    def _raise_epoch(self, step: RaiseControllerEpoch) -> StepFacts:
        self._zookeeper.raise_epoch(step.to, step.version, self._patience)
        return {"to": step.to}

    def _raise_versions(self, tools: Tools) -> StepFacts:
        began = time.monotonic()
        lower = lower_versions(tools.waits.now())
        writes = self._zookeeper.raise_versions(lower, self._patience)
        return {"partitions": len(lower), "writes": writes, "seconds": since(began)}

    def _release(self, step: ReleaseZooKeeper, tools: Tools) -> StepFacts:
        began = time.monotonic()
        released = self._zookeeper.release(
            step.controller, step.migration, self._patience, self._keep_znodes
        )
        left = "ZooKeeper was released: `/controller` and `/migration` of KRaft are deleted"
        what = "a broker is controller in ZooKeeper"
        tools.waits.until(what, "start", _not_led, left=lambda: left)
        return {
            "controller": released.controller,
            "migration": released.migration,
            "seconds": since(began),
        }

    def _keep_znodes(self, znodes: ReleasedZnodes) -> None:
        told = {CONTROLLER: znodes.controller, MIGRATION: znodes.migration}
        self._journal.add(KraftEvent.DELETED, znodes=told)

    @property
    def _patience(self) -> Deadline:
        return Deadline.after(self._config.limits.start)


def _on_nodes(step: NodeStep, tools: Tools) -> StepFacts:
    match step:
        case FormatController() | StartControllers() | RestartController():
            return _on_controllers(step, tools)
        case StopControllers():
            return stop_controllers(tools, step)
        case WipeController():
            return wipe_controller(tools, step)
        case RollBroker():
            return roll_broker(tools, step)
        case MendMetaProperties():
            return mend_meta_properties(tools, step)
        case AwaitHealthy():
            return await_healthy(tools)


def _on_controllers(
    step: FormatController | StartControllers | RestartController, tools: Tools
) -> StepFacts:
    match step:
        case FormatController():
            return format_controller(tools, step)
        case StartControllers():
            return start_controllers(tools, step)
        case RestartController():
            return restart_controller(tools, step)


def _await(what: str, missing: Missing, tools: Tools) -> StepFacts:
    began = time.monotonic()
    tools.waits.until(what, "copy", missing)
    return {"seconds": since(began)}


def _not_copied(seen: Observation) -> str | None:
    if seen.log is None or seen.zookeeper is None:
        return "the metadata log or ZooKeeper was not seen"
    if seen.log.copying:
        return "the copy is being written"
    if seen.log.state is not LogState.MIGRATION:
        migrating = sorted(each.id for each in seen.log.brokers.values() if each.migrating)
        return f"the metadata log says {seen.log.state}; registered are brokers {migrating}"
    znode = seen.zookeeper.migration
    return None if znode is not None and znode.offset >= 0 else "/migration is not written yet"


def _await_equal(tools: Tools) -> None:
    """Wait until both stores are equal; what comes too late is told with the leader's own errors.

    Raises:
        StepRefusedError: A quota was deleted that the leader never deletes from ZooKeeper.
        StepLateError: They were not equal in time.
    """
    since: float | None = None
    last: Observation | None = None

    def missing(seen: Observation) -> str | None:
        nonlocal since, last
        last, left = seen, quotas_left(seen)
        since = None if not left else since if since is not None else time.monotonic()
        if since is not None and time.monotonic() - since > _LOST:
            raise StepRefusedError("Compare", Finding.of(FindingCode.QUOTAS_LEFT, quotas=left).what)
        return _not_equal(seen)

    try:
        tools.waits.until("ZooKeeper and the metadata log are equal", "copy", missing)
    except StepLateError as late:
        found = late.found + _said_by_leader(tools, last)
        raise StepLateError(late.what, late.seconds, late.limit, found) from None


def _said_by_leader(tools: Tools, seen: Observation | None) -> str:
    """Return the last line about a failed write to ZooKeeper in the log of the leader, for people.

    What cannot be read, or is not there, is left out: the log may be elsewhere.
    """
    quorum = seen.quorum if seen is not None else None
    if quorum is None or quorum.leader not in tools.drivers:
        return ""
    lines: list[str] = []
    with suppress(TowpathError):
        lines = tools.drivers[quorum.leader].log(_LOG_LINES).splitlines()
    said = [each for each in lines if any(word in each for word in _FAULTS)]
    return f"; the log of controller {quorum.leader} says: {said[-1].strip()}" if said else ""


def _not_equal(seen: Observation) -> str | None:
    if seen.comparison is None:
        return "ZooKeeper and the metadata log could not be compared"
    found = seen.comparison.differences
    if not found:
        return None
    named = "; ".join(
        f"{each.kind} {each.name}: ZooKeeper has {each.zookeeper or 'nothing'}, the log"
        f" {each.log or 'nothing'}"
        for each in found[:_NAMED]
    )
    return f"{len(found)} differences: {named}"


def _not_final(seen: Observation) -> str | None:
    if seen.log is None:
        return "the metadata log was not seen"
    state = seen.log.state
    return None if state is LogState.POST_MIGRATION else f"the metadata log says {state}"


def _not_led(seen: Observation) -> str | None:
    if seen.zookeeper is None:
        return "ZooKeeper was not seen"
    holder = seen.zookeeper.controller
    if holder is None:
        return "/controller does not exist yet"
    if holder.kraft_epoch >= 0 or not holder.ephemeral:
        return f"/controller names controller {holder.id} of KRaft"
    return None
