"""JSON outputs of commands that belong to no product, by the names of their schemas."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from towpath.cli.pair_outputs import PairsJson
from towpath.cli.show.file_shapes import (
    DevClustersJson,
    ExplainJson,
    FileSchemaJson,
    LintJson,
    PackedJson,
    WrittenExampleJson,
)
from towpath.cli.show.shapes import ErrorJson
from towpath.model.json_shapes import JsonOutput

OUTPUTS: Mapping[str, JsonOutput] = MappingProxyType(
    {
        "error": JsonOutput(ErrorJson, (), ("error.code", "error.text", "error.problems[].path")),
        "pairs": JsonOutput(PairsJson, (), ("pairs[].pair", "pairs[].exit_code", "pairs[].output")),
        "init": JsonOutput(WrittenExampleJson, ("init",), ("file",)),
        "lint": JsonOutput(LintJson, ("lint",), ("notes",)),
        "schema": JsonOutput(FileSchemaJson, ("schema",), ("properties",)),
        "pack": JsonOutput(PackedJson, ("pack",), ("file", "sha256", "suffix")),
        "explain": JsonOutput(ExplainJson, ("explain",), ("title", "text", "pages[].codes")),
        "dev": JsonOutput(
            DevClustersJson,
            ("dev up", "dev status", "dev down", "dev reset"),
            ("clusters[].bootstrap", "clusters[].running", "link"),
        ),
    }
)
"""Each of these JSON outputs, by the name of its schema; every command may write an `error`."""
