"""The state that parallel restores of several regions share."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Beside:
    """The shared limits and locks of a process's restores.

    Attributes:
        count: How many restores there are.
        planning: Held while one of them observes and changes the topics of the target, so that two
            of them do not create the same one.
    """

    count: int = 1
    planning: threading.Lock = field(default_factory=threading.Lock)

    def share(self, slots: int) -> int:
        """Return the number of parallel slices for each restore."""
        return max(1, slots // self.count)


ALONE = Beside()
