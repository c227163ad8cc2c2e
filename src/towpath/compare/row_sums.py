"""Digests of the rows of source partitions in target partitions, for links that change records.

Where a query makes records, no offset says which one of the target belongs to which one of the
source. But those that come from one source partition keep their order in each target partition. So
both sides are digested by such pairs, in order; rows are only listed where digests differ.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from towpath.model.digest import Digest
from towpath.model.nouns import TopicName, TopicPartition
from towpath.wire.batch import Table
from towpath.wire.digest import Hashes, fold

Pair = tuple[TopicPartition, TopicPartition]
"""A source partition, and a target partition with records of it."""


@dataclass(frozen=True, slots=True)
class RowList:
    """Rows of a pair one by one, in order.

    Attributes:
        plain: Their hashes without timestamps.
        timed: The same with them.
        places: Their target offsets, or hashes of their keys where they are not written.
    """

    plain: Hashes = field(default_factory=lambda: np.empty(0, np.uint64))
    timed: Hashes = field(default_factory=lambda: np.empty(0, np.uint64))
    places: Table = field(default_factory=lambda: np.empty(0, np.int64))

    def then(self, later: RowList) -> RowList:
        """Return these rows and later ones."""
        return RowList(
            np.concatenate([self.plain, later.plain]),
            np.concatenate([self.timed, later.timed]),
            np.concatenate([self.places, later.places]),
        )


@dataclass(frozen=True, slots=True)
class RowSum:
    """The rows of a pair.

    Attributes:
        count: Their number.
        plain: Digest without timestamps, of all rows that were not skipped.
        timed: The same with them.
        untimed: Number of rows whose timestamp is the moment of writing.
        rows: The rows, if they were to be listed.
    """

    count: int = 0
    plain: Digest = field(default_factory=Digest)
    timed: Digest = field(default_factory=Digest)
    untimed: int = 0
    rows: RowList = field(default_factory=RowList)

    def then(self, later: RowSum) -> RowSum:
        """Return these rows and later ones."""
        return RowSum(
            self.count + later.count,
            self.plain.then(later.plain),
            self.timed.then(later.timed),
            self.untimed + later.untimed,
            self.rows.then(later.rows),
        )


@dataclass(frozen=True, slots=True)
class RowLook:
    """What is wanted of the rows of a part.

    Attributes:
        skips: By pair, how many rows its digests leave out from the first one on.
        lists: Pairs whose rows are listed.
    """

    skips: Mapping[Pair, int] = field(default_factory=dict)
    lists: frozenset[Pair] = frozenset()


class RowCollector:
    """Digests rows as they come.

    Args:
        look: What is wanted.
    """

    def __init__(self, look: RowLook) -> None:
        self._look = look
        self.found: dict[Pair, RowSum] = {}

    def take(
        self, pair: Pair, plain: Hashes, timed: Hashes, places: Table, untimed: int = 0
    ) -> None:
        """Add rows of a pair; for the arguments see `RowList`."""
        before = self.found.get(pair, RowSum())
        start = min(len(plain), max(0, self._look.skips.get(pair, 0) - before.count))
        rows = RowList(plain, timed, places) if pair in self._look.lists else RowList()
        made = RowSum(len(plain), fold(plain[start:]), fold(timed[start:]), untimed, rows)
        self.found[pair] = before.then(made)


def to_json(first: int, found: Mapping[Pair, RowSum]) -> str:
    """Return the sums of a part as text, with the offset at which the part begins."""
    return json.dumps([_line(pair, first, each) for pair, each in found.items()])


def from_json(texts: Iterable[str]) -> list[tuple[Pair, int, RowSum]]:
    """Return the sums in texts, by the offset at which their parts begin."""
    found = [each for text in texts for each in _read(text)]
    return sorted(found, key=lambda each: (each[0], each[1]))


def joined(parts: Iterable[tuple[Pair, int, RowSum]]) -> dict[Pair, RowSum]:
    """Return the sums of whole partitions, from those of their parts in order."""
    found: dict[Pair, RowSum] = {}
    for pair, _, each in parts:
        found[pair] = found[pair].then(each) if pair in found else each
    return found


def skips_of(
    parts: Iterable[tuple[Pair, int, RowSum]], wanted: Mapping[Pair, int]
) -> dict[int, dict[Pair, int]]:
    """Return how many rows each part leaves out, by the offset at which it begins.

    Args:
        parts: All parts, in order.
        wanted: How many rows are to be left out of each pair.
    """
    left, found = dict(wanted), dict[int, dict[Pair, int]]()
    for pair, first, each in parts:
        here = min(left.get(pair, 0), each.count)
        if here:
            found.setdefault(first, {})[pair] = here
            left[pair] -= here
    return found


def _read(text: str) -> Iterator[tuple[Pair, int, RowSum]]:
    for line in json.loads(text):
        topic, number, target, there, first, count, plain, timed, untimed, *lists = line
        pair = (
            TopicPartition(TopicName(topic), number), TopicPartition(TopicName(target), there)
        )  # fmt: skip
        rows = RowList(
            np.frombuffer(base64.b64decode(lists[0]), np.uint64),
            np.frombuffer(base64.b64decode(lists[1]), np.uint64),
            np.frombuffer(base64.b64decode(lists[2]), np.int64),
        )
        yield pair, first, RowSum(count, Digest(*plain), Digest(*timed), untimed, rows)


def _line(pair: Pair, first: int, each: RowSum) -> list[Any]:
    rows, places = each.rows, [part for tp in pair for part in (tp.topic, tp.partition)]
    sums = each.count, _digest(each.plain), _digest(each.timed), each.untimed
    lists = _text(rows.plain), _text(rows.timed), _text(rows.places)
    return [*places, first, *sums, *lists]


def _digest(digest: Digest) -> tuple[int, int, int]:
    return digest.records, digest.unordered, digest.ordered


def _text(numbers: npt.NDArray[Any]) -> str:
    return base64.b64encode(numbers.tobytes()).decode()
