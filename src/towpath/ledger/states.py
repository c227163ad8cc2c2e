"""The states of a link as types, each with its legal moves alone. Pure.

A move returns the next state; `entry` of it is what has to be in the ledger before any effect of
the move. Every move may be repeated after a kill: `state_of` returns the state in which the last
one left the link, and that state has the moves that are left.

    Mirroring -> Draining -> Sealed -> OneWay -> FailedOver -> Reversed
       ^          |          |
       +----------+----------+   the way back, until something is written that stays
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from towpath import __version__
from towpath.ledger.entries import LinkStage, LinkState
from towpath.model.errors import NewerStateError
from towpath.model.nouns import LinkName, TopicName


@dataclass(frozen=True, slots=True)
class Mover:
    """Who moves a link, and when.

    Attributes:
        user: The user of the operating system.
        host: The host name.
        at: The time, in ms since 1970.
    """

    user: str
    host: str
    at: int


@dataclass(frozen=True, slots=True)
class _State:
    """A state; `entry` is what the ledger holds, or has to hold, of it."""

    entry: LinkState

    def _moved(self, state: LinkStage, by: Mover, **changed: Any) -> LinkState:
        fresh: dict[str, Any] = {"deadline": 0, "waits_for": ""} | changed
        return replace(
            self.entry,
            state=state.value,
            since=by.at,
            user=by.user,
            host=by.host,
            version=__version__,
            **fresh,
        )


class _Copying(_State):
    """A state in which records are copied."""

    def seal(self, by: Mover, deadline: int) -> Sealed:
        """Stop copying, with the next attempt to seal the link."""
        attempt = self.entry.attempt + 1
        return Sealed(
            self._moved(
                LinkStage.SEALED, by, attempt=attempt, waits_for="fences", deadline=deadline
            )
        )


class Mirroring(_Copying):
    """Records are copied, and producers write at the source."""

    def drain(self, by: Mover, deadline: int) -> Draining:
        """Wait until all that producers wrote is copied; they have stopped."""
        return Draining(self._moved(LinkStage.DRAINING, by, waits_for="drain", deadline=deadline))


class Draining(_Copying):
    """Producers have stopped, and the rest is being copied."""

    def give_up(self, by: Mover) -> Mirroring:
        """Return to copying while producers write."""
        return Mirroring(self._moved(LinkStage.RUNNING, by))


class Sealed(_State):
    """Nothing is copied, and nothing was written yet that stays."""

    def undo(self, by: Mover) -> Mirroring:
        """Remove the seal, and return to copying."""
        return Mirroring(self._moved(LinkStage.RUNNING, by))

    def commit(self, by: Mover, deadline: int, **known: int) -> OneWay:
        """Begin to write what stays: fences, cuts, offsets of groups.

        Args:
            by: Who.
            deadline: When somebody has to look if it is not done, in ms since 1970.
            known: What was foretold: `lost`, `again`, `unfenced` of the entry.
        """
        waits: dict[str, Any] = {"waits_for": "groups", "deadline": deadline, "forward": True}
        return OneWay(self._moved(LinkStage.SEALED, by, **waits, **known))


class OneWay(_State):
    """Something is written that stays: the only way is on."""

    def fail_over(self, by: Mover, **known: int) -> FailedOver:
        """Let clients come; all that they need is on the target."""
        return FailedOver(self._moved(LinkStage.FAILED_OVER, by, forward=True, **known))


class FailedOver(_State):
    """Clients read and write the target."""

    def again(self, by: Mover, deadline: int) -> OneWay:
        """Return the state in which groups are written to the target once more."""
        return OneWay(
            self._moved(LinkStage.SEALED, by, waits_for="groups", deadline=deadline, forward=True)
        )

    def reverse(self, by: Mover, back: LinkName, wins: str = "") -> Reversed:
        """Let another link copy what clients write on the target back to the source."""
        return Reversed(self._moved(LinkStage.REVERSED, by, forward=True, back=back, wins=wins))


class Reversed(_State):
    """Another link copies back; this one never runs again under its name."""


AnyState = Mirroring | Draining | Sealed | OneWay | FailedOver | Reversed


def state_of(entry: LinkState) -> AnyState:
    """Return the state that an entry holds.

    Raises:
        NewerStateError: A later version moved the link into a state that is not known here.
    """
    known: dict[str, type[AnyState]] = {
        LinkStage.RUNNING: Mirroring,
        LinkStage.DRAINING: Draining,
        LinkStage.SEALED: OneWay if entry.forward else Sealed,
        LinkStage.FAILED_OVER: FailedOver,
        LinkStage.REVERSED: Reversed,
    }
    kind = known.get(entry.state)
    if kind is None:
        raise NewerStateError(entry.link, entry.state, entry.version)
    return kind(entry)


def begun(link: LinkName, topic: TopicName) -> Mirroring:
    """Return the state of a link, or of one of its topics, of which the ledger has no entry."""
    state = LinkStage.RUNNING.value
    entry = LinkState(link=link, topic=topic, state=state, since=0, user="", host="", version="")
    return Mirroring(entry)
