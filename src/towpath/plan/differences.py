"""What differs between the target and what the file asks for, subject by subject, as steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from towpath.access.diff import Difference as AccessDifference
from towpath.access.diff import diff as diff_access
from towpath.access.observe import observe as observe_access
from towpath.cluster.admin import Admin
from towpath.config import LinkConfig
from towpath.ledger.books import LinkBooks
from towpath.model.findings import Note, Obstacle
from towpath.model.nouns import TopicName
from towpath.plan.journal import access_ours, ours_of
from towpath.plan.steps import Step, ordered
from towpath.topics.circles import without_circles
from towpath.topics.diff import Difference, diff
from towpath.topics.neighbours import beside_neighbours
from towpath.topics.observe import Observed, observe
from towpath.topics.others import writes_of_others
from towpath.topics.steps import DeleteTopic


@dataclass(frozen=True, slots=True)
class Differences:
    """Both clusters as they were observed, and what follows.

    Attributes:
        observed: The topics of both.
        topics: What is to be done about topics.
        access: What is to be done about ACLs, users and quotas.
    """

    observed: Observed
    topics: Difference
    access: AccessDifference

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps, in the order in which they are done."""
        return ordered((*self.topics.steps, *self.access.steps))

    @property
    def notes(self) -> tuple[Note, ...]:
        """All notes."""
        return (*self.topics.notes, *self.access.notes)

    @property
    def obstacles(self) -> tuple[Obstacle, ...]:
        """All obstacles."""
        return (*self.topics.obstacles, *self.access.obstacles)


def differences(
    config: LinkConfig,
    source: Admin,
    target: Admin,
    books: LinkBooks,
    caught_up: Callable[[], Iterable[TopicName]] = tuple,
) -> Differences:
    """Look at both clusters, changing nothing.

    Args:
        config: The file.
        source: The cluster to read from.
        target: The cluster to write to.
        books: What the ledger knows of the link.
        caught_up: Tells of which topics of the source the copies have reached them; called only if
            settings of a copy wait for that.

    Raises:
        ClusterError: A cluster cannot be asked at all.
    """
    there = target.topics.describe()
    ours = ours_of(books, {name: info.id for name, info in there.items() if not info.error})
    seen = observe(source, target, config, ours, there)
    observed = without_circles(seen, config, source, target)
    if any(ours.waiting(copy.name, copy.own) for copy in observed.target.values()):
        ours = replace(ours, caught_up=frozenset(caught_up()))
    wanted = beside_neighbours(diff(observed, config, ours), observed, books.neighbours)
    found = _spared(wanted, books, target)
    of_access = diff_access(
        observe_access(source, target, config), config, found.topics, access_ours(books)
    )
    return Differences(observed, found, of_access)


def _spared(found: Difference, books: LinkBooks, target: Admin) -> Difference:
    """Return the difference without deletions of copies to which others write, too."""
    deletions = [step for step in found.steps if isinstance(step, DeleteTopic)]
    theirs = writes_of_others(deletions, books, target)
    steps = (s for s in found.steps if not isinstance(s, DeleteTopic) or s.target not in theirs)
    notes = (
        Note(step.source, f"its copy {step.target} {_THEIRS}")
        for step in deletions
        if step.target in theirs
    )
    return replace(found, steps=tuple(steps), notes=(*found.notes, *notes))


_THEIRS = (
    "stays although nobody asks for it: it has records that this link did not write, as after a"
    " cutover; delete it by hand if nobody needs it"
)
