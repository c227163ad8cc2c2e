"""Steps that wait for another look at both clusters: a plan may be old when it is applied."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from towpath.access.apply import present
from towpath.access.steps import CreateAcl, SetUser
from towpath.ledger.link import OpenLink
from towpath.model.errors import ClusterError, StepOutdatedError
from towpath.model.nouns import Side
from towpath.plan.differences import differences
from towpath.plan.steps import REMOVALS, Key, Step, key
from towpath.topics import steps as topics
from towpath.topics.others import writes_of_others

_GRANTS = (CreateAcl, SetUser)
"""Who may do something or log in: the source may have thought better of it."""


class Review:
    """Knows which steps both clusters still ask for, as they are at the first that matters.

    Args:
        link: The link.
        steps: All that may be asked about.
        saved: Whether the plan was saved before; one that was made just now can grant nothing that
            is outdated.
    """

    def __init__(self, link: OpenLink, steps: Iterable[Step], *, saved: bool) -> None:
        self._link = link
        self._kinds = (*REMOVALS, *_GRANTS) if saved else REMOVALS
        self._steps = [step for step in steps if isinstance(step, self._kinds)]

    def require(self, step: Step) -> None:
        """Make sure that a step, if it removes or grants something, would be planned again now.

        What is gone, or there, already is no matter.

        Raises:
            StepOutdatedError: It would not.
            ClusterError: A cluster cannot be asked.
        """
        if not isinstance(step, self._kinds):
            return
        if isinstance(self._looked, ClusterError):
            raise self._looked
        wanted, there = self._looked
        if key(step) not in wanted and (key(step) in there) == isinstance(step, REMOVALS):
            raise self._outdated(step)

    @cached_property
    def _looked(self) -> tuple[frozenset[Key], frozenset[Key]] | ClusterError:
        """Look once, also where that fails: what is wanted now, and what of the steps is there."""
        link = self._link
        try:
            found = differences(link.config, link.source, link.target, link.books)
            return frozenset(map(key, found.steps)), self._there()
        except ClusterError as error:
            return error

    def _there(self) -> frozenset[Key]:
        target = self._link.target
        copies = [step for step in self._steps if isinstance(step, topics.DeleteTopic)]
        others = [step for step in self._steps if not isinstance(step, topics.Step)]
        ids = {
            name: info.id for name, info in target.topics.describe(s.target for s in copies).items()
        }
        named = present(others, target)
        return frozenset(
            (
                *(key(step) for step in copies if ids.get(step.target) == step.id),
                *(key(step) for step in others if (step.subject, step.about) in named),
            )
        )

    def _outdated(self, step: Step) -> StepOutdatedError:
        if isinstance(step, topics.DeleteTopic):
            if writes_of_others([step], self._link.books, self._link.target):
                wanted, found = "no records but those of this link", "others"
                return StepOutdatedError(f"topic {step.target}", wanted, found)
            wanted = f"no topic {step.source} to mirror as {step.target}"
            found = "one, or hides it"
        elif isinstance(step, REMOVALS):
            wanted = f"nothing that asks for {step.about}"
            found = "something that does, or hides it"
        else:
            wanted, found = f"something that asks for {step.about}", "nothing that does"
        return StepOutdatedError("the cluster", wanted, found, Side.SOURCE)
