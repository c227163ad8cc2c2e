"""Decisions of a migration as their steps alone, which most tests of the planner look at."""

from __future__ import annotations

from towpath.kraft.config import KraftConfig
from towpath.kraft.decide.moves import Facts, Move, Reached
from towpath.kraft.decide.planner import decide
from towpath.kraft.facts.nouns import Goal, NodeId
from towpath.kraft.facts.seen import Observation
from towpath.kraft.findings.findings import Refused
from towpath.kraft.steps.step import KraftStep


def next_step(
    config: KraftConfig, seen: Observation, goal: Goal, lost: frozenset[NodeId] = frozenset()
) -> KraftStep | Reached | Refused:
    """Return the next safe step, or that the goal is reached, or why no step is safe."""
    decision = decide(Facts.of(config, seen, lost), goal)
    return decision.step if isinstance(decision, Move) else decision
