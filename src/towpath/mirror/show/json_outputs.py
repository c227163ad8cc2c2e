"""JSON outputs of links, by the names of their schemas."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from towpath.mirror.show.failback_shapes import FailbackJson, SalvageJson
from towpath.mirror.show.failover_shapes import FailoverJson, FailoverUndoneJson
from towpath.mirror.show.groups_shapes import GroupsStatusJson
from towpath.mirror.show.history_shapes import HistoryJson
from towpath.mirror.show.status_shapes import StatusJson
from towpath.mirror.show.verify_shapes import VerifyJson
from towpath.model.json_shapes import JsonOutput
from towpath.plan.plan_shapes import PlanJson

OUTPUTS: Mapping[str, JsonOutput] = MappingProxyType(
    {
        "plan": JsonOutput(
            PlanJson, ("plan", "diff", "schemas diff"), ("steps", "problems[].text", "saved")
        ),
        "status": JsonOutput(
            StatusJson,
            ("status",),
            (
                "run.state",
                "totals.lag_records",
                "totals.lag_seconds",
                "partitions[].state",
                "partitions[].codes",
            ),
        ),
        "groups": JsonOutput(
            GroupsStatusJson,
            ("groups ls", "groups status", "groups sync", "groups diff"),
            (
                "outcomes",
                "groups[].positions[].answer.exactness",
                "groups[].positions[].outcome",
            ),
        ),
        "history": JsonOutput(
            HistoryJson, ("history",), ("events[].what", "events[].trouble", "events[].text")
        ),
        "verify": JsonOutput(
            VerifyJson,
            ("verify",),
            ("equal", "partitions[].verdict", "partitions[].why", "partitions[].codes"),
        ),
        "failover": JsonOutput(
            FailoverJson | FailoverUndoneJson,
            ("failover",),
            (
                "plan.lost",
                "plan.again",
                "plan.positions[].target",
                "state[].state",
                "missing",
            ),
        ),
        "failback": JsonOutput(
            FailbackJson,
            ("failback",),
            (
                "undecided",
                "refusals",
                "reversed",
                "caught_up",
                "partitions[].conflict",
                "salvaged[].records",
            ),
        ),
        "salvage": JsonOutput(
            SalvageJson,
            ("salvage ls", "salvage replay"),
            ("left", "partitions[].replayed", "partitions[].missing"),
        ),
    }
)
"""Each JSON output of links, by the name of its schema."""
