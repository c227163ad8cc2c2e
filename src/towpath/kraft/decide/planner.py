"""The planner: from an observation to the next safe step towards a goal. Pure.

Each step may be cut off anywhere. What is seen then leads to the rest of it, or to its repair,
before anything else is touched.
"""

from __future__ import annotations

from towpath.kraft.decide.gates import (
    elsewhere,
    gate_finalize,
    gate_to_kraft,
    gate_to_migration,
    nodes_elsewhere,
    nodes_unseen,
    not_in_file,
    still_migrating,
    unseen,
)
from towpath.kraft.decide.moves import Decision, Facts, Move, Reached
from towpath.kraft.decide.preflight.preflight import static
from towpath.kraft.decide.repairs import (
    await_healthy,
    bring_on,
    disks_lost,
    leader_last,
    logs_lost,
    mend_controllers,
    next_broker,
    prove_equal,
    reformat,
    start_broker,
)
from towpath.kraft.decide.rollback import alarmed, move, next_step_back
from towpath.kraft.facts.nouns import Alarm, BrokerMode, Goal, NodeId
from towpath.kraft.facts.seen import has_flag
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Finding, Refused, stops
from towpath.kraft.standing.alarms import may_lead_empty
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
    Stranded,
    Unknown,
)
from towpath.kraft.steps.await_copy import AwaitCopy
from towpath.kraft.steps.await_final import AwaitFinal
from towpath.kraft.steps.await_healthy import AwaitHealthy
from towpath.kraft.steps.format_controller import FormatController
from towpath.kraft.steps.restart_controller import RestartController
from towpath.kraft.steps.roll_broker import RollBroker
from towpath.kraft.steps.start_controllers import StartControllers
from towpath.kraft.steps.step import KraftStep, WritingStep


def decide(facts: Facts, goal: Goal) -> Decision:
    """Return the next safe step and why, or that the goal is reached, or why no step is safe.

    The goal FINAL must have been confirmed by a person before it is asked for; so must it have
    been that the disks of controllers are lost for good.
    """
    state = facts.standing.typed
    if isinstance(state, Unknown):
        return Refused(facts.standing.doubts)
    missing = _missing(facts, state)
    if missing:
        return Refused(missing)
    found = next_step_back(facts, state) if goal is Goal.ZOOKEEPER else _forward(facts, state, goal)
    if isinstance(found, Move) and isinstance(found.step, WritingStep):
        made = found.step.properties(facts.config, facts.seen)
        return made if isinstance(made, Refused) else found
    return found


def _missing(facts: Facts, state: KnownStage) -> tuple[Finding, ...]:
    """Return what must be seen before any step is planned, and is not."""
    found = []
    if (away := nodes_unseen(facts)) is not None:
        found.append(away)
    if facts.seen.zookeeper is None and not isinstance(state, Final | Stranded):
        found.append(unseen(facts, FindingCode.ZOOKEEPER_UNSEEN))
    leader = facts.seen.controllers.get(facts.leader) if facts.leader is not None else None
    if leader is not None and not leader.running:
        found.append(Finding.of(FindingCode.CONTROLLERS_ELSEWHERE, controller=leader.id))
    others = (nodes_elsewhere(facts), not_in_file(facts), elsewhere(facts))
    return (*found, *(each for each in others if each is not None))


def _forward(facts: Facts, state: KnownStage, goal: Goal) -> Decision:
    if barred := _barred(facts, state):
        return Refused(barred)
    decision: Decision
    match state:
        case InZooKeeper():
            decision = _provision(facts, state)
        case Provisioned() | Registering():
            decision = _register(facts, state)
        case Copying():
            step = mend_controllers(facts) or AwaitCopy()
            decision = move(step, state.settle(), Reached(state.stage))
        case Hybrid() | Mixed():
            decision = _convert(facts, state)
        case DualWrite():
            decision = _dual_write(facts, state, goal)
        case Finalizing():
            decision = _finish(facts, state, goal)
        case Headless():
            decision = move(mend_controllers(facts), state.start(), Refused(()))
        case Stranded() | Final():
            decision = _settle(facts, state, goal)
    return decision


def _barred(facts: Facts, state: KnownStage) -> tuple[Finding, ...]:
    """Return what forbids any step forward: alarms, and before the copy what preflight stops."""
    alarms = alarmed(facts, Alarm.NEVER_MIGRATABLE, Alarm.WIPE_AHEAD, Alarm.LOST_ANCHOR).reasons
    if may_lead_empty(facts.seen) and not isinstance(state, Final | Stranded):
        alarms += logs_lost(facts).reasons
    if isinstance(state, Hybrid | Mixed | DualWrite):
        alarms += alarmed(facts, Alarm.USERS_DELETED).reasons
    before_copy = isinstance(state, InZooKeeper | Provisioned | Registering)
    found = (*alarms, *stops(static(facts))) if before_copy else alarms
    return tuple(dict.fromkeys(found))


def _provision(facts: Facts, state: InZooKeeper) -> Decision:
    fresh = [each.id for each in facts.controllers if not each.meta]
    if fresh:
        return Move(FormatController(fresh[0]), state.tidy())
    step = mend_controllers(facts)
    every = StartControllers(tuple(each.id for each in facts.controllers))
    return move(step or every, state.provision(), Reached(state.stage))


def _register(facts: Facts, state: Provisioned | Registering) -> Decision:
    fresh = [each.id for each in facts.controllers if not each.meta and not each.running]
    if fresh:
        return Move(FormatController(fresh[0]), state.keep())
    if (repair := mend_controllers(facts)) is not None:
        return move(repair, state.keep(), Reached(state.stage))
    if gate := gate_to_migration(facts):
        return Refused(gate)
    step = start_broker(facts, BrokerMode.MIGRATION) or await_healthy(facts)
    if step is not None:
        return move(step, state.register(), Reached(state.stage))
    node = next_broker(facts, BrokerMode.MIGRATION)
    if node is not None:
        return Move(RollBroker(node, BrokerMode.MIGRATION), state.register())
    return Move(AwaitCopy(), state.register().copy())


def _convert(facts: Facts, state: Hybrid | Mixed) -> Decision:
    equal = prove_equal(facts, probe=True)
    ends = facts.standing.has(Alarm.ENDS_BROKERS)
    also = BrokerMode.KRAFT if equal is None else None
    mode = BrokerMode.KRAFT if ends else BrokerMode.MIGRATION
    repair = (
        mend_controllers(facts)
        or start_broker(facts, mode, also)
        or bring_on(facts, mode)
        or await_healthy(facts)
        or equal
    )
    if repair is not None:
        to = state.convert(_migrating(facts)) if isinstance(repair, RollBroker) else state.keep()
        return move(repair, to, Reached(state.stage))
    node = next_broker(facts, BrokerMode.KRAFT)
    if (gate := gate_to_kraft(facts, node)) or node is None:
        return Refused(gate)
    return Move(RollBroker(node, BrokerMode.KRAFT), state.convert(_migrating(facts, node)))


def _migrating(facts: Facts, besides: NodeId | None = None) -> int:
    """Return how many brokers are registered as migrating, besides one."""
    registered = facts.seen.log.brokers.values() if facts.seen.log else ()
    return sum(each.migrating and each.id != besides for each in registered)


def _dual_write(facts: Facts, state: DualWrite, goal: Goal) -> Decision:
    repair = (
        mend_controllers(facts)
        or start_broker(facts, BrokerMode.KRAFT)
        or bring_on(facts, BrokerMode.KRAFT)
        or await_healthy(facts)
        or _cut_off(facts)
        or prove_equal(facts, probe=True)
    )
    if repair is not None or goal is Goal.DUAL_WRITE:
        return move(repair, state.keep(), Reached(state.stage))
    if gate := gate_finalize(facts):
        return Refused(gate)
    first, *_others = leader_last(facts, (each.id for each in facts.controllers))
    return Move(RestartController(first, flag=False), state.finalize())


def _cut_off(facts: Facts) -> KraftStep | None:
    """Return the step for a broker whose restart back to migration mode was cut off."""
    node = next_broker(facts, BrokerMode.KRAFT)
    return None if node is None else RollBroker(node, BrokerMode.KRAFT)


def _finish(facts: Facts, state: Finalizing, goal: Goal) -> Decision:
    if goal is Goal.DUAL_WRITE:
        return move(mend_controllers(facts), state.resume(), Reached(state.stage))
    if migrating := still_migrating(facts):
        return Refused.by(migrating)
    if (replaced := disks_lost(facts) or reformat(facts, flag=True)) is not None:
        return move(replaced, state.finalize(), Reached(state.stage))
    step = start_broker(facts, BrokerMode.KRAFT) or _without_flag(facts)
    if isinstance(step, RestartController):  # also behind one that somebody restarted by hand
        repair = await_healthy(facts) or prove_equal(facts, probe=True)
        if repair is not None:
            return move(repair, state.finalize(), Reached(state.stage))
        if gate := gate_finalize(facts):
            return Refused(gate)
    return Move(AwaitFinal() if step is None else step, state.finalize())


def _without_flag(facts: Facts) -> KraftStep | None:
    """Return the step towards all controllers running without the flag, the leader last."""
    down = [each for each in facts.controllers if not each.running]
    if down:
        if has_flag(down[0].properties):
            return RestartController(down[0].id, flag=False)
        return StartControllers(tuple(each.id for each in down if not has_flag(each.properties)))
    still = (
        each.id for each in facts.controllers if each.flag is not False or has_flag(each.properties)
    )
    ordered = leader_last(facts, still)
    return RestartController(ordered[0], flag=False) if ordered else None


def _settle(facts: Facts, state: Stranded | Final, goal: Goal) -> Decision:
    if isinstance(state, Stranded):
        down = tuple(each.id for each in facts.controllers if not each.running)
        step: KraftStep | None = StartControllers(down) if down else None
        step = step or start_broker(facts, BrokerMode.KRAFT) or _cut_off(facts)
        return move(step or AwaitHealthy(), state.rescue(), Reached(state.stage))
    if goal is Goal.DUAL_WRITE and not facts.lost:
        return Reached(state.stage)
    if (replaced := disks_lost(facts) or reformat(facts, flag=False)) is not None:
        return move(replaced, state, Reached(state.stage))
    repair = _without_flag(facts) or start_broker(facts, BrokerMode.KRAFT) or await_healthy(facts)
    return move(repair, state, Reached(state.stage))
