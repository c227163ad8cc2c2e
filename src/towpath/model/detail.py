"""Level of detail of the metric series."""

from __future__ import annotations

from enum import StrEnum


class Detail(StrEnum):
    """Level at which each thing has a series of its own."""

    AUTO = "auto"
    """The finest level of detail that stays below the series limit."""
    PARTITION = "partition"
    TOPIC = "topic"
    LINK = "link"
