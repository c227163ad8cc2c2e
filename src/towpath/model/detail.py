"""How much of a link each series of its metrics tells of."""

from __future__ import annotations

from enum import StrEnum


class Detail(StrEnum):
    """Of what there is one series each."""

    AUTO = "auto"
    """The first of those below of which there are not too many."""
    PARTITION = "partition"
    TOPIC = "topic"
    LINK = "link"
