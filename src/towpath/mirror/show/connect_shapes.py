"""Types of the JSON of `towpath convert`."""

from __future__ import annotations

from typing_extensions import TypedDict

from towpath.model.json_shapes import shape


@shape
class ConvertedSecretJson(TypedDict):
    """A secret that the new file refers to."""

    variable: str
    """The environment variable."""
    place: str
    """Where its value stands in the file of Redpanda Connect."""


@shape
class ConvertJson(TypedDict):
    """The file of a link made from one of Redpanda Connect."""

    file: str | None
    """The new file, null if it was only shown."""
    text: str
    """Its content."""
    secrets: list[ConvertedSecretJson]
    notes: list[str]
    """What is different from Redpanda Connect."""
