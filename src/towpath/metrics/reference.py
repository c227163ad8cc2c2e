"""The page of all metrics. `python -m towpath.metrics.reference > docs/metrics.md` writes it."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from towpath.metrics import archive_names
from towpath.metrics.names import ALL, Metric
from towpath.metrics.server import STALLED
from towpath.metrics.stand import LIMIT

_INTRODUCTION = f"""\
# Metrics

<!-- Written by `python -m towpath.metrics.reference`; change the names there, not this page. -->

With `metrics: {{listen: "127.0.0.1:9404"}}` in the link's file, `towpath run` serves what it counts
as long as it runs:

| path | answer |
|---|---|
| `/metrics` | all metrics, in the text format of Prometheus |
| `/live` | 200; 503 when the main loop of the run has stood still for {STALLED:.0f} s |
| `/ready` | 200 once both clusters were looked at, 503 before |

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

`deploy/prometheus/towpath.rules.yml` has alerts, `towpath.tests.yml` beside it their tests (for
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


def markdown() -> str:
    """Return the page."""
    return _INTRODUCTION + _table(ALL) + _ARCHIVE + _table(archive_names.ALL)


def _table(metrics: Iterable[Metric]) -> str:
    rows = (
        f"| `{m.name}` | {m.kind} | {m.unit} | {', '.join(f'`{each}`' for each in m.labels)} |"
        f" {m.meaning} |\n"
        for m in metrics
    )
    return _TABLE + "".join(rows)


if __name__ == "__main__":
    sys.stdout.write(markdown())
