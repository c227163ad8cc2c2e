"""The error to show for a Spark job that failed: ours, or the first line of Spark's. Pure."""

from __future__ import annotations

import re

from towpath.model.errors import ClusterError, TowpathError, WorkersError

OURS = re.compile(r"towpath\.[\w.]+\.(\w+Error): (.+)")
"""One of our errors in Spark's text, by its class and its sentence."""
_OF_WORKERS = WorkersError.__name__
"""What the program that starts a worker's Python prints (`engine/packages.py`)."""


def of_spark(error: RuntimeError) -> TowpathError:
    """Return the error behind a failed job.

    A `WorkersError` if workers cannot run slices, a `ClusterError` if another of our errors was
    raised.
    """
    text = str(error).strip()
    found = OURS.findall(text)
    if found:
        name, said = found[-1]
        return WorkersError(said) if name == _OF_WORKERS else ClusterError(said)
    return TowpathError(f"Spark failed: {text.splitlines()[0] if text else type(error).__name__}")
