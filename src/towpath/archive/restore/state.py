"""The state that the parts of a running restore share."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from towpath.archive.log import Archive
from towpath.archive.restore.follower import Follower
from towpath.archive.restore.model import RestoreScope
from towpath.archive.restore.plan import RestorePlan
from towpath.archive.restore.progress import RestorePhase, RestoreProgress, rows_of
from towpath.archive.restore.schemas import RestoredRegistry
from towpath.archive.restore.several import ALONE, Beside
from towpath.archive.restore.task import RestoreTask
from towpath.ledger.link import OpenTarget
from towpath.model.errors import ClusterError
from towpath.model.nouns import TopicPartition
from towpath.plan.lease import Lease
from towpath.records.session import LinkSession

Show = Callable[[RestoreProgress], None]


@dataclass(slots=True, kw_only=True)
class RestoreState:
    """The state of a running restore.

    Attributes:
        task: What is asked for.
        archive: The archive.
        to: The target and its ledger.
        session: Its session in the ledger.
        progress: What it shows.
        stop: Set to stop early.
        show: Shows the progress.
        schemas: The schemas that come back before records.
        beside: The other restores of this process.
        scope: What is restored.
        plan: The last plan, `None` before there is one.
        lease: The right to change topics, `None` before it is there.
        follower: Takes in what is archived meanwhile; `None` if nothing is.
        unopened: Why partitions were never opened in the last round.
    """

    task: RestoreTask
    archive: Archive
    to: OpenTarget
    session: LinkSession
    progress: RestoreProgress
    stop: threading.Event
    show: Show
    schemas: RestoredRegistry
    beside: Beside = ALONE
    scope: RestoreScope
    plan: RestorePlan | None = None
    lease: Lease | None = None
    follower: Follower | None = None
    unopened: dict[TopicPartition, str] = field(default_factory=dict)

    @property
    def planned(self) -> RestorePlan:
        """The current plan."""
        assert self.plan is not None  # noqa: S101  # a restore begins with it
        return self.plan

    @property
    def held(self) -> Lease:
        """The lease that permits changing topics on the target."""
        assert self.lease is not None  # noqa: S101  # a restore begins with it
        return self.lease

    def enter(self, phase: RestorePhase) -> None:
        """Show the next phase."""
        self.progress.phase = phase
        self.show(self.progress)

    def look(self) -> None:
        """Read the ledger, answer waiting slices, and show the progress."""
        with suppress(ClusterError):  # the slices tell what is wrong with the target
            self.to.read()
            self.schemas.answer()
        self.progress.schemas = tuple(self.schemas.sentences())
        self.progress.take(rows_of(self.scope, self.to.books))
        self.show(self.progress)
