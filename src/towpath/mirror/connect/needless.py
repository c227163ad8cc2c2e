"""Fields of a Connect file that a link does not need, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator

from towpath.mirror.connect.file import ConnectFile
from towpath.settings.shape import Section

_CLIENT = "sets up Connect's own client"
_GROUP = "belongs to membership in a group; a link is no member of one"
_NEEDLESS = {
    "input": {
        "rebalance_timeout": _GROUP,
        "session_timeout": _GROUP,
        "heartbeat_interval": _GROUP,
        "instance_id": _GROUP,
        "auto_replay_nacks": "no batch is given up: a partition that cannot go on stops, and tells",
        "topic_lag_refresh_period": "lags are measured all the time",
        "fetch_max_bytes": _CLIENT,
        "fetch_max_wait": _CLIENT,
        "fetch_min_bytes": _CLIENT,
        "fetch_max_partition_bytes": _CLIENT,
        "partition_buffer_bytes": "`run.memory` of our file bounds memory",
        "max_yield_batch_bytes": "batches stay as they are",
    },
    "output": {
        "idempotent_write": "every write is fenced, and nothing is doubled",
        "acks": "a record is there when all replicas in sync have it",
        "allow_auto_topic_creation": "topics are created with the partitions of the source",
        "timeout": "`target.request_timeout` of our file sets it",
        "max_message_bytes": "batches stay as they are",
        "broker_write_max_bytes": _CLIENT,
        "max_buffered_records": _CLIENT,
        "max_buffered_bytes": _CLIENT,
        "max_in_flight_requests": _CLIENT,
        "max_in_flight": _CLIENT,
        "record_retries": "what can heal is tried again without end",
        "record_delivery_timeout": "what can heal is tried again without end",
        "sync_topic_interval": "topics are looked for every `run.discover` (5 s)",
    },
    "either": {
        "client_id": _CLIENT,
        "metadata_max_age": _CLIENT,
        "request_timeout_overhead": _CLIENT,
        "conn_idle_timeout": _CLIENT,
        "tcp": _CLIENT,
    },
}


def needless(file: ConnectFile) -> Iterator[str]:
    """Yield one sentence for each reason, with the fields that a link does not need."""
    why: dict[str, list[str]] = {}
    sides = {"input": file.input.redpanda_migrator, "output": file.output.redpanda_migrator}
    for side, section in sides.items():
        for name in _given(section):
            reason = _NEEDLESS[side].get(name) or _NEEDLESS["either"].get(name)
            if reason:
                why.setdefault(reason, []).append(f"{side}.{name}")
    yield from _beside(file)
    for reason, names in why.items():
        yield f"not needed here: {', '.join(names)}: {reason}"


def _beside(file: ConnectFile) -> Iterator[str]:
    """Yield what stands beside input and output and has another place here."""
    if "logger" in file.model_fields_set:
        yield "not needed here: logger: `--log-level` and `--log-format` of commands say it"
    if file.metrics.prometheus is not None and file.metrics.prometheus.model_fields_set:
        yield "not needed here: metrics.prometheus: times are summaries, as there by default"


def _given(section: Section) -> list[str]:
    return [name for name in type(section).model_fields if name in section.model_fields_set]
