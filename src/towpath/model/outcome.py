"""Values for work that can fail in part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from towpath.model.errors import TowpathError

T = TypeVar("T")
Name = TypeVar("Name", bound=str)


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """The completed items, and the reasons for incomplete ones, by name."""

    done: tuple[T, ...] = ()
    failed: Mapping[str, TowpathError] = field(default_factory=dict)


@dataclass(slots=True)
class Changed:
    """The results of changes that were made together, by the name of the changed object.

    Attributes:
        done: The seconds that each took, its share of its request's; `None` where it was there
            already as the change would leave it.
        failed: Why the others were not made.
    """

    done: dict[str, float | None] = field(default_factory=dict)
    failed: dict[str, TowpathError] = field(default_factory=dict)

    @contextmanager
    def about(self, name: str) -> Iterator[None]:
        """Record the error of one item within the context, so that the others continue."""
        try:
            yield
        except TowpathError as error:
            self.failed[name] = error

    def take(self, done: Mapping[Name, float], failed: Mapping[Name, TowpathError]) -> None:
        """Add the result of a request."""
        self.done.update(done.items())
        self.failed.update(failed.items())

    def sure(self, name: str) -> None:
        """Raise the error of the change with this name, if it failed."""
        if name in self.failed:
            raise self.failed[name]
