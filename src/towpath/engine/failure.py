"""The error to show for a failed Spark job: Towpath's own, or Spark's first line. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from towpath.model.errors import ClusterError, TaskFailedError, TowpathError, WorkersError

OURS = re.compile(r"towpath\.[\w.]+\.(\w+Error): (.+)")
"""One of our errors in Spark's text, by its class and its sentence."""

_TRACEBACK = "Traceback (most recent call last):"


class SliceFailedError(RuntimeError):
    """A slice failed in a local process; the text is that of the cause."""


def of_spark(error: RuntimeError) -> TowpathError:
    """Return the Towpath error behind a failed job.

    A `WorkersError` if workers cannot run slices, a `TaskFailedError` if another of our errors was
    raised, with the code of that error.
    """
    text = str(error).strip()
    found = OURS.findall(text)
    if found:
        name, said = found[-1]
        kind = _kinds().get(name, ClusterError)
        if kind is WorkersError:  # what the program prints that starts a worker's Python
            return WorkersError(said)
        return TaskFailedError(said, kind.code, kind.exit_code)
    if isinstance(error, SliceFailedError):
        return TowpathError(f"a slice failed: {text.splitlines()[-1] if text else 'no reason'}")
    lines = text.splitlines() or [type(error).__name__]
    # Of a traceback, which functions of users leave, the last line says what is wrong.
    said = lines[-1] if _TRACEBACK in text else lines[0]
    return TowpathError(f"Spark failed: {said}")


def _kinds() -> dict[str, type[TowpathError]]:
    """Return the classes of our errors by their names, of which each is one class only."""
    return {kind.__name__: kind for kind in _below(TowpathError)}


def _below(kind: type[TowpathError]) -> Iterator[type[TowpathError]]:
    yield kind
    for each in kind.__subclasses__():
        yield from _below(each)
