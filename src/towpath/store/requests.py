"""What is asked of a store, for people."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Errand:
    """What a request is about, for people.

    Attributes:
        what: What is being done.
        key: The object.
        only_new: Whether it demands that there is no such object.
    """

    what: str
    key: str
    only_new: bool = False
