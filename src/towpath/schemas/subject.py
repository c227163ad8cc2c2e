"""Schemas as a subject of the plan machine."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import assert_never
from uuid import UUID

from towpath.config import LinkConfig, SchemaIds, SchemasConfig
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Phase
from towpath.ledger.link import OpenLink
from towpath.model.amounts import counted
from towpath.model.errors import SchemaHeldBackError, StepOutdatedError, TowpathError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import NO_TOPIC_ID, Side, TopicId, TopicName
from towpath.model.outcome import Changed
from towpath.model.schemas import (
    ALL_SUBJECTS,
    SchemaVersion,
    SubjectConfig,
    SubjectName,
    qualified,
)
from towpath.plan.subject import (
    CheckedSteps,
    Columns,
    Difference,
    Failed,
    SettledStep,
    SubjectContext,
)
from towpath.registry.registry import Registry
from towpath.schemas.configs import told
from towpath.schemas.diff import diff
from towpath.schemas.difference import SchemaDifference, Skip
from towpath.schemas.guids import guid_on_target
from towpath.schemas.ids import conflicts, pairs, unusable
from towpath.schemas.look import RegistryLook
from towpath.schemas.observe import observe, observe_target
from towpath.schemas.observed import ObservedSchemas
from towpath.schemas.past import Past
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


@dataclass(frozen=True, slots=True)
class PlacedDifference(Difference[SchemaStep]):
    """A difference that knows where versions of the source are on the target.

    Attributes:
        places: The places of those whose text and references were compared.
    """

    places: Mapping[SchemaVersion, SchemaVersion] = field(default_factory=dict)


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
        self._before = Past()

    def observe(self) -> ObservedSchemas:
        """See `SubjectClient`; that a registry does not answer is part of what is seen."""
        begun = map(SubjectName, self._past().begun)
        return replace(observe(self._config, *self._looks, begun), at=time.monotonic())

    def again(self, seen: ObservedSchemas) -> ObservedSchemas:
        """See `SubjectClient`."""
        begun = map(SubjectName, self._past().begun)
        again = observe_target(self._config, seen, self._looks, begun)
        return replace(again, at=time.monotonic())

    def diff(self, seen: ObservedSchemas, around: SubjectContext) -> Difference[SchemaStep]:
        """See `SubjectClient`."""
        del around
        before = self._past()
        found = diff(seen, self._config, before)
        self._registrar.know(found.places, seen.wanted)
        told = {*(step.about for step in found.steps), *(each.about for each in found.problems)}
        problems = (*found.problems, *self._failures(before.begun.keys() - told, told))
        notes = tuple(found.notes)
        if self._config.ids is SchemaIds.TRANSLATE:
            double = [*conflicts(pairs(seen, found.places), self._books.ids)]
            problems += tuple(each for each in double if isinstance(each, Problem))
            problems += tuple(unusable(seen, found.places))
            notes += tuple(each for each in double if isinstance(each, Note))
        return PlacedDifference(
            steps=tuple(found.steps),
            notes=notes,
            problems=problems,
            counts=self._counts(seen, found),
            places=found.places,
        )

    def guid(self, guid: UUID) -> UUID | None:
        """Return the GUID on the target of a schema of the source; see `guid_on_target`."""
        ids = self._books.ids
        return guid_on_target(guid, self._source, self._target, ids.first_of)

    def _counts(self, seen: ObservedSchemas, found: SchemaDifference) -> dict[tuple[str, str], int]:
        wanted = sum(len(seen.source[name]) for name in seen.wanted)
        return {
            **{("skipped", str(reason)): found.skipped[reason] for reason in Skip},
            ("versions", "there"): len(found.places),
            ("versions", "missing"): wanted - len(found.places),
            ("requests", Side.SOURCE): self._source.requests,
            ("requests", Side.TARGET): self._target.requests,
        }

    def _failures(self, begun: Collection[str], told: Collection[str]) -> Iterator[Problem]:
        """Yield registrations that failed, although the target seems to lack nothing."""
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
        found = diff(seen, self._config, self._past())
        rows = verified(seen, found, self._target, self._pool) if ask else listed(seen, found)
        return CompareReport(tuple(rows), tuple(found.problems), self.requests)

    @property
    def requests(self) -> int:
        """How many requests both registries got so far."""
        return self._source.requests + self._target.requests

    def present(self, steps: Sequence[SchemaStep]) -> Mapping[str, TopicId]:
        """See `SubjectClient`."""
        contexts = {qualified(step.about).context for step in steps}
        there = self._target.subjects(contexts, deleted=True)
        names = (step.about for step in steps if step.about in there)
        return dict.fromkeys(names, NO_TOPIC_ID)

    def apply(self, steps: Sequence[SchemaStep]) -> Changed:
        """See `SubjectClient`."""
        self._looks[1].forget(SubjectName(step.about) for step in steps)
        return self._registrar.apply(steps)

    def _past(self) -> Past:
        self._before.read(self._books.journal)
        return self._before


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
                return _shown(step.name), step.had, _config(step), ""
            case MarkDeleted():
                versions = ", ".join(map(str, step.versions))
                return step.name, "", f"version {versions} deleted", "as at the source"
            case RestoreSubject():
                then = _config(step) or "as before"
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


def _config(step: SetSubjectConfig | RestoreSubject) -> str:
    return told(SubjectConfig(step.mode, step.compatibility, step.normalize, step.more))


def _shown(name: str) -> str:
    """Return the name of a subject, in words where it stands for all."""
    parts = qualified(name)
    if name == ALL_SUBJECTS:
        return "all subjects"
    return name if parts.name else f"all subjects of {parts.context}"


SUBJECT = Schemas()
