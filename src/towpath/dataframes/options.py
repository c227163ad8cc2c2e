"""Options of the source, in the words of Spark's own Kafka source. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeVar

from towpath.dataframes.login import KAFKA, cluster_of
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.foreign import foreign
from towpath.settings import ClusterConfig
from towpath.settings.naming import require_expressions

T = TypeVar("T")

EARLIEST, LATEST = -2, -1
"""Offsets of `startingOffsets` with a meaning of their own, as in Spark and Kafka."""
_WHICH = ("subscribe", "subscribePattern", "assign")
_OTHERS = (
    "startingOffsets", "endingOffsets", "startingTimestamp", "endingTimestamp",
    "startingOffsetsByTimestamp", "endingOffsetsByTimestamp", "includeHeaders", "failOnDataLoss",
    "maxOffsetsPerTrigger", "maxRecordsPerPartition", "minPartitions", "pushFilters",
)  # fmt: skip
KNOWN = {each.lower(): each for each in (*_WHICH, *_OTHERS)}

Place = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True, slots=True)
class OffsetBound:
    """The bound at which reading begins or ends: earliest, latest, or given offsets or times.

    Attributes:
        offset: Of partitions that `offsets` does not name: `EARLIEST` or `LATEST`.
        time: Instead: the first record with this timestamp (ms) or a later one.
        offsets: Offsets of single partitions.
        times: Timestamps (ms) of single partitions.
    """

    offset: int = LATEST
    time: int | None = None
    offsets: Mapping[Place, int] = field(default_factory=dict)
    times: Mapping[Place, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options of a query: topics, offset bounds and limits.

    Attributes:
        cluster: The brokers, and how to log in.
        topics: Names of topics.
        pattern: Instead: a regular expression for whole names.
        places: Instead: partitions.
        start: Where reading begins, `None` for the default: the beginning of a batch, the end of a
            stream.
        end: Where a batch ends.
        headers: Whether there is the column `headers`.
        fails: Whether lost records end the query; else they are skipped, and told.
        most_offsets: The most offsets of a micro-batch, 0 for all.
        most_records: The most offsets of a task, 0 for all of its partition.
        least_tasks: The fewest tasks of a batch, as far as there are offsets.
        pushes: Whether a batch reads no more than filters want.
    """

    cluster: ClusterConfig
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    places: tuple[Place, ...] = ()
    start: OffsetBound | None = None
    end: OffsetBound = field(default_factory=OffsetBound)
    headers: bool = False
    fails: bool = True
    most_offsets: int = 0
    most_records: int = 0
    least_tasks: int = 0
    pushes: bool = False

    def asks_for(self, topic: str) -> bool:
        """Return whether the query reads a topic, if it is there."""
        if self.pattern is not None:
            return re.fullmatch(self.pattern, topic) is not None
        return topic in self.topics or topic in {name for name, _ in self.places}


def read_options(options: Mapping[str, str]) -> SourceOptions:
    """Read the options of a query.

    Args:
        options: As Spark gives them; the case of their names does not count.

    Raises:
        ConfigError: With every problem.
    """
    return _Reader({key.lower(): value for key, value in options.items()}).read()


def require_endless(options: Mapping[str, str]) -> None:
    """Raise if options of a stream say where it ends.

    Raises:
        ConfigError: With every such option.
    """
    why = "is for batches; a stream ends when it is stopped, or by trigger(availableNow=True)"
    found = [KNOWN.get(key.lower(), "") for key in options]
    if problems := tuple(ConfigProblem(key, why) for key in found if key.startswith("ending")):
        raise ConfigError(problems)


def require_bounded(options: SourceOptions) -> None:
    """Raise if options of a batch begin it at the latest offsets, or end it at the earliest ones.

    Nothing would be read. Spark's own source refuses that as well.

    Raises:
        ConfigError: With every such option.
    """
    problems = tuple(
        ConfigProblem(name, f"must not be {word} for a batch, which would read nothing")
        for name, word, bound in (
            ("startingOffsets", "latest", options.start),
            ("endingOffsets", "earliest", options.end),
        )
        if bound == OffsetBound(LATEST if word == "latest" else EARLIEST)
    )
    if problems:
        raise ConfigError(problems)


class _Reader:
    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given
        self._problems: list[ConfigProblem] = []

    def read(self) -> SourceOptions:
        self._unknown()
        chosen = [name for name in _WHICH if name.lower() in self._given]
        if len(chosen) != 1:
            self._wrong(_WHICH[0], f"give exactly one of {', '.join(_WHICH)}")
        cluster = self._tried(KAFKA, lambda: cluster_of(self._given))
        found = {
            "topics": self._get("subscribe", _names, ()),
            "pattern": self._get("subscribePattern", _pattern, None),
            "places": self._get("assign", _places, ()),
            "start": self._bound("starting", EARLIEST),
            "end": self._bound("ending", LATEST) or OffsetBound(),
            "headers": self._get("includeHeaders", flag, False),
            "fails": self._get("failOnDataLoss", flag, True),
            "most_offsets": self._get("maxOffsetsPerTrigger", _number, 0),
            "most_records": self._get("maxRecordsPerPartition", _number, 0),
            "least_tasks": self._get("minPartitions", _number, 0),
            "pushes": self._get("pushFilters", flag, False),
        }
        if self._problems or cluster is None:
            raise ConfigError(tuple(self._problems))
        return SourceOptions(cluster=cluster, **found)

    def _unknown(self) -> None:
        for key in self._given:
            if key in KNOWN or key.startswith(KAFKA) or key == "path":
                continue
            near = get_close_matches(key, KNOWN, n=1)
            hint = f"did you mean {KNOWN[near[0]]}?" if near else f"known are {_all()}"
            self._wrong(key, f"is not known; {hint}")

    def _wrong(self, path: str, text: str) -> None:
        self._problems.append(ConfigProblem(path, text))

    def _tried(self, path: str, made: Callable[[], T]) -> T | None:
        try:
            return made()
        except ConfigError as error:
            self._problems += error.problems
        except ValueError as error:
            self._wrong(path, foreign(error))
        return None

    def _get(self, name: str, read: Callable[[str], Any], default: Any) -> Any:
        value = self._given.get(name.lower())
        return default if value is None else self._tried(name, lambda: read(value))

    def _bound(self, which: str, usual: int) -> OffsetBound | None:
        """Return where reading begins or ends; `None` where no option says it.

        Of several options the first of these counts, as in Spark.
        """
        names = {
            f"{which}Timestamp": lambda text: OffsetBound(time=_number(text)),
            f"{which}OffsetsByTimestamp": lambda text: OffsetBound(usual, times=_by_place(text)),
            f"{which}Offsets": lambda text: _bound(text, usual),
        }
        for name, read in names.items():
            if name.lower() in self._given:
                found: OffsetBound | None = self._get(name, read, None)
                return found
        return None


def _all() -> str:
    return ", ".join((*KNOWN.values(), f"{KAFKA}bootstrap.servers and other kafka.*"))


def _names(text: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    if not names:
        raise ValueError("names no topic")
    return names


def _pattern(text: str) -> str:
    require_expressions((text,), "subscribePattern")
    return text


def _places(text: str) -> tuple[Place, ...]:
    found = _json(text, '{"orders": [0, 1]}')
    lists = [each if isinstance(each, list) else [None] for each in found.values()]
    if not all(map(_is_whole, (number for numbers in lists for number in numbers))):
        raise ValueError('must be such as {"orders": [0, 1]}')
    places = tuple((topic, number) for topic, numbers in found.items() for number in numbers)
    if not places:
        raise ValueError("names no partition")
    return places


def _is_whole(number: object) -> bool:
    return type(number) is int and number >= 0


def _bound(text: str, usual: int) -> OffsetBound:
    word = text.strip().lower()
    if word in {"earliest", "latest"}:
        return OffsetBound(EARLIEST if word == "earliest" else LATEST)
    return OffsetBound(usual, offsets=_by_place(text, EARLIEST))


def _by_place(text: str, least: int = 0) -> dict[Place, int]:
    like = '{"orders": {"0": 23, "1": -2}}' if least else '{"orders": {"0": 1700000000000}}'
    found = _json(text, like)
    try:
        made = {
            (topic, int(number)): value
            for topic, numbers in found.items()
            for number, value in numbers.items()
        }
    except (AttributeError, ValueError):
        raise ValueError(f"must be such as {like}") from None
    for (topic, number), value in made.items():
        if type(value) is not int or value < least:
            text = f"{topic}-{number}: {json.dumps(value)} is no whole number of {least} or more"
            raise ValueError(text)
    return made


def _json(text: str, like: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"must be a word or JSON such as {like}")  # noqa: TRY004, of a text
    return found


def flag(text: str) -> bool:
    """Return the boolean value of an option, `true` or `false`.

    Raises:
        ValueError: It is neither.
    """
    if text.strip().lower() not in {"true", "false"}:
        raise ValueError(f"must be true or false, not {text!r}")
    return text.strip().lower() == "true"


def _number(text: str) -> int:
    if not re.fullmatch(r"\s*\d{1,18}\s*", text):
        raise ValueError(f"must be a whole number, not {text!r}")
    return int(text)
