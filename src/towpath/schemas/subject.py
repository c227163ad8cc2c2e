"""Schemas as a subject of the plan machine."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import assert_never

from towpath.config import LinkConfig, SchemasConfig
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Phase
from towpath.ledger.link import OpenLink
from towpath.model.amounts import counted
from towpath.model.errors import SchemaHeldBackError, StepOutdatedError, TowpathError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import NO_TOPIC_ID, Side, TopicId, TopicName
from towpath.model.outcome import Changed
from towpath.model.schemas import SchemaVersion, SubjectConfig, SubjectName
from towpath.plan.subject import (
    CheckedSteps,
    Columns,
    Difference,
    Failed,
    SettledStep,
    SubjectContext,
)
from towpath.registry.registry import Registry
from towpath.schemas.diff import diff, told
from towpath.schemas.look import RegistryLook
from towpath.schemas.observe import observe, observe_target
from towpath.schemas.observed import ObservedSchemas
from towpath.schemas.register import Registrar
from towpath.schemas.steps import (
    KINDS,
    SCHEMAS,
    MarkDeleted,
    RegisterSchemas,
    RestoreSubject,
    SchemaStep,
    SetSubjectConfig,
)
from towpath.schemas.verify import ComparedVersion, listed, verified

_NEVER = 86_400.0
"""Seconds between two observations where the file has no registry."""


@dataclass(frozen=True, slots=True)
class CompareReport:
    """All versions that the file asks for.

    Attributes:
        rows: The versions.
        problems: What keeps some of them from the target.
        requests: How many requests that took.
    """

    rows: tuple[ComparedVersion, ...]
    problems: tuple[Problem, ...]
    requests: int


class NoSchemas:
    """The client of a link whose file names no registry."""

    def observe(self) -> ObservedSchemas:
        """Return nothing."""
        return ObservedSchemas()

    def again(self, seen: ObservedSchemas) -> ObservedSchemas:
        """Return nothing."""
        return seen

    def diff(self, seen: ObservedSchemas, around: SubjectContext) -> Difference[SchemaStep]:
        """Return no difference."""
        del seen, around
        return Difference()

    def foresee(
        self, seen: ObservedSchemas, found: Difference[SchemaStep]
    ) -> Iterator[Note | Problem]:
        """Return nothing."""
        del seen, found
        yield from ()

    def check(self, steps: Sequence[SchemaStep]) -> CheckedSteps[SchemaStep]:
        """Return the steps unchecked: a registry cannot check a schema before those it needs."""
        return CheckedSteps(tuple(steps))

    def present(self, steps: Sequence[SchemaStep]) -> Mapping[str, TopicId]:
        """Return nothing."""
        del steps
        return {}

    def apply(self, steps: Sequence[SchemaStep]) -> Changed:
        """Refuse steps of a saved plan whose file names no registry now."""
        error = StepOutdatedError("the file", "a section `schemas`", "none")
        return Changed(failed={step.about: error for step in steps})

    def settle(self, steps: Sequence[SchemaStep]) -> Mapping[str, SettledStep]:
        """Return nothing: the next difference shows what is still to be done."""
        del steps
        return {}

    def owned(self, steps: Sequence[SchemaStep]) -> frozenset[str]:
        """Return nothing: schemas are never removed, so nobody has to own them."""
        del steps
        return frozenset()

    def outdated(self, step: SchemaStep) -> StepOutdatedError | None:
        """Return nothing: no more is known than for any other step."""
        del step
        return None


class SchemasClient(NoSchemas):
    """Observes both registries, and changes that of the target.

    Args:
        config: The section of the file.
        books: What the ledger knows of the link.
        source: The registry to read from.
        target: The registry to write to.
        pool: Asks several things at once.
    """

    def __init__(
        self,
        config: SchemasConfig,
        books: LinkBooks,
        source: Registry,
        target: Registry,
        pool: ThreadPoolExecutor,
    ) -> None:
        self._config, self._books = config, books
        self._source, self._target, self._pool = source, target, pool
        self._looks = RegistryLook(source, pool), RegistryLook(target, pool)
        self._registrar = Registrar(config, source, target, pool)

    def observe(self) -> ObservedSchemas:
        """See `SubjectClient`; that a registry does not answer is part of what is seen."""
        return observe(self._config, *self._looks, map(SubjectName, self._begun()))

    def again(self, seen: ObservedSchemas) -> ObservedSchemas:
        """See `SubjectClient`."""
        return observe_target(self._config, seen, self._looks, map(SubjectName, self._begun()))

    def diff(self, seen: ObservedSchemas, around: SubjectContext) -> Difference[SchemaStep]:
        """See `SubjectClient`."""
        del around
        found = diff(seen, self._config, self._begun(), self._marks())
        self._registrar.know(found.places, seen.wanted)
        told = {*(step.about for step in found.steps), *(each.about for each in found.problems)}
        problems = (*found.problems, *self._failures(told))
        return Difference({}, tuple(found.steps), tuple(found.notes), problems)

    def _failures(self, told: Collection[str]) -> Iterator[Problem]:
        """Yield registrations that failed, although the target seems to lack nothing."""
        begun = self._begun().keys() - set(told)
        for entry in self._books.journal.values():
            failed = entry.subject == SCHEMAS and entry.phase is Phase.FAILED
            registers = failed and entry.do == RegisterSchemas.__name__
            if registers and entry.name in begun and SCHEMAS not in told:
                yield Problem(entry.name, entry.error, Cause.SUBJECT)

    def compared(self, *, ask: bool) -> CompareReport:
        """Return all versions that the file asks for, with what the target has for them.

        Args:
            ask: Ask the target for every id, as clients do, and believe no list.
        """
        seen = self.observe()
        found = diff(seen, self._config, self._begun(), self._marks())
        rows = verified(seen, found, self._target, self._pool) if ask else listed(seen, found)
        return CompareReport(tuple(rows), tuple(found.problems), self.requests)

    @property
    def requests(self) -> int:
        """How many requests both registries got so far."""
        return self._source.requests + self._target.requests

    def present(self, steps: Sequence[SchemaStep]) -> Mapping[str, TopicId]:
        """See `SubjectClient`."""
        there = self._target.subjects(deleted=True)
        names = (step.about for step in steps if step.about in there)
        return dict.fromkeys(names, NO_TOPIC_ID)

    def apply(self, steps: Sequence[SchemaStep]) -> Changed:
        """See `SubjectClient`."""
        return self._registrar.apply(steps)

    def _marks(self) -> frozenset[SchemaVersion]:
        """Return deleted versions that steps of this link have registered on the target."""
        return frozenset(
            SchemaVersion(SubjectName(step.name), each.version)
            for entry in self._books.journal.values()
            if entry.subject == SCHEMAS and entry.do == RegisterSchemas.__name__
            for step in [KINDS.from_data(entry.step, "ledger")]
            for each in step.versions
            if each.deleted
        )

    def _begun(self) -> dict[str, RegisterSchemas]:
        """Return registrations whose last attempt did not end well, by the target's subject."""
        found: dict[str, RegisterSchemas] = {}
        for entry in self._books.journal.values():
            if entry.subject != SCHEMAS or entry.do not in KINDS:
                continue
            step = KINDS.from_data(entry.step, "ledger")
            if isinstance(step, RegisterSchemas) and entry.phase is not Phase.DONE:
                found[step.name] = step
            elif isinstance(step, RegisterSchemas | RestoreSubject):
                found.pop(step.name, None)
        return found


class Schemas:
    """The subjects of a schema registry."""

    names = (SCHEMAS,)
    kinds = KINDS
    columns = Columns(("subject", "now", "then", "why"), ("now",))

    @contextmanager
    def client(self, link: OpenLink) -> Iterator[NoSchemas]:
        """See `Subject`."""
        config = link.config.schemas
        if config is None:
            yield NoSchemas()
            return
        with ExitStack() as stack:
            pool = stack.enter_context(ThreadPoolExecutor(config.max_requests, "towpath-schemas"))
            source = Registry(config.source, Side.SOURCE, config.max_requests)
            stack.callback(source.close)
            target = Registry(config.target, Side.TARGET, config.max_requests)
            stack.callback(target.close)
            yield SchemasClient(config, link.books, source, target, pool)

    def interval(self, config: LinkConfig) -> float:
        """See `Subject`."""
        return config.schemas.interval if config.schemas else _NEVER

    def held_back(self, steps: Sequence[SchemaStep], failed: Failed) -> Mapping[str, TowpathError]:
        """Return errors for steps that need what could not be registered."""
        lost = {step.about for step, _ in failed if isinstance(step, RegisterSchemas)}
        held: dict[str, TowpathError] = {}
        for step in steps if lost else ():
            needs = step.needs if isinstance(step, RegisterSchemas) else ()
            missing = lost.intersection((step.about, *needs))
            if missing and not isinstance(step, RestoreSubject):
                held[step.about] = SchemaHeldBackError(min(missing))
        return held

    def row(self, step: SchemaStep) -> tuple[str, ...]:
        """See `Subject`."""
        match step:
            case RegisterSchemas():
                first, last = step.versions[0], step.versions[-1]
                numbers = f"version {first.version}" + (
                    f" to {last.version}" if first != last else ""
                )
                then = f"{numbers}, id {first.id}" if first == last and step.keep else numbers
                why = "" if step.source == step.name else f"of the source: {step.source}"
                return step.name, counted(step.had, "version") if step.had else "", then, why
            case SetSubjectConfig():
                then = _config(step)
                return step.name, step.had, then, ""
            case MarkDeleted():
                versions = ", ".join(map(str, step.versions))
                return step.name, "", f"version {versions} deleted", "as at the source"
            case RestoreSubject():
                then = ", ".join(filter(None, (step.mode, step.compatibility))) or "as before"
                return step.name, "", then, "a registration was interrupted"
            case _:
                assert_never(step)

    def summary(
        self, steps: Sequence[SchemaStep], topics: Mapping[TopicName, TopicName]
    ) -> Iterator[str]:
        """See `Subject`."""
        del topics
        if steps:
            yield f"schemas: {KINDS.verbs(steps)}"


def _config(step: SetSubjectConfig) -> str:
    return told(SubjectConfig(step.mode, step.compatibility, step.normalize))


SUBJECT = Schemas()
