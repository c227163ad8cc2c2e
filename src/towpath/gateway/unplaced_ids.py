"""Transactional ids that come to a cluster which may not know them. Pure.

While only some topics are promoted, a new transactional id begins at the source. Where the first
topic that it writes to is promoted already, it moves by itself before its transaction begins. So
does an id that began at the source before its gateway was started anew. Clients wait meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeVar

_Key = TypeVar("_Key")
_MOST = 50_000
"""Transactional ids of which it is remembered that they are settled, or were refused."""


class PlaceVerdict(Enum):
    """What becomes of a request that begins a transaction."""

    PASS = auto()
    WAIT = auto()
    REFUSE = auto()


@dataclass(frozen=True, slots=True)
class UnplacedId:
    """A transactional id that waits until it is known where it is.

    Attributes:
        producer: The producer id that its client holds; `epoch`, the epoch.
        wants: What it wants to write to, for people.
        movable: Whether all of that is on the target.
        at_target: Whether its client asked the target.
    """

    producer: int
    epoch: int
    wants: str
    movable: bool
    at_target: bool


@dataclass(slots=True)
class UnplacedIds:
    """Transactional ids that wait, and those that are settled."""

    wanted: dict[str, UnplacedId] = field(default_factory=dict)
    _aborting: dict[str, None] = field(default_factory=dict)
    _refused: dict[tuple[str, UnplacedId], None] = field(default_factory=dict)
    _settled: dict[str, None] = field(default_factory=dict)

    def verdict(self, name: str, wanted: UnplacedId) -> PlaceVerdict:
        """Return what becomes of a request; one that waits is asked about again."""
        if (name, wanted) in self._refused:
            del self._refused[name, wanted]
            _remember(self._aborting, name)
            return PlaceVerdict.REFUSE
        if wanted.at_target and wanted.movable and name in self._settled:
            return PlaceVerdict.PASS
        self.wanted[name] = wanted
        return PlaceVerdict.WAIT

    def has_begun_nothing(self, name: str, *, committed: bool) -> bool:
        """Whether a client ends a transaction that was refused before it began, by an abort.

        Librdkafka asks for that, which a broker takes for an error that ends its producer. It asks
        again where the answer was lost.
        """
        return name in self._aborting and not committed

    def begins(self, name: str) -> None:
        """Note that a transaction of an id begins, so that ends are of this one from now on."""
        self._aborting.pop(name, None)

    def settles(self, name: str) -> None:
        """Note that the target knows an id as well as it ever will."""
        self.wanted.pop(name, None)
        _remember(self._settled, name)

    def leaves(self, name: str) -> None:
        """Note that an id moved, so that nothing of before counts."""
        self.wanted.pop(name, None)
        self._settled.pop(name, None)

    def refuses(self, name: str) -> None:
        """Refuse what an id waits for."""
        wanted = self.wanted.pop(name, None)
        if wanted is not None:
            _remember(self._refused, (name, wanted))


def _remember(known: dict[_Key, None], key: _Key) -> None:
    """Add a key, and drop the oldest one where there are too many."""
    known[key] = None
    if len(known) > _MOST:
        del known[next(iter(known))]
