"""Who may write the next marker of a partition: one copier, however many try. Pure.

A leader remembers the producer epoch and the coordinator epoch of the last marker of an id, and
refuses a marker where either is lower. From these two numbers we make a register that only one of
several copiers can change from what all of them saw (docs/decisions/0017):

    coordinator epoch = number * 2^15 + (2^15 - 1 - epoch)

Whoever takes over writes a marker with the next number and a higher epoch, drawn at random. Of two
such markers one has the higher producer epoch, and the other the higher coordinator epoch, so
whichever lands second is refused. Its owner ends each gap with the next number.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace

from towpath.cluster.admin.markers import Marker
from towpath.cluster.metadata import ProducerState
from towpath.model.nouns import ProducerId

_EPOCHS = 1 << 15
_NUMBERS = 1 << 16
_STEP = 4096
"""Epochs among which a copier that takes over draws its own."""
_CLOSED = _EPOCHS - _STEP
"""From this epoch on nobody writes under the id any more; the next id is used."""
IDS = 1024
"""Ids of a partition that serve for markers: the first one and those behind it, in turn."""


class ExhaustedError(Exception):
    """All ids of a partition are used up, until the target forgets the first of them."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What the last marker said: which of the ids, which number, and the epoch of its writer."""

    index: int
    number: int
    epoch: int

    def marker(self, first_id: ProducerId) -> Marker:
        """Return the marker that says so."""
        coordinator_epoch = self.number * _EPOCHS + (_EPOCHS - 1 - self.epoch)
        return Marker(ProducerId(first_id + self.index), self.epoch, coordinator_epoch)

    @property
    def closed(self) -> bool:
        """Whether nobody writes under this id any more."""
        return self.epoch >= _CLOSED

    @property
    def lasts(self) -> bool:
        """Whether its owner may write on with the next number, and be followed by somebody."""
        return not self.closed and self.number < _NUMBERS - 2

    def next(self) -> Claim:
        """Return the claim with which the owner ends a gap."""
        return replace(self, number=self.number + 1)


def standing(states: Iterable[ProducerState], first_id: ProducerId) -> Claim | None:
    """Return the claim that holds now, `None` where the target remembers none.

    Args:
        states: What the leader remembers of all producers of the partition.
        first_id: The first id that serves for markers.
    """
    found = {claim.index: claim for state in states if (claim := _read(state, first_id))}
    open_ones = [claim for claim in found.values() if not claim.closed]
    if open_ones:
        return max(open_ones, key=lambda claim: claim.number)
    last = (claim for index, claim in found.items() if (index + 1) % IDS not in found)
    claim = next(last, None)
    if found and claim is None:
        raise ExhaustedError
    return claim


def taken_over(held: Claim | None) -> Claim:
    """Return the claim of a copier that takes over from `held`; no two are alike, nearly."""
    drawn = random.randrange(_STEP)  # noqa: S311, no secret
    if held is None or held.closed:
        index = 0 if held is None else (held.index + 1) % IDS
        return Claim(index, 0, drawn)
    epoch = held.epoch + 1 + drawn if held.lasts else _CLOSED + drawn
    return Claim(held.index, held.number + 1, epoch)


def _read(state: ProducerState, first_id: ProducerId) -> Claim | None:
    index = state.id - first_id
    if not 0 <= index < IDS or state.coordinator_epoch < 0:
        return None
    number, rest = divmod(state.coordinator_epoch, _EPOCHS)
    if rest != _EPOCHS - 1 - state.epoch:
        return None  # not by one of us
    return Claim(index, number, state.epoch)
