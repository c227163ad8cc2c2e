"""Kinds of steps: their order, their batches, and their form in plans and journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, Field, dataclass
from functools import cache
from itertools import groupby
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import TopicName
from towpath.model.portions import portions

Key = tuple[str, str, str, str]
"""The journal's key of a step: subject, name, kind, and part."""
FULL_BATCH = 400
"""Upper bound on the sum of the weights in a batch of steps."""
AT_ONCE = 100
"""Upper bound on the number of steps in a batch. A stop takes effect after a batch."""
_SHOWN = 60
"""Number of characters of an invalid value that a message shows."""


class Step(Protocol):
    """One change to the target, as a frozen dataclass of values that JSON can hold."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def subject(self) -> str:
        """The subject that the step belongs to, such as `topics`."""
        ...

    @property
    def about(self) -> str:
        """The name of the object that the step changes."""
        ...

    @property
    def creates(self) -> bool:
        """Whether the step creates the object."""
        ...


S = TypeVar("S", bound=Step)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepKind(Generic[S]):
    """A kind of step.

    Attributes:
        step: The class of the steps.
        verb: A verb for people, such as `create`.
        removes: Whether the steps remove something from the target.
        grants: Whether the steps grant access, which the source may have revoked since the plan.
        reviewed: Returns whether the subject's client is asked about a step before it is done, as
            its precondition does not show all that may have changed since the plan.
        once: Whether a thing that the link created once is neither created nor compared again.
        identified: Whether the target gives the thing an id. The journal keeps the id, and what a
            process created before it died is recognised by it.
        first: Returns whether a step is done before all others of the plan.
        apart: Returns a value; steps with different values are never in one batch.
        weight: Returns how much of `FULL_BATCH` a step takes.
        part: Returns what distinguishes two steps of this kind about one thing in the journal.
        blamed: Returns the name under which the failure of a step is reported.
        topic: Returns the source topic that a step is about, `None` if it is about something else.
    """

    step: type[S]
    verb: str
    _: KW_ONLY
    removes: bool = False
    grants: bool = False
    once: bool = False
    identified: bool = False
    reviewed: Callable[[S], bool] = lambda _step: False
    first: Callable[[S], bool] = lambda _step: False
    apart: Callable[[S], Hashable] = lambda _step: None
    weight: Callable[[S], int] = lambda _step: 1
    part: Callable[[S], str] = lambda _step: ""
    blamed: Callable[[S], str] = lambda step: step.about
    topic: Callable[[S], TopicName | None] = lambda _step: None

    @property
    def name(self) -> str:
        """The name of the kind in JSON and in the journal."""
        return self.step.__name__


class StepKinds:
    """The kinds of steps, in the order of application."""

    def __init__(self, kinds: Iterable[StepKind[Any]]) -> None:
        self._all = tuple(kinds)
        self._of = {kind.step: (at, kind) for at, kind in enumerate(self._all)}
        self._named = {kind.name: kind for kind in self._all}

    def __iter__(self) -> Iterator[StepKind[Any]]:
        return iter(self._all)

    def __contains__(self, name: object) -> bool:
        return name in self._named

    def of(self, step: S) -> StepKind[S]:
        """Return the kind of a step."""
        return self._of[type(step)][1]

    def verb(self, name: str) -> str:
        """Return the verb of a kind; for a kind of another version, the kind's name."""
        kind = self._named.get(name)
        return kind.verb if kind is not None else name

    def key(self, step: Step) -> Key:
        """Return the journal's key of a step: subject, name, kind, and part."""
        kind = self.of(step)
        return step.subject, step.about, kind.name, kind.part(step)

    def ordered(self, steps: Iterable[S]) -> tuple[S, ...]:
        """Return steps in the order of application; steps of one kind keep their order."""
        return tuple(sorted(steps, key=self._rank))

    def verbs(self, steps: Iterable[Step]) -> str:
        """Return the number of steps of each kind as text, such as `3 to create, 1 to grow`."""
        counted = Counter(self.of(step).verb for step in steps)
        return ", ".join(f"{number} to {verb}" for verb, number in counted.items())

    def by_subject(self, names: Iterable[str], steps: Iterable[Step]) -> Iterator[str]:
        """Yield what steps do, as `quotas: 3 to set`, for each of these subjects that has some."""
        every = tuple(steps)
        for name in names:
            if some := [step for step in every if step.subject == name]:
                yield f"{name}: {self.verbs(some)}"

    def _rank(self, step: Step) -> tuple[bool, int]:
        at, kind = self._of[type(step)]
        return not kind.first(step), at

    def from_data(self, data: Mapping[str, Any], path: str) -> Any:
        """Parse the JSON data of a step that `as_data` wrote.

        Args:
            data: The step as read from JSON.
            path: Its path in the file, for error messages.

        Raises:
            ConfigError: The data is not a step of these kinds.
        """
        kind = self._named.get(str(data.get("do")))
        if kind is None:
            text = (
                f"{data.get('do')!r} is no step that this Towpath knows; use the one that planned"
                " it"
            )
            raise ConfigError((ConfigProblem(path, text),))
        fields = {key: value for key, value in data.items() if key not in {"do", "subject"}}
        step: type[Step] = kind.step
        try:
            return _adapter(step).validate_python(fields)
        except ValidationError as error:
            problems = (
                ConfigProblem(".".join((path, *map(str, each["loc"]))), _unknown(each))
                for each in error.errors(include_url=False)
            )
            raise ConfigError(tuple(problems)) from error


def batches(steps: Iterable[Step], kinds: StepKinds) -> Iterator[list[Step]]:
    """Yield ordered steps in batches of one kind each."""

    def alike(step: Step) -> object:
        kind = kinds.of(step)
        return kind.name, kind.apart(step)

    def weight(step: Step) -> int:
        return kinds.of(step).weight(step)

    for _, together in groupby(steps, key=alike):
        yield from map(list, portions(together, weight, FULL_BATCH, AT_ONCE))


def as_data(step: Step) -> dict[str, Any]:
    """Return a step as data for JSON."""
    fields = _adapter(type(step)).dump_python(step, mode="json")
    return {"do": type(step).__name__, "subject": step.subject, **fields}


@cache
def _adapter(step: type[Step]) -> TypeAdapter[Any]:
    """Return the reader and writer of a step class; cached, as a ledger may hold thousands."""
    return TypeAdapter(step)


def _unknown(found: ErrorDetails) -> str:
    if found["type"] == "missing":
        return "is missing; make the plan again"
    value = repr(found["input"])[:_SHOWN]
    return f"{value} is nothing that this Towpath knows; use the one that planned it"
