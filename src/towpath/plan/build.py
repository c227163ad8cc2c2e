"""Building of a plan from the file and both clusters, without changing a cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from towpath.cluster.admin import Admin
from towpath.cluster.admin.rights import Right, lacks
from towpath.cluster.codes import TOPIC_ALREADY_EXISTS
from towpath.cluster.connect.control import may_pass
from towpath.ledger import topic as ledger_topic
from towpath.ledger.books import LinkBooks
from towpath.ledger.link import OpenLink
from towpath.model.errors import ClusterError, LedgerError, RefusedError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import Side, TopicName
from towpath.plan.differences import Differences, differences
from towpath.plan.kinds import Step
from towpath.plan.model import ClusterFacts, Plan
from towpath.plan.subject import CheckedSteps
from towpath.plan.subjects import AnySubject, SubjectClients
from towpath.settings import ClusterConfig

_ON_LEDGER = (Right.READ, Right.WRITE)
Findings = Iterable[Note | Problem]


@dataclass(frozen=True, slots=True)
class LinkContext:
    """Facts about the whole link that no single subject provides.

    Attributes:
        caught_up: Returns the source topics whose mirror topics have caught up.
        findings: Returns further notes and problems. Its last argument tells whether the ledger
            knows what the link has done.
    """

    caught_up: Callable[[OpenLink], Iterable[TopicName]]
    findings: Callable[[OpenLink, Differences, bool], Findings]


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, and the observations that it was made from.

    Attributes:
        plan: The plan.
        found: Both clusters as observed; `None` if they could not be compared.
        checked: The steps as the target would accept them; `None` if the clusters could not be
            compared.
    """

    plan: Plan
    found: Differences | None = None
    checked: CheckedSteps[Step] | None = None

    def only(self, subjects: Collection[AnySubject]) -> Planned:
        """Return the plan of the given subjects alone, with the target's checks of all steps."""
        if self.found is None or self.checked is None:
            return self
        names = {name for each in subjects for name in each.names}
        steps = tuple(step for step in self.checked.steps if step.subject in names)
        refused = tuple(each for each in self.checked.refused if each[0].subject in names)
        later = tuple(each for each in self.checked.later if each[0].subject in names)
        checked = replace(self.checked, steps=steps, refused=refused, later=later)
        return replace(self, found=self.found.only(subjects), checked=checked)


def build(link: OpenLink, clients: SubjectClients, beside: LinkContext) -> Planned:
    """Return the plan of a run's first steps; errors become problems of the plan."""
    plan = _met(link)
    if plan.problems:
        return Planned(plan)
    try:
        return _with_books(plan, link, clients, beside)
    except ClusterError as error:
        told = whole(error, getattr(error, "side", Side.TARGET))
        return Planned(replace(plan, problems=(told,)))


def _met(link: OpenLink) -> Plan:
    """Return a plan that holds only facts about the clusters; both are asked in any case."""
    met: dict[Side, ClusterFacts] = {}
    problems = []
    for side, admin, where in (
        (Side.SOURCE, link.source, link.config.source),
        (Side.TARGET, link.target, link.config.target),
    ):
        try:
            met[side] = facts_of(admin, where)
        except ClusterError as error:
            problems.append(whole(error, side))
    return Plan(
        link=link.config.link,
        source=met.get(Side.SOURCE),
        target=met.get(Side.TARGET),
        problems=tuple(problems),
    )


def whole(error: ClusterError, side: str) -> Problem:
    """Return an error as a problem that concerns a whole cluster."""
    return Problem(side, str(error), Cause.AWAY if may_pass(error) else Cause.CLUSTER)


def facts_of(admin: Admin, config: ClusterConfig) -> ClusterFacts:
    """Return a cluster's id, version and features as it reports them.

    Raises:
        ClusterError: It could not be asked.
    """
    release = str(admin.cluster.release)
    return ClusterFacts(
        config.bootstrap, admin.cluster.id(), release, len(admin.cluster.brokers()), config.login
    )


def _with_books(
    plan: Plan, link: OpenLink, clients: SubjectClients, beside: LinkContext
) -> Planned:
    """Complete the plan with the ledger's help, if the target has a ledger or can get one.

    The ledger may say that the link joins other clusters, or was removed; then the plan is made
    without it.
    """
    notes, no_ledger = ledger(link.target, len(link.target.cluster.brokers()))
    plan = replace(plan, notes=tuple(notes), problems=tuple(no_ledger))
    if no_ledger:
        return _compared(plan, link, clients, beside, known=False)
    try:
        link.look()
        link.books.require_name()
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
    further = [*foreseen, *beside.findings(link, found, known)]
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
    """Return problems with using or creating the ledger topic, and notes on unknowns."""
    found = ledger_topic.find(target)
    if found is None or found.unseen:
        return [], list(_refused_ledger(target, brokers, is_new=found is None))
    about = ledger_topic.TOPIC
    lacking = target.topics.lacking({about: _ON_LEDGER}).values()
    texts = (*(lacks(Side.TARGET, about, missing) for missing in lacking), *found.faults)
    notes = []
    if found.hidden:
        text = (
            f"{found.hidden}; until then it is not checked that the ledger keeps all entries"
            " (cleanup.policy=compact)"
        )
        notes.append(Note(about, text))
    return notes, [Problem(about, text, Cause.CLUSTER) for text in texts]


def _refused_ledger(target: Admin, brokers: int, *, is_new: bool) -> Iterator[Problem]:
    try:
        ledger_topic.create(target, brokers, validate_only=True)
    except RefusedError as error:
        # Another process may have created it just now; whoever opens the ledger looks at it again.
        if not is_new or error.error != TOPIC_ALREADY_EXISTS:
            yield whole(error, Side.TARGET)
    except ClusterError as error:
        yield whole(error, Side.TARGET)
