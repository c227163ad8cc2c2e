"""JSON outputs of migrations to KRaft, by the names of their schemas."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from towpath.kraft.show.kraft_shapes import (
    FindingsJson,
    KraftPlanJson,
    KraftReportJson,
    KraftRunJson,
    KraftStatusJson,
)
from towpath.model.json_shapes import JsonOutput

OUTPUTS: Mapping[str, JsonOutput] = MappingProxyType(
    {
        "kraft-check": JsonOutput(
            FindingsJson, ("kraft check",), ("findings[].code", "findings[].severity")
        ),
        "kraft-plan": JsonOutput(
            KraftPlanJson, ("kraft plan",), ("steps[].what", "first", "refusals")
        ),
        "kraft-status": JsonOutput(
            KraftStatusJson, ("kraft status",), ("stage", "well", "alarms", "comparison.equal")
        ),
        "kraft-run": JsonOutput(
            KraftRunJson,
            ("kraft run", "kraft rollback", "kraft finalize"),
            ("reached", "stage", "refusals[].code"),
        ),
        "kraft-report": JsonOutput(KraftReportJson, ("kraft report",), ("page", "now.stage")),
    }
)
"""Each JSON output of `towpath kraft`, by the name of its schema."""
