"""The error to show for a Spark job that failed: ours, or the first line of Spark's. Pure."""

from __future__ import annotations

import re

from towpath.model.errors import ClusterError, TowpathError

_OURS = re.compile(r"towpath\.[\w.]+\.\w+Error: (.+)")


def of_spark(error: RuntimeError) -> TowpathError:
    """Return the error behind a failed job, a `ClusterError` if one of our errors was raised."""
    text = str(error).strip()
    found = _OURS.findall(text)
    if found:
        return ClusterError(found[-1])
    return TowpathError(f"Spark failed: {text.splitlines()[0] if text else type(error).__name__}")
