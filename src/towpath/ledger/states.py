"""The states of a link as types, whose methods are the only legal moves. Pure.

A move returns the next state; `entry` of it is what has to be in the ledger before any effect of
the move. Every move may be repeated after a kill: `state_of` returns the state in which the last
one left the link, and that state has the moves that are left.

    Mirroring -> Draining -> Sealed -> OneWay -> FailedOver -> Reversed
       ^          |          |
       +----------+----------+   the way back, until something is written that stays

    Mirroring <-> Stopped   a topic that somebody stopped for good, and takes up again
    any of them -> RemovedState     the books of the whole link are removed; there is no way back
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
    """The user who moves a link to another state, with host and time.

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
    """Base of the states; `entry` is the state as the ledger must hold it."""

    entry: LinkState

    def remove(self, by: Mover, deadline: int) -> RemovedState:
        """Remove the books of the link, by which it never runs again."""
        return RemovedState(
            self._moved(LinkStage.REMOVED, by, waits_for="books", deadline=deadline)
        )

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
    """The state in which records are copied while producers write to the source."""

    def drain(self, by: Mover, deadline: int) -> Draining:
        """Copy the rest of the records, after producers have stopped."""
        return Draining(self._moved(LinkStage.DRAINING, by, waits_for="drain", deadline=deadline))

    def stop(self, by: Mover) -> Stopped:
        """Stop copying a topic for good."""
        return Stopped(self._moved(LinkStage.STOPPED, by))


class Draining(_Copying):
    """The state in which producers have stopped, and the remaining records are copied."""

    def give_up(self, by: Mover) -> Mirroring:
        """Return to copying while producers write."""
        return Mirroring(self._moved(LinkStage.RUNNING, by))


class Sealed(_State):
    """The state in which copying has stopped, and nothing permanent was written yet."""

    def undo(self, by: Mover) -> Mirroring:
        """Remove the seal, and return to copying."""
        return Mirroring(self._moved(LinkStage.RUNNING, by))

    def commit(self, by: Mover, deadline: int, **known: int) -> OneWay:
        """Begin to write what cannot be undone: fences, cuts, offsets of groups.

        Args:
            by: Who.
            deadline: When somebody has to look if it is not done, in ms since 1970.
            known: What was foretold: `lost`, `again`, `unfenced` of the entry.
        """
        waits: dict[str, Any] = {"waits_for": "groups", "deadline": deadline, "forward": True}
        return OneWay(self._moved(LinkStage.SEALED, by, **waits, **known))


class OneWay(_State):
    """The state in which something permanent was written, so the failover must be completed."""

    def fail_over(self, by: Mover, **known: int) -> FailedOver:
        """Let clients use the target, which has all that they need."""
        return FailedOver(self._moved(LinkStage.FAILED_OVER, by, forward=True, **known))


class FailedOver(_State):
    """The state in which clients read and write the target."""

    def again(self, by: Mover, deadline: int) -> OneWay:
        """Return to the state in which groups are written to the target."""
        return OneWay(
            self._moved(LinkStage.SEALED, by, waits_for="groups", deadline=deadline, forward=True)
        )

    def reverse(self, by: Mover, back: LinkName, wins: str = "") -> Reversed:
        """Let another link copy what clients write on the target back to the source."""
        return Reversed(self._moved(LinkStage.REVERSED, by, forward=True, back=back, wins=wins))


class Reversed(_State):
    """The final state: another link copies back, and this one never runs again."""


class Stopped(_State):
    """The state of a topic that somebody stopped; nothing but a person takes it up again."""

    def start(self, by: Mover) -> Mirroring:
        """Take the topic up again, where it was left."""
        return Mirroring(self._moved(LinkStage.RUNNING, by))


class RemovedState(_State):
    """The final state of a link whose books are removed, or being removed."""

    def done(self, by: Mover) -> RemovedState:
        """Mark the removal as complete."""
        return RemovedState(self._moved(LinkStage.REMOVED, by))


AnyState = Mirroring | Draining | Sealed | OneWay | FailedOver | Reversed | Stopped | RemovedState


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
        LinkStage.STOPPED: Stopped,
        LinkStage.REMOVED: RemovedState,
    }
    kind = known.get(entry.state)
    if kind is None:
        raise NewerStateError(entry.link, entry.state, entry.version)
    return kind(entry)


def begun(link: LinkName, topic: TopicName) -> Mirroring:
    """Return the initial state of a link, or of a topic, without an entry in the ledger."""
    state = LinkStage.RUNNING.value
    entry = LinkState(link=link, topic=topic, state=state, since=0, user="", host="", version="")
    return Mirroring(entry)
