"""Removal of configs that the target rejects from steps, so that the rest can be done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from towpath.cluster.admin import Admin
from towpath.cluster.admin.topic_changes import Configs, NewTopic
from towpath.model.errors import RefusedError
from towpath.model.findings import Cause, Problem
from towpath.model.nouns import TopicName
from towpath.plan.subject import CheckedSteps
from towpath.topics.apply import Refusals, check_all, is_there
from towpath.topics.configs import MOST_BYTES, POLICY, RETENTIONS, TIME_LIMITS
from towpath.topics.steps import CreateTopic, SetConfigs, TopicStep

_FOR_CONFIGS = frozenset({"INVALID_CONFIG", "POLICY_VIOLATION"})
_GUARDS = frozenset({POLICY, MOST_BYTES, *RETENTIONS})
"""With the target's defaults for these, a new topic could refuse, delete or compact records."""
_OF_TIMES = "message.timestamp."
_LOOSENED = frozenset({MOST_BYTES, *TIME_LIMITS})
"""Limits that are looser while a mirror topic is filled (`topics/holds.py`)."""


def narrowed(steps: Sequence[TopicStep], target: Admin) -> CheckedSteps[TopicStep]:
    """Let the target validate steps; return them without the rejected configs.

    If the target refuses a step because of its configs, they are tried one by one. A topic may be
    created without a refused config, but not without one that protects its records. The final
    values of configs that are held back are checked, too; else a refusal would show days later.

    Raises:
        ClusterError: The target cannot be asked.
    """
    steps, refused_now = _without_loosened(steps, check_all(steps, target), target)
    refusals = {id(step): error for step, error in refused_now}
    trials = {
        id(step): _Trial(step, error)
        for step in steps
        if isinstance(error := refusals.get(id(step)), RefusedError) and error.name in _FOR_CONFIGS
        if isinstance(step, CreateTopic | SetConfigs)
    }
    _try_all(trials.values(), target)
    became: list[TopicStep] = []
    refused: Refusals = []
    problems: list[Problem] = []
    for step in steps:
        trial = trials.get(id(step))
        if trial is not None and not trial.ended:
            became += trial.outcome()
            problems += trial.problems()
            continue
        became.append(step)
        if id(step) in refusals:
            refused.append((step, trial.error if trial is not None else refusals[id(step)]))
    no = {id(step) for step, _ in refused}
    later = _refused_in_the_end([step for step in became if id(step) not in no], target)
    return CheckedSteps(tuple(became), (*refused, *later), tuple(problems), tuple(later))


def _without_loosened(
    steps: Sequence[TopicStep], refused: Refusals, target: Admin
) -> tuple[Sequence[TopicStep], Refusals]:
    """Return steps and refusals, without looser limits meanwhile that the target does not take.

    A topic can be filled with the limits of its source topic, if no record of before exceeds them.
    """
    firm = {
        id(step): _firm(step)
        for step, error in refused
        if isinstance(error, RefusedError) and error.name in _FOR_CONFIGS
        if isinstance(step, CreateTopic) and step.held.keys() & _LOOSENED
    }
    if not firm:
        return steps, refused
    still = {id(step) for step, _ in check_all(list(firm.values()), target)}
    taken = {key: step for key, step in firm.items() if id(step) not in still}
    kept = [taken.get(id(step), step) for step in steps]
    return kept, [(step, error) for step, error in refused if id(step) not in taken]


def _firm(step: CreateTopic) -> CreateTopic:
    final = {key: value for key, value in step.held.items() if key in _LOOSENED}
    configs = _given({**step.configs, **final})
    held = {key: value for key, value in step.held.items() if key not in final}
    return replace(step, configs=configs, held=held)


def _refused_in_the_end(steps: Iterable[TopicStep], target: Admin) -> Refusals:
    """Return the new topics that the target refuses with their final configs."""
    new = {s.target: s for s in steps if isinstance(s, CreateTopic) and s.held}
    refusals = target.topics.check_creations(_filled(step) for step in new.values()) if new else {}
    return [
        (new[name], _later(new[name], error))
        for name, error in refusals.items()
        if not is_there(error)
    ]


def _filled(step: CreateTopic) -> NewTopic:
    configs = _given({**step.configs, **step.held})
    return NewTopic(step.target, step.partitions, step.replication_factor, configs)


def _later(step: CreateTopic, error: RefusedError) -> RefusedError:
    final = ", ".join(_said(key, value) for key, value in step.held.items())
    what = f"{error.what} with {final}, which it gets once it is filled"
    return RefusedError(error.side, what, error.error, error.name, error.advice)


@dataclass(slots=True)
class _Trial:
    """A step whose configs are tried one by one.

    Attributes:
        step: The step as planned.
        error: Why the target refuses it.
        kept: The configs that the target accepts.
        left_out: The configs that the target refuses, each with the error.
        ended: Whether the step cannot be done at all.
    """

    step: CreateTopic | SetConfigs
    error: RefusedError
    kept: dict[str, str | None] = field(default_factory=dict)
    left_out: dict[str, RefusedError] = field(default_factory=dict)
    ended: bool = False

    @property
    def wanted(self) -> Configs:
        """All configs to try, most important first; of two exclusive ones the first stays."""
        every = self.step.configs if isinstance(self.step, CreateTopic) else self.step.changes
        return dict(sorted(every.items(), key=lambda each: (not _guards(each[0]), each[0])))

    def next(self) -> str | None:
        """Return the next config to try, if any."""
        untried = (k for k in self.wanted if k not in self.kept and k not in self.left_out)
        return None if self.ended else next(untried, None)

    def take(self, key: str, error: RefusedError | None) -> None:
        """Record the result of a trial."""
        if error is None:
            self.kept[key] = self.wanted[key]
        elif error.name not in _FOR_CONFIGS:
            self.ended = True
        elif isinstance(self.step, CreateTopic) and _guards(key):
            self.ended = True
            what = f"{error.what}, and not without {_said(key, self.wanted[key])}"
            self.error = RefusedError(error.side, what, error.error, error.name, error.advice)
        else:
            self.left_out[key] = error

    def outcome(self) -> Iterator[TopicStep]:
        """Yield the step with the accepted configs, unless nothing is left of it."""
        step, kept = self.step, self.kept
        if isinstance(step, CreateTopic):
            yield replace(step, configs={k: v for k, v in step.configs.items() if k in kept})
        elif kept:
            yield step.only(kept)

    def problems(self) -> Iterator[Problem]:
        """Yield a problem for each config that is left out."""
        for key, error in self.left_out.items():
            text = (
                f"the target refuses {_said(key, self.wanted[key])}, so that is left out:"
                f" {error.name} ({error.error}); {error.advice}: give it another value under"
                f" `topics.configs.override`, or name it under `topics.configs.exclude`"
            )
            yield Problem(self.step.source, text, Cause.SUBJECT)


def _guards(key: str) -> bool:
    return key in _GUARDS or key.startswith(_OF_TIMES)


def _said(key: str, value: str | None) -> str:
    return f"the default of {key}" if value is None else f"{key}={value}"


ByTopic = Mapping[TopicName, Configs]


def _try_all(trials: Iterable[_Trial], target: Admin) -> None:
    every = list(trials)
    _try_new({t.step.target: t for t in every if isinstance(t.step, CreateTopic)}, target)
    changed = {t.step.target: t for t in every if isinstance(t.step, SetConfigs)}
    _try(changed, target.configs.check)


def _try(
    trials: Mapping[TopicName, _Trial],
    ask: Callable[[ByTopic], Mapping[TopicName, RefusedError]],
) -> None:
    """Try one more config of each step per request, so that many steps need few requests."""
    while asked := {n: key for n, trial in trials.items() if (key := trial.next()) is not None}:
        refusals = ask({n: trials[n].kept | {k: trials[n].wanted[k]} for n, k in asked.items()})
        for name, key in asked.items():
            trials[name].take(key, refusals.get(name))


def _try_new(trials: Mapping[TopicName, _Trial], target: Admin) -> None:
    def ask(configs: ByTopic) -> Mapping[TopicName, RefusedError]:
        return target.topics.check_creations(
            NewTopic(name, step.partitions, step.replication_factor, _given(configs[name]))
            for name in configs
            if isinstance(step := trials[name].step, CreateTopic)
        )

    # A topic that is refused even without configs is not refused because of them.
    for name in ask({name: {} for name in trials}):
        trials[name].ended = True
    _try(trials, ask)


def _given(configs: Configs) -> dict[str, str]:
    return {key: value for key, value in configs.items() if value is not None}
