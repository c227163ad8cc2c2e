"""The latest group members that sent requests through a gateway.

Pure.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping

MOST = 50_000
"""Members that are remembered: those that were heard of last. Each that lives tells of itself every
few seconds, and one that joins anew has another id (about 10 MB)."""


class SeenMembers:
    """The latest group members that sent requests through this gateway.

    Args:
        most: How many are remembered.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._heard: OrderedDict[tuple[str, str], int | None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._heard)

    def saw(self, group: str, member: str, generation: int | None = None) -> None:
        """Note that a member sent a request, and in which generation of a classic group it is."""
        self._heard[group, member] = generation
        self._heard.move_to_end((group, member))
        if len(self._heard) > self._most:
            self._heard.popitem(last=False)

    def groups(self) -> set[str]:
        """Return the groups of these members."""
        return {group for group, _ in self._heard}

    def generation(self, group: str, member: str) -> int | None:
        """Return the generation that a member of a classic group told last, if it did."""
        return self._heard.get((group, member))

    def __contains__(self, member: tuple[str, str]) -> bool:
        return member in self._heard

    def unseen(self, members: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
        """Return the members that never sent a request, by group."""
        left = {
            group: sorted(name for name in names if (group, name) not in self._heard)
            for group, names in members.items()
        }
        return {group: names for group, names in left.items() if names}
