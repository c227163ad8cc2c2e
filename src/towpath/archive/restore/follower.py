"""Following a growing archive while the slices of a restore run."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from towpath.archive.log import Archive, ArchiveReading
from towpath.archive.restore.following import FollowedArchive, Shape, TopicGenerations, shape_of
from towpath.archive.restore.log_watch import Heard
from towpath.archive.restore.model import RestoreScope
from towpath.archive.restore.plan import RestorePlan
from towpath.archive.restore.progress import restored, rows_of, stopped
from towpath.archive.restore.scope import scope_of
from towpath.archive.restore.task import RestoreTask
from towpath.archive.restore.waking import Bell
from towpath.ledger.link import OpenTarget
from towpath.model.errors import ClusterError, StoreError
from towpath.model.nouns import TopicName, TopicPartition
from towpath.records.session import LinkSession

_RETRY = 300.0
"""Seconds after which partitions that stopped, and topics left out, are tried again."""


class Follower:
    """Applies new versions of an archive to a running restore.

    Args:
        following: The archive.
        reading: The sign that it is read, if there is one.
        task: The restore.
        to: The target.
        session: Tells slices that there is more.
        bell: Rings when objects have arrived, `None` if nobody tells.

    Attributes:
        scope: What is restored, as of the newest version.
        young: Partitions that are not begun yet.
        ready: Returns whether all is there that must be before records of new versions come.
    """

    def __init__(
        self,
        following: FollowedArchive,
        reading: ArchiveReading | None,
        task: RestoreTask,
        to: OpenTarget,
        session: LinkSession,
        bell: Bell | None = None,
    ) -> None:
        self._following, self._reading, self._task = following, reading, task
        self._to, self._session, self._bell = to, session, bell
        self._untold = False
        self.ready: Callable[[], bool] = lambda: True
        self.scope = RestoreScope(region=task.region, version=0, at=0)
        self._goal, self._shape = self.scope, Shape()
        self._freed: set[TopicName] = set()
        self.young: frozenset[TopicPartition] = frozenset()
        self._again = 0.0

    @property
    def archive(self) -> Archive:
        """The followed archive."""
        return self._following.archive

    @property
    def heard(self) -> Heard:
        """The state of the followed archive: up to date, silent or broken."""
        return self._following.heard

    def planned(self, plan: RestorePlan, scope: RestoreScope) -> None:
        """Adopt a new plan, and the part of it that is being restored."""
        self.scope = self._goal = scope
        self._shape = shape_of(plan.scope)
        self._following.reopened = False
        self._freed &= scope.topics.keys()
        self.young = self._young()
        self._again = time.monotonic() + _RETRY
        self._is_whole = not (plan.plan.problems or len(scope.topics) < len(plan.scope.topics))

    def _young(self) -> frozenset[TopicPartition]:
        return self._following.young(self.scope, self._to.books, self._task.first_delay)

    def take_in(self) -> bool:
        """Read new archive versions and inform slices. Returns whether a new plan is needed."""
        rung = self._bell is not None and self._bell.asked()
        self._untold = self._untold or rung  # what has arrived may be late in a slice
        if self._following.look(at_once=rung):
            self._untold = True
            if self._reading is not None:
                with suppress(StoreError):  # then others keep more for it than it needs
                    self._reading.passed(self.archive.log.state.version)
        if self._untold and not self.ready():
            return False
        is_other = False
        if self._untold or self._next_generation:
            is_other = self._take_scope()
        if self._untold:
            with suppress(ClusterError):  # a later look tells them
                self._session.tell_news()
                self._untold = False
        return is_other or self._following.reopened or self._is_due

    def _take_scope(self) -> bool:
        """Take the scope of the newest version; return whether more than offsets has changed."""
        generations = TopicGenerations(self._to.books)
        found = scope_of(self.archive, self._task.rules, generations)
        kept = {name: each for name, each in found.topics.items() if name in self.scope.topics}
        self.scope = replace(found, topics=kept)
        return shape_of(found) != self._shape

    @property
    def _next_generation(self) -> bool:
        """Whether a topic is restored behind which another one of its name waits."""
        awaiting = self.scope.awaiting
        return bool(awaiting and awaiting & restored(rows_of(self.scope, self._to.books)))

    @property
    def _is_due(self) -> bool:
        """Whether something that waits is to be tried again."""
        if self.young and self._young() != self.young:
            return True
        if time.monotonic() < self._again:
            return False
        is_stuck = bool(stopped(rows_of(self.scope, self._to.books)))
        return is_stuck or not self._is_whole

    def caught_up(self) -> frozenset[TopicName]:
        """Return the topics restored up to the last plan, whose configs are still withheld.

        They are told until `released` says that they got their configs.
        """
        return restored(rows_of(self._goal, self._to.books)) - self._freed

    def released(self, topics: frozenset[TopicName]) -> None:
        """Record that topics got the configs that were withheld from them."""
        self._freed |= topics
