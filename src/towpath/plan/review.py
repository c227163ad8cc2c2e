"""Steps that wait for another look at both clusters: a plan may be old when it is applied."""

from __future__ import annotations

from functools import cached_property

from towpath.access.apply import present
from towpath.access.steps import CreateAcl, SetUser
from towpath.model.errors import StepOutdatedError
from towpath.model.nouns import Side
from towpath.plan.differences import differences
from towpath.plan.opened import OpenLink
from towpath.plan.others import writes_of_others
from towpath.plan.steps import REMOVALS, Step, key
from towpath.topics import steps as topics

_GRANTS = (CreateAcl, SetUser)
"""Who may do something or log in: the source may have thought better of it."""


class Review:
    """Knows which steps both clusters still ask for, as they are at the first that matters.

    Args:
        link: The link.
        saved: Whether the plan was saved before; one that was made just now can grant nothing that
            is outdated.
    """

    def __init__(self, link: OpenLink, *, saved: bool) -> None:
        self._link = link
        self._kinds = (*REMOVALS, *_GRANTS) if saved else REMOVALS

    def require(self, step: Step) -> None:
        """Make sure that a step, if it removes or grants something, would be planned again now.

        What is gone, or there, already is no matter.

        Raises:
            StepOutdatedError: It would not.
            ClusterError: A cluster cannot be asked.
        """
        if not isinstance(step, self._kinds) or key(step) in self._wanted:
            return
        if self._there(step) == isinstance(step, REMOVALS):
            raise self._outdated(step)

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

    def _outdated(self, step: Step) -> StepOutdatedError:
        if isinstance(step, topics.DeleteTopic):
            if writes_of_others([step], self._link.books, self._link.target):
                wanted, found = "no records but those of this link", "others"
                return StepOutdatedError(f"topic {step.target}", wanted, found)
            wanted = f"no topic {step.source} to mirror as {step.target}"
            found = "one, or hides it"
        elif isinstance(step, REMOVALS):
            wanted, found = (
                f"nothing that asks for {step.about}",
                "something that does, or hides it",
            )
        else:
            wanted, found = f"something that asks for {step.about}", "nothing that does"
        return StepOutdatedError("the cluster", wanted, found, Side.SOURCE)
