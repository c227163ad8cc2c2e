"""The observed configs of groups and of client metrics: values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from towpath.model.findings import Note, Problem

Own = Mapping[str, Mapping[str, str]]
"""The configs that were set on each group or subscription itself, by its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderConfigs:
    """The configs of all groups, or of all metrics subscriptions, on both clusters.

    Attributes:
        source: Those of the source; who was asked for and has none is there, with none.
        target: Those of the target, by the names there; those that could not be asked for are
            absent.
        known: The configs that the target's brokers know; `None` if they know no such holder.
        existing: The names at the source that exist; of the others only the configs do.
        bounds: The target's broker configs that bound values.
    """

    source: Own = field(default_factory=dict)
    target: Own = field(default_factory=dict)
    known: frozenset[str] | None = frozenset()
    existing: frozenset[str] = frozenset()
    bounds: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedConfigs:
    """The observed configs of groups and of client metrics.

    Attributes:
        groups: Of groups that the file asks for; `None` if it asks for none.
        metrics: Of subscriptions to client metrics; `None` if it does not ask for them.
        unlisted: Why configs of groups that do not exist are not seen, "" if they are.
        notes: What could not be observed and is not essential.
        problems: Why something cannot be copied.
    """

    groups: HolderConfigs | None = None
    metrics: HolderConfigs | None = None
    unlisted: str = ""
    notes: tuple[Note, ...] = ()
    problems: tuple[Problem, ...] = ()
