"""Libraries that are imported on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Lazy:
    """A stand-in for a slow library, which is imported on first use.

    Args:
        name: The name of the library.
    """

    def __init__(self, name: str) -> None:
        self._library = name

    def __getattr__(self, name: str) -> Any:
        """Import the library, and keep what was asked for, which is not asked for here again."""
        found = getattr(import_module(self._library), name)
        setattr(self, name, found)
        return found
