"""The reference page of all metrics (`python -m towpath.cli.metrics_page > docs/metrics.md`)."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module

from towpath.metering.detail import LIMIT
from towpath.metering.metric import Metric
from towpath.metering.server import STALLED
from towpath.settings.page_links import linked

_INTRODUCTION = f"""\
# Metrics

<!-- Written by `python -m towpath.cli.metrics_page`; change the names there, not this page. -->

With `metrics: {{listen: "127.0.0.1:9404"}}` in the link's file, `towpath run` serves what it counts
as long as it runs:

| path | answer |
|---|---|
| `/metrics` | all metrics, in the text format of Prometheus |
| `/live` | 200; 503 when the main loop of the run has stood still for {STALLED:.0f} s |
| `/ready` | 200 once both clusters were looked at, 503 before |
| `/ping`, `/version`, `/stats` | `pong`; the version as JSON; as `/metrics` |

With `root_path: /towpath`, the same is served below `/towpath` as well.
Restart a run whose `/live` answers 503 or nothing. A cluster that is away does not stop the loop.
Nothing else is served. There is no login, and topic names can be read: keep the address on loopback
or in a network of your own. If the address cannot be listened on, `run` ends with 2 before it
touches anything.

```yaml
# prometheus.yml
scrape_configs:
  - job_name: towpath
    static_configs: [{{targets: ["127.0.0.1:9404"]}}]
rule_files: [towpath.rules.yml]
```

- **Names**, kinds, units and labels are frozen by a test. Those that begin with `redpanda_` are
  what Redpanda Connect's migrator calls the same facts.
- **Counters** begin at 0 with each run and never become less while it goes on. What was copied
  between the last scrape and the end of a run is in its summary and its `--report`.
- **Unknown** numbers are not there: no series instead of -1. `towpath_unknown_lag_partitions`
  counts what is missing.
- **Fresh** as of the last look: a second ago with up to a few thousand partitions, longer ago with
  more (`towpath_last_look_timestamp_seconds`).
- **Links** are processes of their own, hence instances. `towpath_info` joins the name of one:
  `... * on (job, instance) group_left (link) towpath_info`.

## How many series

With `metrics.detail: auto` each partition has series of its own while the link has at most
{LIMIT:,} partitions (those included that the file no longer asks for), else each topic while there
are at most {LIMIT:,}, else the link as a whole. `partition`, `topic` and `link` choose. Where a
series tells of several partitions, its label `partition`, or `topic`, too, is empty, which is the
same as absent, and its value is their sum; for `towpath_lag_seconds` the largest. Hence
`sum by (topic) (...)` is right whether partitions or topics are told. `towpath_detail_info` says
what holds. All other metrics have a few series, however large the link is.

## Alerts and dashboard

`deploy/prometheus/towpath.rules.yml` has alerts, the files `*.tests.yml` beside it their tests (for
`promtool test rules`), and `deploy/grafana/towpath.json` is a dashboard. Each alert names its page
of the runbook (annotation `runbook`): `towpath explain TowpathGap` prints it.

## All metrics

"""
_TABLE = """\
| name | kind | unit | labels | meaning |
|---|---|---|---|---|
"""
_ARCHIVE = """
## Metrics of an archive

`towpath archive run` serves these in the same way. Those that begin with `egress_` are what
kafka-replicator calls the same facts: its names have region, topic and partition in them, and dots.

"""


_RESTORE = """
## Metrics of a restore

`towpath restore run` serves these, likewise from `metrics` of the archive's file; `/ready` answers
200 once it has looked at the archive and the target. The ledger of the target is what they tell, so
all but the rate go on where they stood after a restart.

With `restore.sources`, the label `region` is the region of a source, and `source` its name, as
`--source` takes it: the region again where the file gives no name. Without, there is no `source`.

"""
_KRAFT = """
## Metrics of a migration to KRaft

`towpath kraft run`, `rollback`, `finalize`, and `status --watch` serve these where the file of the
migration has `metrics.listen`; `/ready` answers 200 once the cluster was looked at. They tell what
the last look saw, and nothing else.

"""
_GATEWAY = """
## Metrics of a gateway

`towpath gateway` serves these where the section `gateway` of the link's file has `metrics`;
`/ready` answers 200 once clients can connect. Counters begin at 0 with each gateway. What names
topics, groups or clients is not among them.

"""
_REPLICATOR = """
## The metrics of kafka-replicator

Where its metric is not there, the reason is that nothing here does what it counts.

| kafka-replicator | here |
|---|---|
| `egress.R.T.P.messages.consumed`, `written`, `rewinded` | `egress_messages_consumed_total`, ... |
| `egress.R.T.P.segments.written`, `rewinded` | `egress_segments_written_total`, ... |
| `ingress.R.lag`, `R.T.lag`, `R.T.P.lag` | `ingress_lag_seconds`, which never freezes |
| `ingress.R.T.P.segments.waiting`, `late`, `lost` | `ingress_segments_waiting`, ... |
| `ingress.R.T.P.segments.read` | `ingress_segments_read_total` |
| `ingress.R.T.P.messages.lost` | `ingress_messages_lost` |
| `ingress.R.T.P.messages.produced` | `ingress_messages_produced_total` |
| `ingress.R.T.P.checkpoint` | `ingress_checkpoint` |
| `compaction.*` | `compaction_...` |
| `checkpoint.*` | none: positions are receipts in the target's ledger, written with the records |
| `css.*`, `s3.list-segments.*` | none: nothing is listed; the commit log says what there is |
| `s3.client.errors` | `s3_client_errors_total`, for any store |
| `s3.parquet.errors` | `s3_parquet_errors_total`; of a restore, `ingress_segments_late` |
| `sqs.messages.received`, `success`, `failed`, `invalid` | `sqs_messages_received_total`, ... |
| `sqs.messages.lag` | `sqs_messages_lag_seconds` |
| `sqs.client.errors` | `sqs_client_errors_total` |
| `kafka.consumer.errors` | `kafka_consumer_errors_total` |
| `kafka.producer.errors` | `kafka_producer_errors_total` |
"""


NAMES = {
    "towpath.mirror.metrics.names": _INTRODUCTION,
    "towpath.archive.metrics.run_names": _ARCHIVE,
    "towpath.archive.metrics.restore_names": _RESTORE,
    "towpath.kraft.metrics.names": _KRAFT,
    "towpath.gateway.metric_names": _GATEWAY,
}
"""Modules that name the metrics of a product, and what the page says before their table."""


def markdown() -> str:
    """Return the reference page of metrics."""
    parts = (text + _table(import_module(names).ALL) for names, text in NAMES.items())
    return linked("".join(parts)) + _REPLICATOR


def _table(metrics: Iterable[Metric]) -> str:
    rows = (
        f"| `{m.name}` | {m.kind} | {m.unit} | {', '.join(f'`{each}`' for each in m.labels)} |"
        f" {m.meaning} |\n"
        for m in metrics
    )
    return _TABLE + "".join(rows)


if __name__ == "__main__":
    sys.stdout.write(markdown())
