"""Removals, which wait for another look at the source: a plan may be old when it is applied."""

from __future__ import annotations

from functools import cached_property

from towpath.access.apply import present
from towpath.model.errors import StepOutdatedError
from towpath.model.nouns import Side
from towpath.plan.differences import differences
from towpath.plan.opened import OpenLink
from towpath.plan.steps import REMOVALS, Step, key
from towpath.topics import steps as topics


class Removals:
    """Knows which removals both clusters still ask for, as they are at the first of them."""

    def __init__(self, link: OpenLink) -> None:
        self._link = link

    def require(self, step: Step) -> None:
        """Make sure that a step, if it removes something, would be planned again now.

        What is gone already is no matter.

        Raises:
            StepOutdatedError: It would not.
            ClusterError: A cluster cannot be asked.
        """
        if isinstance(step, REMOVALS) and key(step) not in self._wanted and self._there(step):
            raise _outdated(step)

    @cached_property
    def _wanted(self) -> frozenset[tuple[str, ...]]:
        link = self._link
        found = differences(link.config, link.source, link.target, link.books)
        return frozenset(map(key, found.steps))

    def _there(self, step: Step) -> bool:
        if isinstance(step, topics.DeleteTopic):
            found = self._link.target.topics([step.target]).get(step.target)
            return found is not None and found.id == step.id
        return not isinstance(step, topics.Step) and present(step, self._link.target)


def _outdated(step: Step) -> StepOutdatedError:
    if isinstance(step, topics.DeleteTopic):
        wanted, found = f"no topic {step.source} to mirror as {step.target}", "one, or hides it"
    else:
        wanted, found = f"nothing that asks for {step.about}", "something that does, or hides it"
    return StepOutdatedError("the cluster", wanted, found, Side.SOURCE)
