"""JSON outputs of links, by the names of their schemas."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from towpath.mirror.show.connect_shapes import ConvertJson
from towpath.mirror.show.failback_shapes import FailbackJson, KeptStraysJson, SalvageJson
from towpath.mirror.show.failover_shapes import FailoverJson, FailoverUndoneJson
from towpath.mirror.show.groups_shapes import GroupsStatusJson, TranslationsJson
from towpath.mirror.show.history_shapes import HistoryJson
from towpath.mirror.show.link_shapes import CreatedLinkJson, LinksJson, ShownLinkJson
from towpath.mirror.show.mm2_shapes import CheckpointsJson, ConversionJson, SuccessionJson
from towpath.mirror.show.quarantine_shapes import (
    QuarantinedRecordJson,
    QuarantineListJson,
    ReplayJson,
)
from towpath.mirror.show.removal_shapes import RemovalJson
from towpath.mirror.show.repair_shapes import AnyRepairJson, TopicRestartJson
from towpath.mirror.show.run_shapes import (
    CutoverJson,
    MirrorRunJson,
    PausesJson,
    RateJson,
    StoppedTopicsJson,
)
from towpath.mirror.show.status_shapes import StatusJson
from towpath.mirror.show.step_shapes import ApplyJson, ComparedSchemasJson, SchemasSyncJson
from towpath.mirror.show.transform_shapes import TransformTestJson
from towpath.mirror.show.verify_shapes import VerifyJson
from towpath.model.json_shapes import JsonOutput
from towpath.plan.plan_shapes import PlanJson

OUTPUTS: Mapping[str, JsonOutput] = MappingProxyType(
    {
        "plan": JsonOutput(
            PlanJson, ("plan", "diff", "schemas diff"), ("steps", "problems[].text", "saved")
        ),
        "apply": JsonOutput(
            ApplyJson, ("apply",), ("complete", "done", "failed[].code", "not_reached")
        ),
        "run": JsonOutput(
            MirrorRunJson,
            ("run",),
            ("complete", "caught_up", "lag", "left_out", "partitions[].state"),
        ),
        "transform-test": JsonOutput(
            TransformTestJson, ("transform test",), ("read", "written", "before", "after")
        ),
        "pause": JsonOutput(PausesJson, ("pause", "resume"), ("paused[].topic",)),
        "topics": JsonOutput(
            StoppedTopicsJson, ("topics stop", "topics start"), ("stopped[].topic", "held")
        ),
        "rate": JsonOutput(RateJson, ("rate",), ("max_rate.link", "max_rate.set[].rate")),
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
        "groups-translate": JsonOutput(
            TranslationsJson,
            ("groups translate",),
            ("partitions[].answer.offset", "partitions[].answer.exactness"),
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
        "salvage-keep": JsonOutput(
            KeptStraysJson, ("salvage keep",), ("records", "left_out", "left")
        ),
        "salvage": JsonOutput(
            SalvageJson,
            ("salvage ls", "salvage replay"),
            ("left", "partitions[].replayed", "partitions[].missing"),
        ),
        "link-create": JsonOutput(CreatedLinkJson, ("link create",), ("new", "changed")),
        "link-ls": JsonOutput(
            LinksJson, ("link ls",), ("links[].link", "links[].state", "links[].running")
        ),
        "link-show": JsonOutput(
            ShownLinkJson,
            ("link show",),
            ("link.state", "topics[].promoted", "topics[].reasons"),
        ),
        "link-rm": JsonOutput(
            RemovalJson, ("link rm",), ("done", "topics[].owned", "relies", "stays", "refusals")
        ),
        "cutover": JsonOutput(
            CutoverJson,
            ("cutover",),
            ("complete", "left_out", "equal_partitions", "partitions", "estimated_seconds"),
        ),
        "quarantine-ls": JsonOutput(
            QuarantineListJson, ("quarantine ls",), ("counts[].quarantined", "records[].record")
        ),
        "quarantine-show": JsonOutput(
            QuarantinedRecordJson, ("quarantine show",), ("why", "key", "value")
        ),
        "quarantine-replay": JsonOutput(
            ReplayJson, ("quarantine replay",), ("replayed[].record", "left[].why")
        ),
        "repair": JsonOutput(
            AnyRepairJson, ("repair",), ("complete", "repaired", "left[].cause", "left[].text")
        ),
        "restart": JsonOutput(TopicRestartJson, ("restart",), ("complete", "left[].why")),
        "schemas": JsonOutput(
            ComparedSchemasJson,
            ("schemas ls", "schemas verify"),
            ("versions[].verdict", "versions[].target_id", "problems[].text"),
        ),
        "schemas-sync": JsonOutput(
            SchemasSyncJson, ("schemas sync",), ("complete", "failed[].code", "left_out")
        ),
        "checkpoints-apply": JsonOutput(
            CheckpointsJson,
            ("checkpoints apply",),
            ("complete", "positions[].offset", "positions[].outcome"),
        ),
        "convert": JsonOutput(ConvertJson, ("convert",), ("file", "secrets[].variable")),
        "import-mm2": JsonOutput(
            ConversionJson, ("import mm2",), ("files[].file", "properties[].fate")
        ),
        "import-mm2-positions": JsonOutput(
            SuccessionJson,
            ("import mm2-positions",),
            ("complete", "partitions[].begins", "partitions[].why"),
        ),
    }
)
"""Each JSON output of links, by the name of its schema."""
