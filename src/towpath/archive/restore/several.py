"""The restores of one process: several regions at a time, each by itself."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Beside:
    """What the restores of a process share.

    Attributes:
        count: How many restores there are.
        planning: Held while one of them observes and changes the topics of the target, so that two
            of them do not create the same one.
    """

    count: int = 1
    planning: threading.Lock = field(default_factory=threading.Lock)

    def share(self, slots: int) -> int:
        """Return how many of the slices that Spark can run at a time each of them gets."""
        return max(1, slots // self.count)


ALONE = Beside()
