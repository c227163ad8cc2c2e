"""Validating and applying of steps, each only if the target is still as required."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from towpath.cluster.admin import Admin
from towpath.cluster.admin.holders import own
from towpath.cluster.metadata import Answers
from towpath.group_configs.observe import PATHS
from towpath.group_configs.steps import HolderStep, SetHolderConfig
from towpath.model.amounts import counted
from towpath.model.errors import ClusterError, RefusedError, StepOutdatedError
from towpath.model.findings import Cause, Problem
from towpath.model.holders import ConfigHolder
from towpath.model.outcome import Changed
from towpath.plan.subject import CheckedSteps

_Place = tuple[ConfigHolder, str]
_SOME = 3


def checked(steps: Sequence[HolderStep], target: Admin) -> CheckedSteps[HolderStep]:
    """Let the target validate steps, and return the accepted ones.

    Configs of a group are checked together, as some depend on each other; where they are refused,
    each is tried with those that were accepted before it.

    Raises:
        ClusterError: The target cannot be asked.
    """
    refused: dict[int, RefusedError] = {}
    for holder, places in _parted(steps).items():
        whole = target.holders.check(holder, {n: _configs(some) for n, some in places.items()})
        for name in whole:
            refused |= _tried(holder, name, places[name], target)
    kept = tuple(step for step in steps if id(step) not in refused)
    errors = [(step, refused[id(step)]) for step in steps if id(step) in refused]
    return CheckedSteps(kept, problems=tuple(_problems(errors)))


def _tried(
    holder: ConfigHolder, name: str, steps: Sequence[HolderStep], target: Admin
) -> dict[int, RefusedError]:
    refused: dict[int, RefusedError] = {}
    kept: list[HolderStep] = []
    for step in steps:
        error = target.holders.check(holder, {name: _configs([*kept, step])}).get(name)
        if error is None:
            kept.append(step)
        else:
            refused[id(step)] = error
    return refused


def _problems(errors: Iterable[tuple[HolderStep, RefusedError]]) -> Iterable[Problem]:
    """Yield a problem for each refused config; one for all where the login lacks the right."""
    forbidden: defaultdict[ConfigHolder, list[tuple[HolderStep, RefusedError]]] = defaultdict(list)
    for step, error in errors:
        if error.forbidden:
            forbidden[step.holder].append((step, error))
            continue
        value = step.value if isinstance(step, SetHolderConfig) else "its default"
        text = (
            f"{step.key}={value} is not copied: the target refuses it: {error.name}"
            f" ({error.error}); {error.advice}; exclude the config under"
            " `groups.configs.exclude`, or change it"
        )
        yield Problem(step.name, text, Cause.SUBJECT)
    for holder, found in forbidden.items():
        names = sorted({step.name for step, _ in found})
        more = (
            "" if len(names) == 1 else f"; the same goes for {counted(len(names), 'name')} in all"
        )
        shown = "" if len(names) == 1 else f" ({', '.join(names[:_SOME])})"
        yield Problem(PATHS[holder], f"{found[0][1]}{more}{shown}", Cause.RIGHTS)


def present(steps: Iterable[HolderStep], target: Admin) -> frozenset[str]:
    """Return the configs that steps change and that are set on the target.

    Raises:
        ClusterError: The target cannot be asked.
    """
    wanted = list(steps)
    there = _now(wanted, target)
    return frozenset(
        step.about for step in wanted if step.key in there.get((step.holder, step.name), {})
    )


def apply_all(steps: Sequence[HolderStep], target: Admin) -> Changed:
    """Apply steps together; a config that already has the wanted value counts as done.

    Raises:
        ClusterError: The target cannot be asked, or did not answer.
    """
    changed = Changed()
    there, due = _now(steps, target), []
    for step in steps:
        with changed.about(step.about):
            found = there.get((step.holder, step.name), {}).get(step.key)
            if found == _value(step):
                changed.done[step.about] = None
                continue
            if found != step.had:
                thing = f"{step.key} of {step.holder} {step.name}"
                raise StepOutdatedError(thing, _text(step.had), _text(found))
            due.append(step)
    for holder, places in _parted(due).items():
        answers = target.holders.change_all(holder, {n: _configs(s) for n, s in places.items()})
        _take(changed, places, answers)
    return changed


def _take(
    changed: Changed,
    places: Mapping[str, Sequence[HolderStep]],
    answers: Answers[str, None],
) -> None:
    done: dict[str, float] = {}
    failed: dict[str, ClusterError] = {}
    for name, steps in places.items():
        for step in steps:
            if name in answers.failed:
                failed[step.about] = answers.failed[name]
            else:
                done[step.about] = 0.0
    changed.take(done, failed)


def _now(steps: Iterable[HolderStep], target: Admin) -> Mapping[_Place, Mapping[str, str]]:
    """Return the configs that the groups and subscriptions of steps have of their own."""
    found: dict[_Place, Mapping[str, str]] = {}
    for holder, places in _parted(steps).items():
        for name, entries in target.holders.describe(holder, places).items():
            found[holder, name] = own(holder, entries)
    return found


def _parted(steps: Iterable[HolderStep]) -> dict[ConfigHolder, dict[str, list[HolderStep]]]:
    found: dict[ConfigHolder, dict[str, list[HolderStep]]] = {}
    for step in steps:
        found.setdefault(step.holder, {}).setdefault(step.name, []).append(step)
    return found


def _configs(steps: Iterable[HolderStep]) -> dict[str, str | None]:
    return {step.key: _value(step) for step in steps}


def _value(step: HolderStep) -> str | None:
    return step.value if isinstance(step, SetHolderConfig) else None


def _text(value: str | None) -> str:
    return "no value of its own" if value is None else value
