"""The search for clients that still read at the source."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from towpath.groups.observe_groups import SourceView
from towpath.groups.settle import SESSION
from towpath.model.amounts import counted, shortened
from towpath.model.groups import ClientGroup
from towpath.model.nouns import TopicName, TopicPartition
from towpath.runtime.deadline import Deadline

_NAMED = 3
_PAUSE = 1.0
_NOWHERE = -1


@dataclass(frozen=True, slots=True)
class Moved:
    """An offset that a group committed between two looks.

    Attributes:
        tp: The source partition.
        before: Its offset at the first look, -1 for none.
        after: Its offset at the last look.
    """

    tp: TopicPartition
    before: int
    after: int

    def __str__(self) -> str:
        if self.before == _NOWHERE:
            return f"got offset {self.after} in {self.tp}"
        return f"moved from {self.before} to {self.after} in {self.tp}"


@dataclass(frozen=True, slots=True)
class ReadingGroup:
    """A group whose clients still read at the source.

    Attributes:
        group: The group.
        state: Its state in the words of Kafka if it has members, else "".
        moved: What was committed between the two looks.
    """

    group: ClientGroup
    state: str = ""
    moved: tuple[Moved, ...] = ()

    @property
    def what(self) -> str:
        """How it is known that clients still read."""
        if self.moved:
            moved = shortened(list(map(str, self.moved)), _NAMED)
            return f"it {moved} at the source since the first look"
        return f"it has members at the source ({self.state})"

    def __str__(self) -> str:
        if self.moved:
            return f"{self.group}: {self.what}, so a client still reads there; stop it"
        return (
            f"{self.group}: {self.what}; stop them. Those that were killed, static ones and those"
            " of Kafka Streams stay members until their session timeout is over (45 s, if the"
            " client sets no other)"
        )

    @property
    def short(self) -> str:
        """The group with how that is known."""
        return f"{self.group.name}: {self.state or 'it commits'}"


def still_reading(
    first: SourceView, last: SourceView, topics: Collection[TopicName]
) -> tuple[ReadingGroup, ...]:
    """Return the groups that have members, or committed between two looks. Pure.

    Args:
        first: The groups at the first look.
        last: The groups at the last look.
        topics: The source topics that are meant.
    """
    found = []
    for name, group in sorted(last.groups.items()):
        here = {tp: each.offset for tp, each in group.commits.items() if tp.topic in topics}
        known = first.groups[name].commits if name in first.groups else {}
        before = {tp: known[tp].offset if tp in known else _NOWHERE for tp in here}
        moved = tuple(
            Moved(tp, before[tp], at) for tp, at in sorted(here.items()) if before[tp] != at
        )
        members = here and group.has_members
        if members or moved:
            found.append(ReadingGroup(group.group, group.state if members else "", moved))
    return tuple(found)


def wait_for_members(
    look: Callable[[], tuple[ReadingGroup, ...]], stop: threading.Event, patience: float = SESSION
) -> tuple[ReadingGroup, ...]:
    """Look until no group has members, some group moves, or the patience is over.

    Args:
        look: Looks for groups whose clients still read.
        stop: Set to end early.
        patience: Seconds, as clients that were stopped may stay members for their session timeout.
    """
    until = Deadline.after(patience)
    while True:
        found = look()
        held = bool(found) and not any(each.moved for each in found)
        if not held or until.over or stop.wait(_PAUSE):
            return found


def readers_to_stop(found: Sequence[ReadingGroup]) -> list[str]:
    """Return one sentence about the groups whose clients must be stopped before the cutover."""
    if not found:
        return []
    are = "is" if len(found) == 1 else "are"
    named = shortened([each.short for each in found], _NAMED)
    return [
        f"{counted(len(found), 'group')} {are} still read at the source ({named}): stop the clients"
    ]
