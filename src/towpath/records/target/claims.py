"""Claims on the next marker of a partition, which only one copier can win. Pure.

A leader keeps the producer epoch and the coordinator epoch of the last marker of a producer id, and
refuses a marker if either is lower. These two numbers make a register that only one of several
copiers can change from the value that all of them have read (docs/decisions/0017):

    coordinator epoch = number * 2^15 + (2^15 - 1 - epoch)

A copier that takes over writes a marker with the next number and a higher epoch, chosen at random.
Of two such markers, one has the higher producer epoch and the other has the higher coordinator
epoch, so the leader refuses the second one. The owner of the register ends each gap with the next
number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from towpath.cluster.admin.markers import Marker
from towpath.cluster.metadata import ProducerState
from towpath.model.nouns import ProducerId
from towpath.runtime.chance import CHANCE

_EPOCHS = 1 << 15
_NUMBERS = 1 << 16
_STEP = 4096
"""Number of epochs among which a copier that takes over chooses."""
_CLOSED = _EPOCHS - _STEP
"""From this epoch on, the producer id is closed, and the next one is used."""
IDS = 1024
"""Number of producer ids of a partition for markers: the first one and those after it, in turn."""


class ExhaustedError(Exception):
    """All producer ids for markers are used up until the target forgets the first."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Content of a marker: index of its producer id, number, and its writer's epoch."""

    index: int
    number: int
    epoch: int

    def marker(self, first_id: ProducerId) -> Marker:
        """Return the marker with this content."""
        coordinator_epoch = self.number * _EPOCHS + (_EPOCHS - 1 - self.epoch)
        return Marker(ProducerId(first_id + self.index), self.epoch, coordinator_epoch)

    @property
    def closed(self) -> bool:
        """Whether the claim's producer id is closed."""
        return self.epoch >= _CLOSED

    @property
    def lasts(self) -> bool:
        """Whether the owner can use one more number and still leave one for a successor."""
        return not self.closed and self.number < _NUMBERS - 2

    def next(self) -> Claim:
        """Return the claim with which the owner ends a gap."""
        return replace(self, number=self.number + 1)


def standing(states: Iterable[ProducerState], first_id: ProducerId) -> Claim | None:
    """Return the present claim, `None` if the target has none.

    Args:
        states: The producer state of the partition.
        first_id: The first producer id for markers.

    Raises:
        ExhaustedError: All producer ids for markers are closed.
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
    """Return a random claim for a copier that takes over from `held`."""
    drawn = CHANCE.randrange(_STEP)
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
        return None  # written by something else
    return Claim(index, number, state.epoch)
