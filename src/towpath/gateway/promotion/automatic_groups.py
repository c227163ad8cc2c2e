"""When a gateway promotes groups whose members wait, without being asked. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

EMPTY = 10.0
"""Seconds for which a group must have no members at the source: one that restarts there is no
reason to take its group away."""
_NEW = 2.0
"""The same for groups that the source does not have, of which nothing is to be brought over."""
_BACK_OFF = 30.0


class AutomaticGroups:
    """Decides which groups to promote.

    Args:
        wanted: `hand`, `auto`, or a time in ms since 1970.
        clock: Tells the time in seconds, for waiting.
        now: Tells the time in ms since 1970.
    """

    def __init__(
        self, wanted: str | int, clock: Callable[[], float], now: Callable[[], int]
    ) -> None:
        self._wanted, self._clock, self._now = wanted, clock, now
        self._since: dict[str, float] = {}
        self._next: dict[str, float] = {}

    def due(self, waiting: Mapping[str, int | None], turn: float = 0.0) -> list[str]:
        """Return the groups to promote now.

        A group that the source does not have begins on the target whatever the file says.

        Args:
            waiting: How many members groups have at the source whose members wait here; `None` for
                a group that the source does not have.
            turn: For how many seconds longer to wait, as other gateways see to it first.
        """
        clock, found = self._clock(), []
        free = {name for name, there in waiting.items() if not there}
        self._since = {name: self._since.get(name, clock) for name in free}
        for name in sorted(free):
            is_new = waiting[name] is None
            long = _NEW if is_new else EMPTY
            settled = clock - self._since[name] >= long + turn and clock >= self._next.get(
                name, 0.0
            )
            if settled and (is_new or self._is_wanted):
                found.append(name)
        return found

    @property
    def _is_wanted(self) -> bool:
        if isinstance(self._wanted, int):
            return self._now() >= self._wanted
        return self._wanted == "auto"

    def undone(self, names: Iterable[str]) -> None:
        """Note that an attempt was undone, so that the next one comes later."""
        for name in names:
            self._next[name] = self._clock() + _BACK_OFF
