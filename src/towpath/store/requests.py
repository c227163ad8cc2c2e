"""Descriptions of store requests for people."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Errand:
    """The purpose of a store request, for error messages.

    Attributes:
        what: What is being done.
        key: The object.
        only_new: Whether it demands that there is no such object.
    """

    what: str
    key: str
    only_new: bool = False
