"""The plan of a restore: topics, steps on the target, and problems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from towpath.access.steps import AccessStep
from towpath.access.subject import AccessClient
from towpath.archive.log import Archive
from towpath.archive.read.feed.restore_work import archived
from towpath.archive.restore.access import access_client
from towpath.archive.restore.applying import SUBJECTS
from towpath.archive.restore.cost import RestoreCost, cost_of
from towpath.archive.restore.following import TopicGenerations
from towpath.archive.restore.limits import of_quotas
from towpath.archive.restore.model import RestoreScope
from towpath.archive.restore.preflight import (
    objects_of,
    of_filtered,
    of_groups,
    of_modes,
    of_objects,
    of_pruning,
    of_retention,
    of_room,
)
from towpath.archive.restore.progress import restored, rows_of
from towpath.archive.restore.schemas import planned_schemas
from towpath.archive.restore.scope import scope_of
from towpath.archive.restore.target_logs import look_at_logs
from towpath.archive.restore.task import RestoreTask
from towpath.archive.restore.topics import RestoreSnapshot, TopicRestorer
from towpath.ledger.entries import UNCHANGED_LEVEL, LinkIdentity
from towpath.ledger.link import OpenTarget
from towpath.model.errors import ClusterError, LedgerError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import Side
from towpath.plan.build import facts_of, ledger, whole
from towpath.plan.model import Plan
from towpath.plan.old_target import old_target
from towpath.plan.subject import CheckedSteps, Difference, SubjectContext
from towpath.topics.markers import markers
from towpath.topics.steps import CreateTopic, TopicStep

_NO_ACCESS = (
    "ACLs, quotas and users come back once all topics are restored, and a restore with --follow has"
    " no end: stop it, and run the restore without --follow to bring them back"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestorePlan:
    """The plan of a restore.

    Attributes:
        plan: The steps on the target, with notes and problems.
        task: The restore.
        scope: What it brings back.
        restorer: Makes its topics.
        checked: The steps on topics as the target would accept them.
        access: Brings access back, `None` if the file asks for none.
        access_steps: What it would do, once all topics are restored.
        fill: How many offsets that compaction left empty may be filled per partition.
        cost: What it reads from the store, its time and its price.
    """

    plan: Plan
    task: RestoreTask
    scope: RestoreScope
    restorer: TopicRestorer
    checked: CheckedSteps[TopicStep]
    access: AccessClient | None = None
    access_steps: tuple[AccessStep, ...] = ()
    fill: int = 0
    cost: RestoreCost | None = None

    @property
    def topics(self) -> RestoreScope:
        """The scope with only those topics that can be restored."""
        kept = {name: each for name, each in self.scope.topics.items() if name in self.plan.topics}
        return replace(self.scope, topics=kept)


def plan_restore(task: RestoreTask, to: OpenTarget, archive: Archive) -> RestorePlan:
    """Plan a restore without changing anything. Errors of the target become problems.

    Raises:
        CommitLogError: The commit log of the archive is of no use.
        StoreError: The store could not be read.
    """
    if task.follow:
        with suppress(ClusterError):  # the plan tells
            if to.ledger.usable():
                to.read()
    generations = TopicGenerations(to.books) if task.follow else None
    scope = scope_of(archive, task.rules, generations)
    made = _Planning(task, to, archive, scope)
    try:
        return made.whole()
    except ClusterError as error:
        return made.refused(whole(error, Side.TARGET))


class _Planning:
    def __init__(
        self, task: RestoreTask, to: OpenTarget, archive: Archive, scope: RestoreScope
    ) -> None:
        self._task, self._to, self._archive, self._scope = task, to, archive, scope
        self._plan = Plan(
            link=task.name, source=None, target=None, notes=scope.notes, problems=scope.problems
        )

    def refused(self, problem: Problem) -> RestorePlan:
        """Return a plan that contains only the reason for its failure."""
        plan = replace(self._plan, problems=(*self._plan.problems, problem))
        return self._made(plan, CheckedSteps(()), 0)

    def whole(self) -> RestorePlan:
        """Return the complete plan.

        Raises:
            ClusterError: The target could not be asked.
        """
        task, to, target = self._task, self._to, self._to.target
        self._plan = replace(self._plan, target=facts_of(target, task.target))
        notes, problems = ledger(target, len(target.cluster.brokers()))
        problems += old_target(target.cluster.api_versions())
        if problems:
            return self.refused(problems[0])
        try:
            self._look()
        except LedgerError as error:
            return self.refused(Problem("restore", str(error), Cause.CLUSTER))
        restorer = TopicRestorer(to, self._scope, task.rules, follow=task.follow)
        seen = restorer.observe()
        rows = rows_of(self._scope, to.books, look_at_logs(target, self._scope))
        done = restored(rows)
        found = restorer.diff(seen, SubjectContext(caught_up=lambda: done))
        checked = restorer.check(found.steps)
        fill, said = markers(task.rules.offsets, task.rules.fill, target)
        lost = (Problem(str(row.tp), row.error, Cause.TOPIC) for row in rows if row.is_lost)
        pruned = of_pruning(task.rules, rows)
        further = [*notes, *said, *lost, *pruned, *self._foreseen(seen, found, fill)]
        plan = self._with_schemas(_with(self._plan, found, checked, further))
        return self._with_access(self._made(plan, checked, fill))

    def _with_schemas(self, plan: Plan) -> Plan:
        """Add what schemas come back, before the first record."""
        rules = self._task.rules.schemas
        if rules is None:
            return plan
        # One that follows is planned again and again, and its next schemas may be on their way.
        looked_at = None if self._task.follow else self._scope
        found = planned_schemas(self._to, self._archive, rules, looked_at)
        return replace(
            plan,
            steps=(*found.steps, *plan.steps),
            notes=(*plan.notes, *found.notes),
            problems=(*plan.problems, *found.problems),
        )

    def _with_access(self, made: RestorePlan) -> RestorePlan:
        """Add what access comes back; not where the restore goes on, as it has no end."""
        task, plan = self._task, made.plan
        client = access_client(self._to, self._archive, task.rules)
        if client is None:
            return made
        if task.follow:
            note = Note("restore.access", _NO_ACCESS)
            return replace(made, plan=replace(plan, notes=(*plan.notes, note)))
        found = client.diff(client.observe(), SubjectContext(topics=plan.topics))
        return replace(
            made,
            access=client,
            access_steps=found.steps,
            plan=replace(
                plan,
                steps=(*plan.steps, *found.steps),
                notes=(*plan.notes, *found.notes),
                problems=(*plan.problems, *found.problems),
            ),
        )

    def _look(self) -> None:
        to = self._to
        if to.ledger.usable():
            to.read()
        to.books.check_clusters(archived(self._task.region), to.target.cluster.id())

    def _foreseen(
        self, seen: RestoreSnapshot, found: Difference[TopicStep], fill: int
    ) -> Iterator[Note | Problem]:
        rules, scope = self._task.rules, self._scope
        yield from of_retention(rules, scope, self._archive.then, found.steps)
        yield from of_modes(rules, scope, fill)
        yield from of_filtered(rules, scope)
        replicas = {
            step.source: step.replication_factor
            if step.replication_factor > 0
            else seen.topics.default_replicas or 1
            for step in found.steps
            if isinstance(step, CreateTopic)
        }
        yield from of_room(self._to.target, scope, replicas)
        if not self._task.follow:  # else objects may be on their way
            yield from of_objects(rules, self._archive, scope)
        yield from of_quotas(self._to, scope)
        yield from of_groups(rules, scope, self._to.target)

    def _made(self, plan: Plan, checked: CheckedSteps[TopicStep], fill: int) -> RestorePlan:
        task = self._task
        restorer = TopicRestorer(self._to, self._scope, task.rules, follow=task.follow)
        return RestorePlan(
            plan=plan,
            task=task,
            scope=self._scope,
            restorer=restorer,
            checked=checked,
            fill=fill,
            cost=cost_of(
                self._archive.log.state,
                self._scope,
                objects_of(self._archive, self._scope),
                task.rules.costs,
            ),
        )


def identify(task: RestoreTask, to: OpenTarget) -> None:
    """Create the ledger if it is missing, and record the restore's archive and target.

    Raises:
        ClusterError: The target refuses the ledger.
        LedgerError: The ledger is of no use, or the name belongs to another restore or link.
    """
    to.ledger.create()
    to.read()
    source, target = archived(task.region), to.target.cluster.id()
    to.books.check_clusters(source, target)
    if to.books.identity is None:
        from towpath import __version__  # noqa: PLC0415

        to.ledger.append([LinkIdentity(task.name, source, target, UNCHANGED_LEVEL, __version__)])


def _with(
    plan: Plan,
    found: Difference[TopicStep],
    checked: CheckedSteps[TopicStep],
    further: Iterable[Note | Problem],
) -> Plan:
    """Complete a plan with what the target says of its steps."""
    kinds = SUBJECTS.kinds
    refused = [(kinds.of(step).blamed(step), step, error) for step, error in checked.refused]
    missing = {name for name, step, _ in refused if step.creates}
    told = [*further]
    problems = (
        *plan.problems,
        *found.problems,
        *checked.problems,
        *(Problem.of(error, name) for name, _, error in refused),
        *(each for each in told if isinstance(each, Problem)),
    )
    topics = {name: copy for name, copy in found.topics.items() if name not in missing}
    return replace(
        plan,
        topics=topics,
        steps=kinds.ordered(checked.possible),
        notes=(*plan.notes, *found.notes, *(each for each in told if isinstance(each, Note))),
        problems=problems,
    )
