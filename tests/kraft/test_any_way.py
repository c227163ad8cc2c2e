"""From whatever is reached, by steps, cuts and kills, each goal is reached or refused. Pure.

A walk does steps towards changing goals, stops in the middle of them, kills nodes, moves the
leader, and loses the journal and the disk of a controller. Then each goal is asked for, and no step
on the way breaks a law.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.support.kraft.decisions import next_step
from tests.support.kraft.laws import broken
from tests.support.kraft.worlds import (
    end,
    kraft_config,
    start,
    start_of,
    with_broker,
    with_controller,
)
from tests.support.session.examples import examples
from towpath.kraft.config.file import KraftConfig
from towpath.kraft.decide.moves import Reached
from towpath.kraft.facts.nouns import Goal, NodeId, Stage
from towpath.kraft.facts.seen import Health, Observation, Proven
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Refused
from towpath.kraft.standing.disks import unformatted
from towpath.kraft.standing.states import stage_of
from towpath.kraft.steps.elections import by_itself, elected
from towpath.kraft.steps.step import KraftStep

_MOST = 120
_COPIED = {Stage.HYBRID, Stage.MIXED, Stage.DUAL_WRITE, Stage.FINALIZING, Stage.FINAL}
_CONFIGS = {(b, c): kraft_config(b, c) for b in (1, 2, 3) for c in (1, 3)}


def _watched(seen: Observation) -> Observation:
    """Return an observation with the health that its brokers leave."""
    away = not all(each.running for each in seen.brokers.values())
    return replace(seen, health=Health(under_replicated=("t-0",) if away else ()))


def _do(config: KraftConfig, seen: Observation, step: KraftStep, effects: int = 99) -> Observation:
    assert broken(seen, step) == (), (broken(seen, step), step, seen)
    done = [seen, *step.effects(config, seen)]
    last = done[min(effects, len(done) - 1)]
    return _watched(by_itself(last))


_SETUP = (Goal.DUAL_WRITE, Goal.ZOOKEEPER, Goal.DUAL_WRITE, Goal.FINAL)
_ACTIONS = st.one_of(
    st.tuples(st.just("steps"), st.sampled_from(_SETUP), st.integers(1, 12)),
    st.tuples(st.just("cut"), st.sampled_from(_SETUP), st.integers(0, 4)),
    st.tuples(st.just("kill"), st.just(Goal.FINAL), st.integers(0, 5)),
    st.tuples(st.just("back"), st.just(Goal.FINAL), st.integers(0, 5)),
    st.tuples(st.just("forget"), st.just(Goal.FINAL), st.just(0)),
    st.tuples(st.just("replace"), st.just(Goal.FINAL), st.integers(0, 2)),
    st.tuples(st.just("lose"), st.just(Goal.FINAL), st.integers(0, 2)),
)
_Action = tuple[str, Goal, int]


def _act(config: KraftConfig, seen: Observation, action: _Action) -> Observation:
    what, goal, number = action
    match what:
        case "steps":
            for _ in range(number):
                step = next_step(config, seen, goal)
                if isinstance(step, Reached | Refused):
                    break
                seen = _do(config, seen, step)
        case "cut":
            step = next_step(config, seen, goal)
            if not isinstance(step, Reached | Refused):
                seen = _do(config, seen, step, number)
        case "forget":
            seen = replace(seen, proven=Proven())
        case "replace" | "lose":
            change, first = (_replaced, 0) if what == "replace" else (_lost, 3000)
            seen = change(seen, NodeId(first + number))
        case _:
            nodes = [*seen.brokers.values(), *seen.controllers.values()]
            node = nodes[number % len(nodes)]
            if what == "kill" and node.running:
                seen = end(seen, node)
            elif what == "back" and not node.running and node.meta:
                seen = start(seen, node)
    return _watched(by_itself(seen))


def _replaced(seen: Observation, node: NodeId) -> Observation:
    """Return a cluster in which a broker has a new disk, formatted by the storage tool."""
    if node not in seen.brokers or seen.log is None or stage_of(seen).stage is not Stage.DUAL_WRITE:
        return seen
    meta = tuple(replace(each, version=1) for each in seen.brokers[node].meta)
    return with_broker(seen, node, meta=meta)


def _lost(seen: Observation, node: NodeId) -> Observation:
    """Return a cluster in which one of three controllers has lost its disk behind the copy."""
    whole = [each.id for each in seen.controllers.values() if each.meta and each.id != node]
    copied = stage_of(seen).stage in _COPIED
    if not copied or node not in seen.controllers or len(whole) < 2:
        return seen
    seen = end(seen, seen.controllers[node])
    return elected(with_controller(seen, node, meta=()))


def _reach(config: KraftConfig, seen: Observation, goal: Goal) -> Reached | Refused:
    for _ in range(_MOST):
        step = next_step(config, seen, goal, frozenset(unformatted(seen)))
        if isinstance(step, Reached | Refused):
            return step
        seen = _do(config, seen, step)
    raise AssertionError(f"no end towards {goal}: {stage_of(seen)}")


@examples(2)
@given(st.sampled_from(sorted(_CONFIGS)), st.lists(_ACTIONS, max_size=12), st.integers(0, 9))
def test_each_goal_is_reached_or_refused_and_no_law_is_broken(
    sizes: tuple[int, int], actions: list[_Action], epoch: int
) -> None:
    config = _CONFIGS[sizes]
    seen = start_of(config, epoch=epoch)
    for action in actions:
        seen = _act(config, seen, action)
    for goal in Goal:
        final = stage_of(seen).stage is Stage.FINAL
        end_of_it = _reach(config, seen, goal)
        if isinstance(end_of_it, Refused):
            codes = {each.code for each in end_of_it.reasons}
            assert codes == {FindingCode.FINAL_FOR_GOOD}, [str(each) for each in end_of_it.reasons]
            assert goal is Goal.ZOOKEEPER
            # It may have been finalized on the way only if it was being finalized before.
            assert final or _was_finalizing(seen), stage_of(seen)
        elif goal is Goal.FINAL or final:
            assert end_of_it.stage is Stage.FINAL
        elif goal is Goal.ZOOKEEPER:
            assert end_of_it.stage is Stage.ZOOKEEPER


def _was_finalizing(seen: Observation) -> bool:
    flags = (
        each.properties.get("zookeeper.metadata.migration.enable")
        for each in seen.controllers.values()
        if each.properties
    )
    return any(flag != "true" for flag in flags)
