"""Partial failure as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from towpath.model.errors import TowpathError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """What was done, and what was left out and why, by name."""

    done: tuple[T, ...] = ()
    failed: Mapping[str, TowpathError] = field(default_factory=dict)
