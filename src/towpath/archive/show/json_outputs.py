"""JSON outputs of archives and restores, by the names of their schemas."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from towpath.archive.show.reading_shapes import (
    ArchiveEventsJson,
    CheckedArchiveJson,
    ImportJson,
    LivesJson,
    QueryRowsJson,
)
from towpath.archive.show.restore_shapes import (
    RestorePlansJson,
    RestoreRunJson,
    RestoreStatusesJson,
    ThawingsJson,
)
from towpath.archive.show.status_shapes import (
    ArchiveRunJson,
    ArchiveStatusJson,
    SegmentsJson,
    ShownJson,
)
from towpath.archive.show.upkeep_shapes import (
    CompactionJson,
    ForgetJson,
    PruneJson,
    RecoveryJson,
    RegistrationJson,
)
from towpath.model.json_shapes import JsonOutput

OUTPUTS: Mapping[str, JsonOutput] = MappingProxyType(
    {
        "archive-run": JsonOutput(
            ArchiveRunJson, ("archive run",), ("complete", "version", "lag", "partitions[].trouble")
        ),
        "archive-status": JsonOutput(
            ArchiveStatusJson,
            ("archive status",),
            ("alive", "exposed_seconds", "partitions[].state", "partitions[].lag"),
        ),
        "archive-ls": JsonOutput(
            SegmentsJson, ("archive ls",), ("segments[].topic", "segments[].place.key")
        ),
        "archive-lives": JsonOutput(
            LivesJson, ("archive lives",), ("lives[].topic", "lives[].id", "lives[].latest")
        ),
        "archive-show": JsonOutput(
            ShownJson, ("archive show",), ("segments[].object_says_the_same", "subjects")
        ),
        "archive-events": JsonOutput(
            ArchiveEventsJson,
            ("archive events",),
            ("events[].what", "events[].trouble", "events[].text"),
        ),
        "archive-query": JsonOutput(QueryRowsJson, ("archive query",), ("rows", "more", "version")),
        "archive-verify": JsonOutput(
            CheckedArchiveJson, ("archive verify",), ("whole", "problems[].code")
        ),
        "archive-compact": JsonOutput(
            CompactionJson, ("archive compact",), ("complete", "failed[].why")
        ),
        "archive-prune": JsonOutput(
            PruneJson, ("archive prune",), ("pruned", "records", "partitions[].end")
        ),
        "archive-forget": JsonOutput(
            ForgetJson, ("archive forget",), ("complete", "erased", "replaced_objects_left")
        ),
        "archive-recover": JsonOutput(
            RecoveryJson, ("archive recover",), ("complete", "taken", "segments[].verdict")
        ),
        "archive-register": JsonOutput(
            RegistrationJson, ("archive register",), ("complete", "tables[].table", "tables[].why")
        ),
        "restore-plan": JsonOutput(
            RestorePlansJson, ("restore plan",), ("to_restore", "problems", "cost")
        ),
        "restore-run": JsonOutput(
            RestoreRunJson,
            ("restore run",),
            ("complete", "comparison.proven", "partitions[].state", "left_out"),
        ),
        "restore-status": JsonOutput(
            RestoreStatusesJson,
            ("restore status",),
            ("complete", "partitions[].state", "partitions[].codes"),
        ),
        "restore-thaw": JsonOutput(ThawingsJson, ("restore thaw",), ("readable", "cold", "failed")),
        "import-kafka-replicator": JsonOutput(
            ImportJson, ("import kafka-replicator",), ("complete", "partitions[].why")
        ),
    }
)
"""Each JSON output of archives and restores, by the name of its schema."""
