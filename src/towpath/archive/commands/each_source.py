"""Look at the sources of a restore one by one; a source that fails stops no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from towpath.archive.errors import CommitLogError
from towpath.archive.restore.task import RestoreTask
from towpath.archive.show.restore_shapes import FailedSourceJson, SourcesJson, Told
from towpath.model.errors import StoreError

Look = TypeVar("Look")


@dataclass(frozen=True, slots=True)
class FailedSource:
    """A source of a restore that could not be read, with the error.

    Attributes:
        task: Its restore.
        error: The error of its store or of its commit log.
    """

    task: RestoreTask
    error: StoreError | CommitLogError

    def __str__(self) -> str:
        """Return it as a line for people."""
        return f"restore {self.task.name}: {self.error}; see `towpath explain {self.error.code}`"

    def as_data(self) -> FailedSourceJson:
        """Return the failed source as data for JSON."""
        return {
            "restore": self.task.name,
            "source": self.task.source,
            "region": self.task.region,
            "error": str(self.error),
            "code": self.error.code,
        }


@dataclass(frozen=True, slots=True)
class LookedSources(Generic[Look]):
    """Results of looking at the sources of a restore, and the sources that failed.

    Attributes:
        found: What was seen of each source that could be looked at.
        failed: The others.
    """

    found: tuple[Look, ...]
    failed: tuple[FailedSource, ...] = ()

    def data(self, as_data: Callable[[Look], Told]) -> Told | SourcesJson[Told]:
        """Return the results as data for JSON; a single result is not wrapped in a list."""
        data = list(map(as_data, self.found))
        if len(data) == 1 and not self.failed:
            return data[0]
        return {"sources": [*data, *(each.as_data() for each in self.failed)]}


def look_at_each(
    tasks: Sequence[RestoreTask], look: Callable[[RestoreTask], Look]
) -> LookedSources[Look]:
    """Call `look` for each source of a restore, and collect results and failures.

    Args:
        tasks: The restores of the sources.
        look: Looks at one of them.

    Raises:
        TowpathError: No source could be looked at, or not for lack of its archive.
    """
    found, failed = list[Look](), list[FailedSource]()
    for each in tasks:
        try:
            found.append(look(each))
        except (StoreError, CommitLogError) as error:
            failed.append(FailedSource(each, error))
    if not found:
        raise failed[0].error
    return LookedSources(tuple(found), tuple(failed))
