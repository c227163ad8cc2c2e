"""The log cleaner of brokers: for which topics it works, as far as configs tell. Pure.

Where a broker runs none, it removes nothing of a topic whose policy names `compact`: retention of
such a topic is the cleaner's work, too (`LogManager.cleanupLogs`, `LogCleaner.CleanerThread`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

RATIO = "min.cleanable.dirty.ratio"
_POLICY, _MOST = "cleanup.policy", "max.compaction.lag.ms"
_NO_LIMIT = (1 << 63) - 1

STOPS: Mapping[str, str] = MappingProxyType(
    {"log.cleaner.enable": "false", "log.cleaner.threads": "0"}
)
"""Broker configs, each with the value by which no cleaner runs. Brokers that do not know one run
the cleaner."""


def stops_in_any(brokers: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the configs by which some broker runs no cleaner; empty if all run it."""
    return next(filter(None, map(_stops_in, brokers)), {})


def stops_in_all(brokers: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the configs by which no broker runs a cleaner; empty if one does."""
    found = [_stops_in(each) for each in brokers]
    return found[0] if found and all(found) else {}


def _stops_in(configs: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in STOPS.items() if configs.get(key) == value}


def left_alone(configs: Mapping[str, str]) -> str:
    """Return the broker config by which nothing of a compacted topic is removed, "" for none.

    Args:
        configs: The configs in effect on the topic, with those by which no cleaner runs.
    """
    if not _compacted(configs):
        return ""
    return next((f"{key}={value}" for key, value in _stops_in(configs).items()), "")


def is_cleaned(configs: Mapping[str, str]) -> bool:
    """Return whether the cleaner compacts a topic; for the argument see `left_alone`."""
    return _compacted(configs) and not left_alone(configs) and not never_dirty(configs)


def never_dirty(configs: Mapping[str, str]) -> bool:
    """Return whether the cleaner never finds enough in a topic to compact it.

    It compacts a log of which a larger part than `min.cleanable.dirty.ratio` is new, or that
    `max.compaction.lag.ms` does not let wait (`LogCleanerManager.grabFilthiestCompactedLog`).
    """
    try:
        ratio, most = float(configs.get(RATIO, "0")), int(configs.get(_MOST, _NO_LIMIT))
    except ValueError:
        return False
    return ratio >= 1 and most >= _NO_LIMIT


def _compacted(configs: Mapping[str, str]) -> bool:
    return "compact" in configs.get(_POLICY, "")
