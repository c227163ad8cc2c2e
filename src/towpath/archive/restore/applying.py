"""Execution of a restore's steps on the target, with the plan machine's journal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from towpath.access.steps import AccessStep
from towpath.access.subject import ACCESS, AccessClient
from towpath.archive.restore.topics import RestoreSnapshot, TopicRestorer
from towpath.model.nouns import TopicName
from towpath.plan.applier import Applied, Applier
from towpath.plan.journal import JournalWriter
from towpath.plan.subject import CheckedSteps, SubjectContext
from towpath.plan.subjects import SubjectClients, Subjects
from towpath.schemas.subject import SUBJECT as SCHEMAS
from towpath.topics.steps import TopicStep
from towpath.topics.subject import TOPICS

SUBJECTS = Subjects((SCHEMAS, TOPICS, ACCESS))


def clients_of(restorer: TopicRestorer) -> SubjectClients:
    """Return the clients that apply a restore's topic steps."""
    return SubjectClients(SUBJECTS, {TOPICS: restorer})


def apply(
    restorer: TopicRestorer,
    checked: CheckedSteps[TopicStep],
    hold: Callable[[], None] = lambda: None,
    stop: threading.Event | None = None,
) -> Applied:
    """Apply steps that the target has validated, and journal them.

    Args:
        restorer: The topics of the restore.
        checked: The steps.
        hold: Raises if this process may no longer change the target.
        stop: Set to end early, after the current batch of steps.

    Raises:
        ClusterError: The journal cannot be written.
        LinkHeldError: Another process changes the target now.
    """
    clients = clients_of(restorer)
    applier = Applier(
        clients,
        JournalWriter(restorer.to, clients),
        stop=stop or threading.Event(),
        require=checked.require,
        hold=hold,
    )
    return applier.apply(checked.steps)


def release(
    restorer: TopicRestorer,
    restored: Iterable[TopicName],
    hold: Callable[[], None] = lambda: None,
) -> tuple[Applied, RestoreSnapshot]:
    """Set the configs that were withheld from topics which are now restored.

    Returns:
        What was done, and the target as it was before.

    Raises:
        ClusterError: The target cannot be asked, or the journal cannot be written.
        LinkHeldError: Another process changes the target now.
    """
    reached = frozenset(restored)
    seen = restorer.observe()
    found = restorer.diff(seen, SubjectContext(caught_up=lambda: reached))
    wanted = [step for step in found.steps if step.source in reached]
    return apply(restorer, restorer.check(wanted), hold), seen


def give_access(
    client: AccessClient,
    steps: Iterable[AccessStep],
    hold: Callable[[], None] = lambda: None,
    stop: threading.Event | None = None,
) -> Applied:
    """Restore access rules, and journal the steps.

    Args:
        client: Brings it back.
        steps: The steps.
        hold: Raises if this process may no longer change the target.
        stop: Set to end early, after the current batch of steps.

    Raises:
        ClusterError: The journal cannot be written.
        LinkHeldError: Another process changes the target now.
    """
    clients = SubjectClients(SUBJECTS, {ACCESS: client})
    applier = Applier(
        clients, JournalWriter(client.to, clients), stop=stop or threading.Event(), hold=hold
    )
    return applier.apply(tuple(steps))
