"""The log of a process without a terminal: a line on stderr for each event, with facts as keys.

Without `begin`, nothing is logged, and structlog is not loaded: that takes a tenth of a second.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_log: Any = None


class LogLevel(StrEnum):
    """The levels of the log: every event, only those that need attention, or none."""

    INFO = "info"
    WARNING = "warning"
    NONE = "none"


class LogFormat(StrEnum):
    """The formats of a log line."""

    LOGFMT = "logfmt"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class LogWanted:
    """The options of the log: level and format."""

    level: LogLevel = LogLevel.INFO
    form: LogFormat = LogFormat.LOGFMT


@dataclass(frozen=True, slots=True)
class _Stderr:
    """Writes lines to whatever `sys.stderr` is at that moment; it moves while Spark starts."""

    level: LogLevel

    def info(self, line: str) -> None:
        if self.level is LogLevel.INFO:
            _write(line)

    def warning(self, line: str) -> None:
        if self.level is not LogLevel.NONE:
            _write(line)


def _write(line: str) -> None:
    try:
        sys.stderr.write(f"{line}\n")
    except ValueError:  # it was closed between the look at it and the writing
        sys.stderr.write(f"{line}\n")


def is_begun() -> bool:
    """Return whether this process has a log."""
    return _log is not None


def begin(wanted: LogWanted) -> None:
    """Start logging."""
    import structlog  # noqa: PLC0415

    global _log  # noqa: PLW0603  # the log of a process is one
    _log = structlog.wrap_logger(
        _Stderr(wanted.level),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _without_empty,
            *_rendering(wanted.form),
        ],
    )


def _rendering(form: LogFormat) -> list[Any]:
    import structlog  # noqa: PLC0415

    if form is LogFormat.JSON:
        return [structlog.processors.JSONRenderer(sort_keys=False)]
    order = ["timestamp", "level", "event", "link", "about"]
    logfmt = structlog.processors.LogfmtRenderer(
        key_order=order, drop_missing=True, bool_as_flag=False
    )
    return [_as_text, logfmt]


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


def _without_empty(_logger: object, _level: str, facts: MutableMapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in facts.items() if value not in ("", None)}


def _as_text(_logger: object, _level: str, facts: MutableMapping[str, Any]) -> dict[str, Any]:
    """Write what is nested as JSON."""
    return {
        key: json.dumps(value) if isinstance(value, list | dict | tuple) else value
        for key, value in facts.items()
    }
