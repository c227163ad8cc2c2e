"""Review of old plans: steps that remove, grant or release must still be wanted."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from towpath.model.errors import ClusterError, StepOutdatedError
from towpath.model.nouns import Side
from towpath.plan.differences import differences
from towpath.plan.kinds import Key, Step
from towpath.plan.subjects import SubjectClients


class Review:
    """Checks whether steps would still be planned now.

    Both clusters are observed once, when the first step that needs a review is to be done.

    Args:
        clients: The clients that observe both clusters.
        steps: All steps of the plan.
        saved: Whether the plan was saved; a plan that was made just now grants nothing outdated.
    """

    def __init__(self, clients: SubjectClients, steps: Iterable[Step], *, saved: bool) -> None:
        self._clients, self._kinds, self._saved = clients, clients.subjects.kinds, saved
        self._steps = [step for step in steps if self._waits(step)]

    def require(self, step: Step) -> None:
        """Raise if a step removes or grants something and would not be planned now.

        A removal of a thing that no longer exists passes, as does a grant that already exists. What
        a subject wants to be asked about depends on its client.

        Raises:
            StepOutdatedError: The step would not be planned now.
            ClusterError: A cluster cannot be asked.
        """
        if self._kinds.of(step).reviewed(step) and (error := self._clients.outdated(step)):
            raise error
        if not self._waits(step):
            return
        if isinstance(self._looked, ClusterError):
            raise self._looked
        wanted, there = self._looked
        key, removes = self._kinds.key(step), self._kinds.of(step).removes
        if key not in wanted and (key in there) == removes:
            raise self._clients.outdated(step) or _outdated(step, removes=removes)

    def _waits(self, step: Step) -> bool:
        kind = self._kinds.of(step)
        return kind.removes or (self._saved and kind.grants)

    @cached_property
    def _looked(self) -> tuple[frozenset[Key], frozenset[Key]] | ClusterError:
        """Observe both clusters once: which steps are wanted now, and which things exist.

        An error counts as the one observation; the clusters are not asked again.
        """
        try:
            found = differences(self._clients)
            there = self._clients.present(self._steps)
        except ClusterError as error:
            return error
        present = (step for step in self._steps if (step.subject, step.about) in there)
        return frozenset(map(self._kinds.key, found.steps)), frozenset(
            map(self._kinds.key, present)
        )


def _outdated(step: Step, *, removes: bool) -> StepOutdatedError:
    if removes:
        wanted, found = f"nothing that asks for {step.about}", "something that does, or hides it"
    else:
        wanted, found = f"something that asks for {step.about}", "nothing that does"
    return StepOutdatedError("the cluster", wanted, found, Side.SOURCE)
