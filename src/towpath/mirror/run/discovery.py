"""Detection of new topics and partitions during a run, and of those to retry."""

from __future__ import annotations

import time
from collections.abc import Set

from towpath.ledger.link import OpenLink
from towpath.mirror.run.dealer import Dealer
from towpath.mirror.run.progress import RunProgress
from towpath.mirror.run.reconcile import Reconciled, Reconciler, Shape, appeared, shape, shape_of
from towpath.mirror.run.rounds import Look
from towpath.mirror.run.trying import Trying
from towpath.mirror.status.partition_status import State
from towpath.model.errors import LinkHeldError
from towpath.plan.build import Planned
from towpath.runtime.deadline import Deadline
from towpath.topics.subject import TOPICS

_SPARING = 10
"""Looking may take a tenth of the time, where topics are left out again and again."""
_LACKING = 5.0
"""Seconds between two tries to give slices what was copied and none has."""
_NEVER_COPIED = frozenset({State.NOT_STARTED})
_GOES_ON = frozenset({State.BEHIND, State.CAUGHT_UP})
_FRESH = 120.0
"""Seconds for which a look at both clusters is good enough to plan a round. What changes after it
is found and dealt all the same."""


class Discovery:
    """Keeps the target as the file asks, and knows whether there is more to copy.

    Args:
        link: The link.
        reconciler: Applies the steps.
        dealer: Knows what the slices have.
        progress: Shows what was applied and what is left out.
    """

    def __init__(
        self, link: OpenLink, reconciler: Reconciler, dealer: Dealer, progress: RunProgress
    ) -> None:
        self._link, self._reconciler = link, reconciler
        self._dealer, self._progress = dealer, progress
        self._shape: Shape = {}
        self._reconciled = -1
        """The round before which the target was reconciled last."""
        self._looked: tuple[Look, Deadline] | None = None
        """The last look at topics, until a plan has used it."""
        self._next = self._lacking = 0.0
        self._trying = Trying()

    def first(self, plan: Planned) -> None:
        """Apply the plan that the run begins with.

        Raises:
            ClusterError: A cluster could not be reached, or the journal could not be written.
        """
        self._took(self._reconciler.first(plan))

    def last(self) -> None:
        """Set the configs that were withheld while mirror topics were filled.

        Raises:
            ClusterError: A cluster could not be reached, or the journal could not be written.
        """
        self._took(self._reconciler.all(self._progress.rows))

    def look_when_due(self) -> bool:
        """Look for new topics if a look is due; return whether there may be more to copy.

        Raises:
            ClusterError: A cluster could not be reached, or the journal could not be written.
        """
        began = time.monotonic()
        if began < self._next:
            return False
        try:
            return self._reconcile() or self._wants_more()
        except LinkHeldError as error:
            self._progress.held = str(error)  # copying goes on meanwhile
            return False
        finally:
            took = time.monotonic() - began
            self._next = began + max(self._link.config.run.discover, _SPARING * took)

    def fresh_look(self) -> Look | None:
        """Return the last look at topics once, if it is recent, else `None`."""
        looked, self._looked = self._looked, None
        return looked[0] if looked is not None and not looked[1].over else None

    def _reconcile(self) -> bool:
        """Apply the file to the target; return whether there is more to copy then.

        Where the shape is the same, only the plan of another round can leave out something new.
        Configs and ACLs, which show in no shape, are compared when they are due.
        """
        link, progress = self._link, self._progress
        now = shape(link.config, link.source, link.target)
        same = now == self._shape and progress.round == self._reconciled
        if same and not progress.topics.blocked:
            made = self._reconciler.due(progress.rows)
        else:
            made = self._reconciler.all(progress.rows)
        return made is not None and self._took(made)

    def _took(self, made: Reconciled) -> bool:
        """Take in what was applied; return whether there is more to copy now."""
        progress = self._progress
        before, was = progress.topics, self._shape
        progress.topics, progress.held = made, ""
        self._reconciled = progress.round
        if made.found is not None:
            self._shape = shape_of(self._link.config, made.found)
            topics = made.found.of(TOPICS)
            look = Look(topics.seen.topics, topics.found.topics)
            self._looked = look, Deadline.after(_FRESH)
        mended = before.topics - made.topics
        self._dealer.mended(mended)
        return bool(made.outcome.done or appeared(was, self._shape) or mended)

    def _wants_more(self) -> bool:
        """Whether a partition is to be tried again, or no slice has one that should be copied."""
        due = self._trying.due(self._progress.rows)
        self._dealer.again.update(due)
        return bool(due) or self._lacks(_NEVER_COPIED) or self._lacks_copied()

    def _lacks_copied(self) -> bool:
        """Whether no slice has a partition that was copied: its topic was taken up again.

        Asked seldom, as a plan may have a reason of its own to leave a partition out.
        """
        if time.monotonic() < self._lacking or not self._lacks(_GOES_ON):
            return False
        self._lacking = time.monotonic() + _LACKING
        return True

    def _lacks(self, states: Set[State]) -> bool:
        """Whether no slice has a partition in such a state that nothing is known to prevent."""
        known = self._progress.topics.topics
        return self._dealer.lacks(
            row.tp
            for row in self._progress.rows
            if row.state in states and known.isdisjoint((row.topic, row.target_topic))
        )
