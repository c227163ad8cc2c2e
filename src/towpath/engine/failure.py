"""What an error of a Spark job says to people: our own sentence, or Spark's first line. Pure."""

from __future__ import annotations

import re

from towpath.model.errors import ClusterError, TowpathError

_OURS = re.compile(r"towpath\.[\w.]+\.\w+Error: (.+)")


def of_spark(error: RuntimeError) -> TowpathError:
    """Return the error of ours that a task or the planner raised, a `ClusterError` then."""
    text = str(error).strip()
    found = _OURS.findall(text)
    if found:
        return ClusterError(found[-1])
    return TowpathError(f"Spark failed: {text.splitlines()[0] if text else type(error).__name__}")
