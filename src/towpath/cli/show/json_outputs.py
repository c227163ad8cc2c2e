"""JSON outputs of commands of no product, by the names of their schemas."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from towpath.cli.show.shapes import ErrorJson
from towpath.model.json_shapes import JsonOutput

OUTPUTS: Mapping[str, JsonOutput] = MappingProxyType(
    {
        "error": JsonOutput(ErrorJson, (), ("error.code", "error.text", "error.problems[].path")),
    }
)
"""Each of these JSON outputs, by the name of its schema; every command may write an `error`."""
