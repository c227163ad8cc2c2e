"""Schema client of a link whose file names no registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from towpath.ledger.books import LinkBooks
from towpath.model.amounts import counted
from towpath.model.errors import StepOutdatedError
from towpath.model.findings import Note, Problem
from towpath.model.nouns import TopicId
from towpath.model.outcome import Changed
from towpath.plan.subject import CheckedSteps, Difference, SettledStep, SubjectContext
from towpath.schemas.observed_schemas import ObservedSchemas
from towpath.schemas.past import Past
from towpath.schemas.steps import SCHEMAS, SchemaStep


class NoSchemas:
    """Schema client of a link whose file names no registry; changes nothing.

    Args:
        books: What the ledger knows of the link.
    """

    def __init__(self, books: LinkBooks) -> None:
        self._books = books

    def observe(self) -> ObservedSchemas:
        """Return an empty observation."""
        return ObservedSchemas()

    def again(self, seen: ObservedSchemas) -> ObservedSchemas:
        """Return the observation unchanged, as there is no registry to ask."""
        return seen

    def diff(self, seen: ObservedSchemas, around: SubjectContext) -> Difference[SchemaStep]:
        """Return no difference; note unfinished steps from when the file had registries."""
        del seen, around
        past = Past()
        past.read(self._books.journal)
        return Difference(notes=tuple(Note(SCHEMAS, text) for text in _left(past)))

    def foresee(
        self, seen: ObservedSchemas, found: Difference[SchemaStep]
    ) -> Iterator[Note | Problem]:
        """Yield nothing, as there is nothing to plan."""
        del seen, found
        yield from ()

    def check(self, steps: Sequence[SchemaStep]) -> CheckedSteps[SchemaStep]:
        """Return the steps unchecked, as a registry cannot check a schema before its references."""
        return CheckedSteps(tuple(steps))

    def present(self, steps: Sequence[SchemaStep]) -> Mapping[str, TopicId]:
        """Return an empty mapping, as there is no registry."""
        del steps
        return {}

    def apply(self, steps: Sequence[SchemaStep]) -> Changed:
        """Refuse steps of a saved plan, as the file no longer names a registry."""
        error = StepOutdatedError("the file", "a section `schemas`", "none")
        return Changed(failed={step.about: error for step in steps})

    def settle(self, steps: Sequence[SchemaStep]) -> Mapping[str, SettledStep]:
        """Return an empty mapping, as the next difference shows unfinished work."""
        del steps
        return {}

    def owned(self, steps: Sequence[SchemaStep]) -> frozenset[str]:
        """Return an empty set, as schemas are never removed and ownership does not matter."""
        del steps
        return frozenset()

    def outdated(self, step: SchemaStep) -> StepOutdatedError | None:
        """Return `None`, as only the usual checks apply to such a step."""
        del step
        return None


def _left(past: Past) -> Iterator[str]:
    """Yield what cannot be restored without the registries."""
    if names := sorted(past.touched):
        yield (
            f"steps about {counted(len(names), 'subject')} ({names[0]}) were interrupted, and the"
            " file has no section `schemas` now: their modes may not be those of before; sync once"
            " with the section, or look at the registry"
        )
