"""From the file to the plan. Both clusters are looked at, none is touched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from towpath.cluster.admin import Admin
from towpath.cluster.admin.rights import Right, lacks
from towpath.config import ClusterConfig
from towpath.ledger import topic as ledger_topic
from towpath.ledger.books import LinkBooks
from towpath.ledger.link import OpenLink
from towpath.model.errors import ClusterError, LedgerError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import Side, TopicName
from towpath.plan.differences import Differences, differences
from towpath.plan.kinds import Step
from towpath.plan.model import ClusterFacts, Plan
from towpath.plan.subject import CheckedSteps
from towpath.plan.subjects import SubjectClients

_ON_LEDGER = (Right.READ, Right.WRITE)
Findings = Iterable[Note | Problem]


@dataclass(frozen=True, slots=True)
class LinkContext:
    """What belongs to the link as a whole, and so to no subject.

    Attributes:
        caught_up: Asks which topics of the source have mirror topics that have reached them.
        findings: Tells what else a person should know of what was found; `None` instead of that
            where the ledger does not tell what the link has done.
    """

    caught_up: Callable[[OpenLink], Iterable[TopicName]]
    findings: Callable[[OpenLink, Differences | None], Findings]


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, and what it was made from.

    Attributes:
        plan: It.
        found: Both clusters as they were observed; `None` where they could not be compared.
        checked: The steps as the target would take them; `None` likewise.
    """

    plan: Plan
    found: Differences | None = None
    checked: CheckedSteps[Step] | None = None


def build(link: OpenLink, clients: SubjectClients, beside: LinkContext) -> Planned:
    """Return what a run would begin with; what goes wrong on the way is part of it."""
    plan = _met(link)
    if plan.problems:
        return Planned(plan)
    try:
        return _with_books(plan, link, clients, beside)
    except ClusterError as error:
        told = _whole(error, getattr(error, "side", Side.TARGET))
        return Planned(replace(plan, problems=(told,)))


def _met(link: OpenLink) -> Plan:
    """Return a plan that knows the clusters only; both are tried, whatever becomes of the first."""
    met: dict[Side, ClusterFacts] = {}
    problems = []
    for side, admin, where in (
        (Side.SOURCE, link.source, link.config.source),
        (Side.TARGET, link.target, link.config.target),
    ):
        try:
            met[side] = _facts(admin, where)
        except ClusterError as error:
            problems.append(_whole(error, side))
    return Plan(
        link=link.config.link,
        source=met.get(Side.SOURCE),
        target=met.get(Side.TARGET),
        problems=tuple(problems),
    )


def _whole(error: ClusterError, side: str) -> Problem:
    return Problem(side, str(error), Cause.CLUSTER)


def _facts(admin: Admin, config: ClusterConfig) -> ClusterFacts:
    version = ".".join(map(str, admin.cluster.version))
    return ClusterFacts(
        config.bootstrap, admin.cluster.id(), version, len(admin.cluster.brokers()), config.login
    )


def _with_books(
    plan: Plan, link: OpenLink, clients: SubjectClients, beside: LinkContext
) -> Planned:
    """Look into the ledger, if the target can have one; it may belong to other clusters."""
    notes, no_ledger = ledger(link.target, len(link.target.cluster.brokers()))
    plan = replace(plan, notes=tuple(notes), problems=tuple(no_ledger))
    if no_ledger:
        return _compared(plan, link, clients, beside, known=False)
    try:
        link.look()
    except LedgerError as error:
        told = Problem("link", str(error), Cause.CLUSTER)
        apart = replace(link, books=LinkBooks(link.config.link))
        with clients.subjects.open(apart) as others:
            plan = replace(plan, problems=(told,))
            return _compared(plan, apart, others, beside, known=False)
    return _compared(plan, link, clients, beside, known=True)


def _compared(
    plan: Plan, link: OpenLink, clients: SubjectClients, beside: LinkContext, *, known: bool
) -> Planned:
    found = differences(clients, lambda: beside.caught_up(link))
    checked = clients.check(found.steps)
    blamed = [
        (clients.subjects.kinds.of(step).blamed(step), step, error)
        for step, error in checked.refused
    ]
    missing = {name for name, step, _ in blamed if step.creates}
    foreseen = [
        each
        for part in found.parts
        for each in clients.of(part.subject).foresee(part.seen, part.found)
    ]
    further = [*foreseen, *beside.findings(link, found if known else None)]
    plan = replace(
        plan,
        topics={name: copy for name, copy in found.topics.items() if name not in missing},
        steps=clients.subjects.kinds.ordered(checked.possible),
        notes=(*plan.notes, *found.notes, *(each for each in further if isinstance(each, Note))),
        problems=(
            *plan.problems,
            *found.problems,
            *checked.problems,
            *(Problem.of(error, name) for name, _, error in blamed),
            *(each for each in further if isinstance(each, Problem)),
        ),
    )
    return Planned(plan, found, checked)


def ledger(target: Admin, brokers: int) -> tuple[list[Note], list[Problem]]:
    """Tell whether the ledger's topic could neither be used nor created."""
    found = ledger_topic.find(target)
    if found is None or found.unseen:
        return [], list(_refused_ledger(target, brokers))
    about = ledger_topic.TOPIC
    lacking = target.topics.lacking({about: _ON_LEDGER}).values()
    texts = (*(lacks(Side.TARGET, about, missing) for missing in lacking), *found.faults)
    notes = []
    if found.hidden:
        text = (
            f"{found.hidden}; until then nobody checks that it loses no entries"
            " (cleanup.policy=compact)"
        )
        notes.append(Note(about, text))
    return notes, [Problem(about, text, Cause.CLUSTER) for text in texts]


def _refused_ledger(target: Admin, brokers: int) -> Iterator[Problem]:
    try:
        ledger_topic.create(target, brokers, validate_only=True)
    except ClusterError as error:
        yield Problem(Side.TARGET, str(error), Cause.CLUSTER)
