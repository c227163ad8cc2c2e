"""Types of JSON objects, from which their schemas are made, and of the JSON outputs of commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict, WithJsonSchema, with_config

shape = with_config(ConfigDict(extra="forbid", use_attribute_docstrings=True))
"""Decorator of a `TypedDict` that describes a JSON object without further keys."""


def open_object(description: str, **texts: str) -> WithJsonSchema:
    """Return the schema of a JSON object with some required texts, and any other values.

    Args:
        description: A sentence about the object.
        **texts: Its texts by name, each with a description.
    """
    of = {name: {"type": "string", "description": text} for name, text in texts.items()}
    schema = {"type": "object", "description": description, "properties": of, "required": [*of]}
    return WithJsonSchema(schema)


@dataclass(frozen=True, slots=True)
class JsonOutput:
    """A JSON output.

    Attributes:
        type: Its type: a `TypedDict`, or a union of some.
        commands: The commands that write it with `--output json`, such as `groups ls`.
        keys: The keys that programs need most, as paths such as `partitions[].state`.
    """

    type: Any
    commands: tuple[str, ...]
    keys: tuple[str, ...]
