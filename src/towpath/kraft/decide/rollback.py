"""The rollback to ZooKeeper, from any observed stage. Pure.

The order was proven on real clusters: brokers in KRaft mode go back to migration mode while the
controllers lead; both stores are equal; the controllers are stopped; `/controller_epoch` is raised
above theirs; `/controller` and `/migration` are deleted together, before any broker is stopped
(its controlled shutdown would ask a dead controller for ever); brokers go to ZooKeeper mode; the
controllers are wiped.
"""

from __future__ import annotations

from towpath.kraft.decide.gates import takeover
from towpath.kraft.decide.moves import Decision, Facts, Move, Reached
from towpath.kraft.decide.repairs import (
    await_healthy,
    leader_last,
    mend_controllers,
    next_broker,
    prove_equal,
)
from towpath.kraft.facts.nodes import in_mode
from towpath.kraft.facts.nouns import Alarm, BrokerMode, NodeId
from towpath.kraft.facts.seen import NodeSeen
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Finding, Refused
from towpath.kraft.standing.alarms import anchor, flagless, may_lead_empty, running_flagless
from towpath.kraft.standing.disks import lost_for_all
from towpath.kraft.standing.partition_versions import lower_versions
from towpath.kraft.standing.stages import (
    Copying,
    DualWrite,
    Final,
    Finalizing,
    Headless,
    Hybrid,
    InZooKeeper,
    KnownStage,
    Mixed,
    Provisioned,
    Registering,
    StageType,
    Stranded,
)
from towpath.kraft.steps.await_healthy import AwaitHealthy
from towpath.kraft.steps.compare import Compare
from towpath.kraft.steps.mend_meta_properties import MendMetaProperties
from towpath.kraft.steps.raise_controller_epoch import RaiseControllerEpoch
from towpath.kraft.steps.raise_partition_versions import RaisePartitionVersions
from towpath.kraft.steps.release_zookeeper import ReleaseZooKeeper
from towpath.kraft.steps.roll_broker import RollBroker
from towpath.kraft.steps.step import KraftStep
from towpath.kraft.steps.stop_controllers import StopControllers
from towpath.kraft.steps.wipe_controller import WipeController


def next_step_back(facts: Facts, state: KnownStage) -> Decision:
    """Return the next step of the rollback to ZooKeeper mode.

    Where brokers would end as they start with ZooKeeper, nothing is stopped; a cluster whose
    controllers were stopped before that was seen gets a broker as its controller all the same.
    """
    decision = _back(facts, state)
    if not isinstance(decision, Move) or not facts.standing.has(Alarm.ENDS_BROKERS):
        return decision
    if isinstance(state, Headless | InZooKeeper) and not decision.step.stops_broker:
        return decision
    return alarmed(facts, Alarm.ENDS_BROKERS)


def _back(facts: Facts, state: KnownStage) -> Decision:
    decision: Decision
    match state:
        case Final() | Stranded():
            decision = Refused.by(Finding.of(FindingCode.FINAL_FOR_GOOD))
        case Finalizing():
            decision = _resume(facts, state)
        case DualWrite() | Mixed():
            decision = _to_migration(facts, state)
        case Hybrid():
            decision = _stop_equal(facts, state)
        case Copying():
            decision = Move(_stop(facts), state.stop())
        case Headless():
            decision = _release(facts, state)
        case Provisioned() | Registering():
            decision = Move(_stop(facts), state.withdraw())
        case InZooKeeper():
            decision = _tidy(facts, state)
    return decision


def move(step: KraftStep | Refused | None, to: StageType, otherwise: Decision) -> Decision:
    """Return the move of a step, a refusal unchanged, or `otherwise` if there is no step."""
    if step is None:
        return otherwise
    return step if isinstance(step, Refused) else Move(step, to)


def _resume(facts: Facts, state: Finalizing) -> Decision:
    step = mend_controllers(facts, without_lost=True)
    return move(step, state.resume(), Refused(facts.standing.doubts))


def _stop(facts: Facts) -> KraftStep:
    """Return the step that stops all controllers that run, followers first."""
    running = [each.id for each in facts.controllers if each.running]
    return StopControllers(tuple(leader_last(facts, running)))


def _to_migration(facts: Facts, state: DualWrite | Mixed) -> Decision:
    if facts.standing.has(Alarm.LOST_ANCHOR):
        return alarmed(facts, Alarm.LOST_ANCHOR)
    if (repair := mend_controllers(facts, without_lost=True)) is not None:
        return repair if isinstance(repair, Refused) else Move(repair, state.keep())
    if facts.standing.has(Alarm.UNWRITABLE):  # brokers in migration mode may get no metadata
        return alarmed(facts, Alarm.UNWRITABLE)
    node = _down(facts)
    # Brokers in migration mode get no metadata from controllers that cannot write ZooKeeper.
    repair = None if node is not None else await_healthy(facts) or prove_equal(facts, probe=True)
    if repair is not None:
        return repair if isinstance(repair, Refused) else Move(repair, state.keep())
    node = next_broker(facts, BrokerMode.MIGRATION) if node is None else node
    if node is None:
        return Move(AwaitHealthy(), state.keep())
    return Move(
        RollBroker(node, BrokerMode.MIGRATION), state.revert(_in_kraft_besides(facts, node))
    )


def _down(facts: Facts) -> NodeId | None:
    return next((each.id for each in facts.brokers if not each.running), None)


def _in_kraft_besides(facts: Facts, node: NodeId) -> int:
    """Return how many brokers are registered in KRaft mode besides one."""
    registered = facts.seen.log.brokers.values() if facts.seen.log else ()
    return sum(not each.migrating and each.id != node for each in registered)


def _stop_equal(facts: Facts, state: Hybrid) -> Decision:
    lost = facts.standing.has(Alarm.LOST_ANCHOR)
    if lost and (facts.seen.comparison is None or not facts.seen.comparison.equal):
        return alarmed(facts, Alarm.LOST_ANCHOR)
    if in_mode(facts.seen, BrokerMode.KRAFT):
        return _cut_off(facts, state)
    lacking = running_flagless(facts.seen)
    flags = mend_controllers(facts, without_lost=True) if lacking else None
    synced = None if lost or takeover(facts) is not None else _all_in_sync(facts)
    repair = flags or synced or prove_equal(facts, probe=False) or _versions(facts)
    return move(repair, state.revert(), Move(_stop(facts), state.stop()))


def _versions(facts: Facts) -> KraftStep | None:
    """Return the step that raises ZooKeeper's versions of partition states to the log's.

    Behind the stop a leader would skip each new leader epoch until ZooKeeper's version has reached
    its own, and its followers, who know of that epoch, could not fetch from it meanwhile.
    """
    lower = lower_versions(facts.seen)
    return RaisePartitionVersions(len(lower)) if lower else None


def _all_in_sync(facts: Facts) -> KraftStep | Refused | None:
    """Return the step towards all replicas being in sync, before the controllers are stopped.

    Each store has its own version of a partition's state, and a leader keeps that of the metadata
    log until its leader epoch is raised. Where ZooKeeper's is higher, its controller refuses each
    change of the ISR until then, so a replica that is not in sync by now may not get in by itself
    (`towpath.kraft.do.stale_leaders`).
    """
    node = _down(facts)
    return await_healthy(facts) if node is None else RollBroker(node, BrokerMode.MIGRATION)


def _cut_off(facts: Facts, state: Hybrid) -> Decision:
    """Return the step for a broker whose restart in KRaft mode was cut off."""
    node = _down(facts)
    if node is None and (repair := await_healthy(facts)) is not None:
        return move(repair, state.revert(), Refused(()))
    node = next_broker(facts, BrokerMode.MIGRATION) if node is None else node
    if node is None:
        return Move(AwaitHealthy(), state.revert())
    return Move(RollBroker(node, BrokerMode.MIGRATION), state.revert())


def _release(facts: Facts, state: Headless) -> Decision:
    if may_lead_empty(facts.seen) and any(each.running for each in facts.controllers):
        return Move(_stop(facts), state.guard())
    if in_mode(facts.seen, BrokerMode.KRAFT) or not _is_released_safely(facts):
        step = mend_controllers(facts, without_lost=True)
        return move(step, state.start(), Refused(facts.standing.doubts))
    if any(each.running for each in facts.controllers):
        return Move(_stop(facts), state.guard())
    guard = _guard(facts)
    if guard is not None:
        return Move(guard, state.guard())
    controller, znode = facts.zookeeper.controller, facts.zookeeper.migration
    release = ReleaseZooKeeper(
        controller.version if controller else None, znode.version if znode else None
    )
    return Move(release, state.release())


def _is_released_safely(facts: Facts) -> bool:
    """Whether ZooKeeper is known to hold everything: nothing was copied yet, or it was equal."""
    controller, znode = facts.zookeeper.controller, anchor(facts.seen)
    if znode is not None and znode.offset < 0:
        return True
    proven = controller is not None and facts.seen.proven.stopped == controller.kraft_epoch
    if may_lead_empty(facts.seen) or lost_for_all(facts.seen):
        # Nothing else is left, and both were equal at each look.
        proven = proven or facts.seen.proven.equal_since is not None
    elif facts.standing.has(Alarm.WIPE_AHEAD):
        return True
    # Somebody may have started them without the flag since, which finalizes.
    return proven and not flagless(facts.seen)


def _guard(facts: Facts) -> RaiseControllerEpoch | None:
    """Return the step that puts `/controller_epoch` above all epochs that controllers used.

    What they wrote to ZooKeeper, and told the brokers, has the epoch that `/controller` names.
    """
    zookeeper, quorum = facts.zookeeper, facts.seen.quorum
    if zookeeper.controller_epoch is None:
        return None
    epoch, version = zookeeper.controller_epoch
    used = max(
        zookeeper.controller.kraft_epoch if zookeeper.controller else -1,
        zookeeper.migration.controller_epoch if zookeeper.migration else -1,
        quorum.epoch if quorum else -1,
    )
    return RaiseControllerEpoch(used + 1, version) if epoch <= used else None


def _tidy(facts: Facts, state: InZooKeeper) -> Decision:
    znode = facts.zookeeper.migration
    step: KraftStep | Refused | None = None
    if any(each.running for each in facts.controllers):
        step = _stop(facts)
    elif znode is not None:
        step = ReleaseZooKeeper(None, znode.version)
    else:
        step = _to_zookeeper(facts) or _wipe(facts)
    return move(step, state.tidy(), Reached(state.stage))


def _to_zookeeper(facts: Facts) -> KraftStep | Refused | None:
    node = _down(facts)
    if node is None and (wait := await_healthy(facts)) is not None:
        return wait
    node = next_broker(facts, BrokerMode.ZOOKEEPER) if node is None else node
    if node is None:
        return None
    return _mend_meta(facts.seen.brokers[node]) or RollBroker(node, BrokerMode.ZOOKEEPER)


def _mend_meta(node: NodeSeen) -> KraftStep | None:
    """Return the step for a folder that was formatted: ZooKeeper mode reads version 0 alone."""
    newer = (each.directory for each in node.meta if each.version != 0)
    directory = next(newer, None)
    return None if directory is None else MendMetaProperties(node.id, directory)


def _wipe(facts: Facts) -> KraftStep | None:
    """Return what ends a rollback: a probe topic under the new controller, then the wipes."""
    cluster = facts.zookeeper.cluster_id
    formatted = [
        each.id
        for each in facts.controllers
        if any((at.cluster_id, at.node) == (cluster, each.id) for at in each.meta)
    ]
    if not formatted:
        return None
    epoch = facts.zookeeper.controller_epoch
    if epoch is not None and facts.seen.proven.probed != epoch[0]:
        return Compare()
    return WipeController(formatted[0])


def alarmed(facts: Facts, *alarms: Alarm) -> Refused:
    """Return a refusal with the raised alarms among the given ones."""
    return Refused(tuple(each.finding for each in facts.standing.alarms if each.alarm in alarms))
