"""The log of a process without a terminal: a line on stderr for each event, with facts as keys.

Without `begin`, nothing is logged, and structlog is not loaded: that takes a tenth of a second.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any

_log: Any = None


class _Stderr:
    """Writes lines to whatever `sys.stderr` is at that moment; it moves while Spark starts."""

    def info(self, line: str) -> None:
        sys.stderr.write(f"{line}\n")

    warning = info


def begin() -> None:
    """Log from now on."""
    import structlog  # noqa: PLC0415

    global _log  # noqa: PLW0603  # the log of a process is one
    order = ["timestamp", "level", "event", "link", "about"]
    _log = structlog.wrap_logger(
        _Stderr(),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _as_text,
            structlog.processors.LogfmtRenderer(
                key_order=order, drop_missing=True, bool_as_flag=False
            ),
        ],
    )


def event(what: str, link: str, about: str, facts: Mapping[str, Any], *, trouble: bool) -> None:
    """Log an event.

    Args:
        what: What happened, such as `round.ended`.
        link: The link.
        about: The thing that it happened to, "" for the link itself.
        facts: More about it.
        trouble: Log it as a warning.
    """
    if _log is not None:
        tell = _log.warning if trouble else _log.info
        tell(what, link=link, **({"about": about} if about else {}), **facts)


def _as_text(_logger: object, _level: str, facts: MutableMapping[str, Any]) -> dict[str, Any]:
    """Leave out what is empty; write what is nested as JSON."""
    return {
        key: json.dumps(value) if isinstance(value, list | dict | tuple) else value
        for key, value in facts.items()
        if value not in ("", None)
    }
