"""Symbols and colours of partition states; the symbol alone is sufficient."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text

from towpath.mirror.status.partition_status import State

_LOOKS = {
    State.STOPPED: ("✗", "bold red"),
    State.NO_LEADER: ("!", "yellow"),
    State.PAUSED: ("=", "magenta"),
    State.NOT_STARTED: ("·", "dim"),
    State.BEHIND: ("→", "cyan"),
    State.CAUGHT_UP: ("✓", "green"),
    State.FAILED_OVER: ("»", "blue"),
    State.PROMOTED: ("»", "blue"),
    State.STOPPED_BY_HAND: ("■", "blue"),
    State.EXCLUDED: ("-", "dim"),
}


WORST_FIRST = tuple(_LOOKS)
"""All states, the one that most needs attention first."""


def sign(state: State) -> Text:
    """Return the coloured symbol of a state."""
    return Text(*_LOOKS[state])


def marked(state: State) -> Text:
    """Return the coloured symbol of a state with its name."""
    mark, style = _LOOKS[state]
    return Text(f"{mark} {state}", style=style)


def counts(states: Mapping[State, int]) -> Text:
    """Return the number of partitions in each state, the worst first: `✗ 1 stopped, ✓ 3 ...`."""
    parts = []
    for state, (mark, style) in _LOOKS.items():
        number = states.get(state, 0)
        if number:
            parts.append(Text(f"{mark} {number:,} {state}", style=style))
    return Text(", ").join(parts)
