"""Repairs before any move: nodes down, half restarted, or without the migration flag. Pure.

One node at a time: a broker or controller that is down is started before another is stopped.
"""

from __future__ import annotations

from collections.abc import Iterable

from towpath.kraft.decide.gates import incomparable, takeover, unseen
from towpath.kraft.decide.moves import Facts
from towpath.kraft.facts.nodes import file_mode, is_registered, is_settled
from towpath.kraft.facts.nouns import Alarm, BrokerMode, LogState, NodeId
from towpath.kraft.facts.seen import NodeSeen
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Finding, Refused
from towpath.kraft.standing import disks
from towpath.kraft.standing.alarms import (
    behind,
    flagless,
    may_lead_empty,
    quotas_left,
    running_flagless,
    states_not_made,
    without_log,
)
from towpath.kraft.steps.await_healthy import AwaitHealthy
from towpath.kraft.steps.compare import Compare
from towpath.kraft.steps.format_controller import FormatController
from towpath.kraft.steps.restart_controller import RestartController
from towpath.kraft.steps.roll_broker import RollBroker
from towpath.kraft.steps.start_controllers import StartControllers
from towpath.kraft.steps.step import KraftStep
from towpath.kraft.steps.stop_controllers import StopControllers


def mend_controllers(facts: Facts, *, without_lost: bool = False) -> KraftStep | Refused | None:
    """Return the next step until all controllers run with the migration flag, else `None`.

    Args:
        facts: What was seen.
        without_lost: Whether a majority is enough, where the disks of others are lost.
    """
    if may_lead_empty(facts.seen):
        return logs_lost(facts)
    if (refused := disks_lost(facts, without_lost=without_lost)) is not None:
        return refused
    if (step := _all_running(facts)) is not None:
        return step
    # No other controller is restarted before: two of three would be away.
    again = None if without_lost else reformat(facts, flag=True)
    return again or _give_flag(facts, flagless(facts.seen))


def disks_lost(facts: Facts, *, without_lost: bool = False) -> Refused | None:
    """Return a refusal if controller folders are unformatted and nobody declared them lost."""
    lost = disks.unformatted(facts.seen)
    gone = disks.lost_for_all(facts.seen)
    if lost and (gone or not (without_lost or facts.lost.issuperset(lost))):
        over = facts.standing.over
        code = FindingCode.CONTROLLERS_LOST_FINAL if over else FindingCode.CONTROLLERS_LOST
        return Refused.by(Finding.of(code, controllers=gone or lost))
    return None


def reformat(facts: Facts, *, flag: bool) -> KraftStep | Refused | None:
    """Return the step that formats a controller whose disk is lost, `None` if there is none."""
    for node in disks.unformatted(facts.seen):
        gate = disks.unproven(facts.seen, node)
        return FormatController(node, flag, anew=True) if gate is None else Refused.by(gate)
    return None


def _all_running(facts: Facts) -> KraftStep | Refused | None:
    """Return the step towards all formatted controllers running; those without the log come last.

    Where nobody leads, one that has no log gives its vote to whoever asks first.
    """
    seen, there = facts.seen, [each for each in facts.controllers if each.meta]
    lacking, empty = flagless(seen), without_log(seen)
    down = tuple(each.id for each in there if not each.running)
    if seen.quorum is None:
        astray = tuple(each.id for each in there if each.running and each.id in empty)
        whole = tuple(each.id for each in there if each.id not in empty)
        # Any of them may be elected next, so none may lack the flag then.
        bad = [RestartController(node, flag=True) for node in whole if node in lacking]
        start = StartControllers(tuple(node for node in whole if node in down) or whole)
        return StopControllers(astray) if astray else bad[0] if bad else start
    if down:
        return _join(facts, down)
    if seen.log is None:
        return Refused.by(unseen(facts, FindingCode.QUORUM_UNSEEN, controllers=_ids(facts)))
    behind = disks.catching_up(seen)
    return StartControllers(behind) if behind else None


def _join(facts: Facts, down: tuple[NodeId, ...]) -> KraftStep | Refused:
    """Return the step that starts controllers which are down while others lead."""
    lacking, empty = flagless(facts.seen), without_log(facts.seen)
    unproven = (disks.unproven(facts.seen, node) for node in down if node in empty)
    if gates := tuple(each for each in unproven if each is not None):
        return Refused(gates)
    bad = [RestartController(node, flag=True) for node in down if node in lacking]
    return bad[0] if bad else StartControllers(down)


def logs_lost(facts: Facts) -> Refused:
    """Return a refusal to start controllers, as one without the metadata log could be elected."""
    lost = without_log(facts.seen)
    alarms = tuple(each.finding for each in facts.standing.alarms if each.alarm is Alarm.WIPE_AHEAD)
    return Refused((*alarms, Finding.of(FindingCode.LOGS_LOST, controllers=lost)))


def _ids(facts: Facts) -> tuple[NodeId, ...]:
    return tuple(each.id for each in facts.controllers)


def _give_flag(facts: Facts, lacking: Iterable[NodeId]) -> KraftStep | Refused | None:
    """Return the step that restarts a controller with the flag; None where none lacks it."""
    elected = facts.leader in running_flagless(facts.seen)
    if elected and facts.seen.log and facts.seen.log.state is LogState.MIGRATION:
        return Refused.by(Finding.of(FindingCode.FLAGLESS_LEADER, controller=facts.leader or 0))
    last = leader_last(facts, lacking)
    return RestartController(last[0], flag=True) if last else None


def leader_last(facts: Facts, nodes: Iterable[NodeId]) -> list[NodeId]:
    """Return controllers in restart order: the leader last."""
    return sorted(nodes, key=lambda node: (node == facts.leader, node))


def start_broker(
    facts: Facts, mode: BrokerMode, also: BrokerMode | None = None
) -> KraftStep | None:
    """Return the step that starts a stopped broker, `None` if all run.

    Args:
        facts: What was seen.
        mode: The mode to start it in.
        also: Another mode that fits the stage: it is kept where its file names it.
    """
    down = [each for each in facts.brokers if not each.running]
    if not down:
        return None
    kept = also if also is not None and file_mode(down[0]) is also else mode
    return RollBroker(down[0].id, kept)


def bring_on(facts: Facts, mode: BrokerMode) -> KraftStep | None:
    """Return the step for a broker that was reset to ZooKeeper mode; `None` if there is none.

    Behind the copy controllers fence such a broker, and it knows no topic: it comes before any
    wait, which would never end.
    """
    back = (
        each.id
        for each in facts.brokers
        if each.running and is_settled(each) and file_mode(each) is BrokerMode.ZOOKEEPER
    )
    node = next(back, None)
    return None if node is None else RollBroker(node, mode)


def await_healthy(facts: Facts) -> KraftStep | Refused | None:
    """Return the step that waits for brokers and replicas, `None` if all are in sync."""
    if (moving := takeover(facts)) is not None:
        return Refused.by(moving)
    if any(_waits(facts, each) for each in facts.brokers):
        return AwaitHealthy()
    health = facts.seen.health
    if health is None:
        return Refused.by(Finding.of(FindingCode.HEALTH_UNSEEN))
    return AwaitHealthy() if health.offline or health.under_replicated else None


def _waits(facts: Facts, node: NodeSeen) -> bool:
    """Whether a broker that runs still starts, or has not joined its cluster."""
    if not node.running:
        return False
    return node.mode is None or (is_settled(node) and not is_registered(facts.seen, node.id))


def next_broker(facts: Facts, mode: BrokerMode) -> NodeId | None:
    """Return the next broker to change to a mode; `None` once all run in it.

    A broker whose restart was cut off comes first, then those that lead fewest partitions, and the
    one that is ZooKeeper's controller last.
    """
    waiting = [each for each in facts.brokers if not (is_settled(each) and each.mode is mode)]
    controller = facts.seen.zookeeper.controller if facts.seen.zookeeper else None

    def order(node: NodeSeen) -> tuple[bool, bool, int, int]:
        decides = controller is not None and controller.id == node.id
        return (is_settled(node), decides, facts.leaders.get(node.id, 0), node.id)

    return min(waiting, key=order).id if waiting else None


def prove_equal(facts: Facts, *, probe: bool) -> KraftStep | Refused | None:
    """Return the step that waits for equal stores, `None` if they are and a probe passed.

    Args:
        facts: What was seen.
        probe: Whether a probe topic must have passed under this leader: equal contents do not
            show that later changes will still be written.
    """
    if gate := incomparable(facts):
        return Refused(gate)
    comparison, quorum = facts.seen.comparison, facts.seen.quorum
    if comparison is None or quorum is None:
        return Refused.by(Finding.of(FindingCode.NOT_COMPARED))
    if quotas_left(facts.seen) or states_not_made(facts.seen):
        return _rewrite(facts, quorum.leader)
    probed = facts.seen.proven.probed == quorum.epoch
    equal = comparison.equal and not behind(facts.seen)
    return None if equal and (probed or not probe) else Compare()


def _rewrite(facts: Facts, leader: NodeId) -> KraftStep | Refused:
    """Return the step that lets a new leader write ZooKeeper, which this one never will.

    None is elected on purpose while one without the flag might be, which would finalize, nor where
    a node that loads the log forgets users, which the next leader deletes from ZooKeeper then.
    """
    bad = {Alarm.QUOTAS_LEFT, Alarm.STATES_NOT_MADE, Alarm.USERS_DELETED}
    if flagless(facts.seen) or facts.standing.has(Alarm.USERS_DELETED):
        return Refused(tuple(each.finding for each in facts.standing.alarms if each.alarm in bad))
    return RestartController(leader, flag=True, rewrite=True)
