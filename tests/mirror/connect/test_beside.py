"""What `towpath lint` says of the sections beside input and output of a Redpanda Connect file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.copying.connect_file import written
from towpath.mirror.connect.load import check, pairs
from towpath.settings import check as check_any
from towpath.settings.connect_files import is_connect

BESIDE = {
    "cache_resources: [{label: c}]\n": (
        "cache_resources: is for processors that Towpath does not have"
    ),
    "redpanda: {seed_brokers: [a]}\n": "redpanda: is Redpanda's enterprise block",
    "pipeline: {processors: [{sleep: {}}]}\n": "pipeline.processors[0]: sleep is not known here",
    "pipeline: {processors: [{mapping: 'root = 5'}]}\n": (
        "pipeline.processors[0].mapping: `root = ...` changes records; only `deleted()`"
    ),
    "pipeline: {processors: [{rate_limit: {}}]}\n": (
        "pipeline.processors[0]: rate_limit is not known here; `towpath rate` and"
    ),
    "pipeline: {processors: [{branch: {}}]}\n": (
        "pipeline.processors[0]: branch is not known here; `changes` of our file has drop rules and"
        " headers (docs/changes.md), and its `transform` takes a query of Spark SQL"
    ),
    "metrics: {prometheus: {}, mapping: 'root = this'}\n": (
        "metrics.mapping: is not known here: metrics have their names"
    ),
    "metrics: {statsd: {address: a}}\n": (
        "metrics.statsd: is not offered: metrics are served for Prometheus"
    ),
    "metrics: {prometheus: {push_url: 'http://a'}}\n": (
        "metrics.prometheus.push_url: is not offered: metrics are served for Prometheus"
    ),
    "http: {basic_auth: {enabled: true}}\n": "http.basic_auth.enabled: is not offered: who can",
    "http: {cert_file: a.pem}\n": "http.cert_file: is not offered: metrics are served as plain",
    "logger: {file: {path: a.log}}\n": "logger.file.path: is not offered: logs go to standard",
    "tracer: {jaeger: {}}\n": "tracer: is not known here; metrics and events tell",
    "buffer: {memory: {}}\n": "buffer: would lose the order and the positions of records",
    "logger: {level: LOUD}\n": "logger.level: 'LOUD' is not one of OFF",
}


DEFAULTS = """
http:
  enabled: true
  address: 0.0.0.0:4195
  root_path: /benthos
  debug_endpoints: false
  cert_file: ""
  key_file: ""
  cors: {enabled: false, allowed_origins: [], allowed_headers: [], allowed_methods: []}
  basic_auth:
    enabled: false
    realm: restricted
    username: ""
    password_hash: ""
    algorithm: sha256
    salt: ""
input:
  label: ""
  redpanda_migrator: {seed_brokers: ["a:9092"], topics: [orders], consumer_group: mover}
buffer: {none: {}}
pipeline: {threads: -1, processors: []}
output:
  label: ""
  redpanda_migrator: {seed_brokers: ["b:9092"]}
input_resources: []
cache_resources: []
logger:
  level: INFO
  format: logfmt
  add_timestamp: false
  level_name: level
  timestamp_name: time
  message_name: msg
  static_fields: {"@service": redpanda-connect}
  file: {path: "", rotate: false, rotate_max_age_days: 0}
metrics:
  prometheus:
    use_histogram_timing: false
    histogram_buckets: []
    summary_quantiles_objectives:
      - {quantile: 0.5, error: 0.05}
    add_process_metrics: false
    add_go_metrics: false
    push_url: ""
    push_interval: ""
    push_job_name: benthos_push
    push_basic_auth: {username: "", password: ""}
    file_output_path: ""
  mapping: ""
tracer: {none: {}}
shutdown_delay: ""
shutdown_timeout: 20s
"""


def test_a_file_with_all_defaults_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "connect.yaml"
    path.write_text(DEFAULTS)
    assert is_connect(path)  # though its sections stand on one line
    assert check_any(path) == ()
    assert pairs(path) == ("default",)


@pytest.mark.parametrize("more", BESIDE)
def test_what_is_not_offered_is_refused_by_its_name(tmp_path: Path, more: str) -> None:
    [problem] = check(written(tmp_path, {}, {}, more))
    assert problem.sentence.startswith(BESIDE[more])
