"""Access as a subject of the plan machine: ACLs, SCRAM users and quotas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import assert_never

from towpath.access.apply import apply_all, present
from towpath.access.diff import AccessRules, diff
from towpath.access.observe import ObservedAccess, observe
from towpath.access.owned import ours_of
from towpath.access.steps import (
    ACLS,
    KINDS,
    QUOTAS,
    USERS,
    AccessStep,
    CreateAcl,
    DeleteAcl,
    DeleteUser,
    RemoveQuota,
    SetQuota,
    SetUser,
)
from towpath.ledger.link import OpenLink, OpenTarget
from towpath.model.acl import EVERY, Permission
from towpath.model.errors import StepHeldBackError, StepOutdatedError, TowpathError
from towpath.model.findings import Note, Problem
from towpath.model.nouns import NO_TOPIC_ID, TopicId, TopicName
from towpath.model.outcome import Changed
from towpath.plan.subject import (
    CheckedSteps,
    Columns,
    Difference,
    Failed,
    SettledStep,
    SubjectContext,
)
from towpath.settings import LinkConfig

_EVERYBODY = f"User:{EVERY}"
_DONE = {CreateAcl: "created", DeleteAcl: "deleted"}
_FIRST = {CreateAcl: Permission.DENY, DeleteAcl: Permission.ALLOW}

WITHHELD = "withheld"
"""Counts of this kind are ACLs of the source that `access.acls: safe` holds back, by operation."""


@dataclass(frozen=True, slots=True)
class AccessClient:
    """Observes access rules, and changes those of the target.

    Attributes:
        to: The target.
        rules: What it should get.
        look: Observes the access on both sides.
    """

    to: OpenTarget
    rules: AccessRules
    look: Callable[[], ObservedAccess]

    def observe(self) -> ObservedAccess:
        """Observe both clusters, without changing them."""
        return self.look()

    def again(self, seen: ObservedAccess) -> ObservedAccess:
        """Return the same observation, as steps change nothing else."""
        return seen

    def diff(self, seen: ObservedAccess, around: SubjectContext) -> Difference[AccessStep]:
        """Return the difference between the target and the file."""
        found = diff(seen, self.rules, around.topics, ours_of(self.to.books))
        held = {(WITHHELD, str(operation)): n for operation, n in found.withheld.items()}
        return Difference({}, found.steps, found.notes, found.problems, held)

    def foresee(
        self, seen: ObservedAccess, found: Difference[AccessStep]
    ) -> Iterator[Note | Problem]:
        """Return nothing, as all notes about access matter to runs as well."""
        del seen, found
        yield from ()

    def check(self, steps: Sequence[AccessStep]) -> CheckedSteps[AccessStep]:
        """Return the steps unchecked, as brokers cannot validate access rules."""
        return CheckedSteps(tuple(steps))

    def present(self, steps: Sequence[AccessStep]) -> Mapping[str, TopicId]:
        """Return the ids of existing things that steps are about, by name."""
        return dict.fromkeys((name for _, name in present(steps, self.to.target)), NO_TOPIC_ID)

    def apply(self, steps: Sequence[AccessStep]) -> Changed:
        """Apply steps of one kind together, each about another thing."""
        return apply_all(steps, self.to.target, self.rules.access.users)

    def settle(self, steps: Sequence[AccessStep]) -> Mapping[str, SettledStep]:
        """Return an empty mapping, as ACLs, users and quotas do not reveal their creator."""
        del steps
        return {}

    def owned(self, steps: Sequence[AccessStep]) -> frozenset[str]:
        """Return the names of the things that the link will own after the steps."""
        ours = ours_of(self.to.books)
        return frozenset(
            step.about
            for step in steps
            if not KINDS.of(step).removes and (step.subject, step.about) in ours
        )

    def outdated(self, step: AccessStep) -> StepOutdatedError | None:
        """Return `None`, as only the usual checks apply to such a step."""
        del step
        return None


class Access:
    """The subject of access: ACLs, SCRAM users and quotas."""

    names = (USERS, QUOTAS, ACLS)
    kinds = KINDS
    columns = Columns(("what", "now", "then", "why"), ("now", "then"))

    def client(self, link: OpenLink) -> AbstractContextManager[AccessClient]:
        """Open a client of this subject for a link."""
        look = partial(observe, link.source, link.target, link.config)
        return nullcontext(AccessClient(link, link.config, look))

    def interval(self, config: LinkConfig) -> float:
        """Return the number of seconds between two observations in a run."""
        return config.run.sync_interval

    def held_back(self, steps: Sequence[AccessStep], failed: Failed) -> Mapping[str, TowpathError]:
        """Return errors for steps that would allow too much because earlier steps failed.

        A DENY must exist before the ALLOW that it limits, and must stay until that is deleted.
        """
        before = [step for step, _ in failed if isinstance(step, CreateAcl | DeleteAcl)]
        return {
            step.about: StepHeldBackError(first.about, _DONE[type(first)])
            for step in (steps if before else ())
            if isinstance(step, CreateAcl | DeleteAcl)
            if (first := next((each for each in before if _limits(each, step)), None))
        }

    def row(self, step: AccessStep) -> tuple[str, ...]:
        """Return a step as a row of the table."""
        now, then, why = "", "", ""
        match step:
            case CreateAcl():
                why = "" if step.source == step.about else f"of the source: {step.source}"
            case SetUser():
                now, then = _iterations(step.had), _iterations(step.iterations)
            case DeleteUser():
                now = _iterations(step.had)
            case SetQuota():
                now, then = _number(step.had), _number(step.value)
            case RemoveQuota():
                now = _number(step.had)
            case DeleteAcl():
                pass
            case _:
                assert_never(step)
        return step.about, now, then, why

    def summary(
        self, steps: Sequence[AccessStep], topics: Mapping[TopicName, TopicName]
    ) -> Iterator[str]:
        """Return short texts about what steps do."""
        del topics
        return KINDS.by_subject(self.names, steps)


def _limits(first: CreateAcl | DeleteAcl, step: CreateAcl | DeleteAcl) -> bool:
    """Whether a step must not be done unless the first one is done."""
    one, other = first.acl, step.acl
    return (
        type(first) is type(step)
        and one.permission is _FIRST[type(first)]
        and one.permission is not other.permission
        and (one.principal == other.principal or _EVERYBODY in {one.principal, other.principal})
        and one.meets(other)
    )


def _iterations(number: int | None) -> str:
    return "" if number is None else f"{number} iterations"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.15g}"


ACCESS = Access()
