"""Types of the JSON of `towpath transform test`."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from towpath.model.json_shapes import shape


@shape
class TransformTestJson(TypedDict):
    """Records of a link, and what its query makes of them; nothing is written."""

    link: str
    read: int
    """Number of records in `before`."""
    written: int
    """Number of rows in `after`."""
    before: list[dict[str, Any]]
    """The latest records by their columns; bytes as text, else in base64 behind `base64:`."""
    after: list[dict[str, Any]]
    """The rows that would be written, likewise, with `target_topic` and `target_partition`."""
    notes: list[str]
    """What a user should know of these."""
