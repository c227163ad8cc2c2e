"""Files as people publish them for the migrator, with other names: each is a link as it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from towpath.mirror.connect.load import check, examine, translation
from towpath.settings import LinkConfig, from_tree

BENCHMARK = """
# as fast as it goes: nothing but records
http:
  enabled: true
  address: "0.0.0.0:4195"
input:
  redpanda_migrator:
    seed_brokers: [ "old:9092" ]
    regexp_topics_include: [ "^bench$" ]
    consumer_group: bench-mover
    partition_buffer_bytes: 2MB
    max_yield_batch_bytes: 1MB
    fetch_max_bytes: !!int 104857600
output:
  redpanda_migrator:
    seed_brokers: [ "new:9092" ]
    max_in_flight: 40
    max_message_bytes: 10MB
    broker_write_max_bytes: 100MB
    consumer_groups:
      enabled: false
    schema_registry:
      enabled: false
      url: ""
metrics:
  prometheus:
    use_histogram_timing: true
"""
DEMO = """
input:
  label: "warehouse_mover"
  redpanda_migrator:
    seed_brokers:
      - ${SOURCE_BROKER:broker-old-1:9092}
    regexp_topics_include:
      - '[^_].*'   # no internal topics
    consumer_group: warehouse-mover
    start_offset: earliest
    schema_registry: &registry
      url: "http://registry-old:8081"
      basic_auth: {enabled: true, username: mover, password: "${PASSWORD:none|base64decode}"}
output:
  label: "warehouse_mover"
  redpanda_migrator:
    seed_brokers: [ "broker-new-0:9092,broker-new-1:9092" ]
    topic: ${! @kafka_topic }
    topic_replication_factor: -1
    sync_topic_acls: true
    schema_registry:
      <<: *registry
      url: "http://registry-new:8081"
      translate_ids: true
      interval: 15s
    consumer_groups:
      interval: 15s
      exclude: [ "warehouse-mover", "^console-" ]
metrics:
  prometheus: {}
logger:
  level: INFO
  format: logfmt
"""
CLOUD = """
input:
  redpanda_migrator:
    seed_brokers: [ "${BROKERS}" ]
    topics: [ shipments, returns ]
    consumer_group: ""
    tls: { enabled: true }
    sasl:
      - mechanism: PLAIN
        username: "${KEY}"
        password: "${SECRET}"
    schema_registry:
      url: "${REGISTRY}"
      basic_auth: { enabled: true, username: "${KEY}", password: "${SECRET}" }
pipeline:
  processors:
    - mapping: |
        root = if @kafka_topic == "returns" && @kafka_timestamp_unix < 1700000000 { deleted() }
    - benchmark: { interval: 10s, count_bytes: true }
output:
  redpanda_migrator:
    seed_brokers: [ "seed.example.cloud:9092" ]
    serverless: true
    topic: 'eu_${! metadata("kafka_topic").replace_all(".", "_") }'
    tls: { enabled: true }
    sasl:
      - mechanism: SCRAM-SHA-256
        username: mover
        password: "${SECRET}"
    schema_registry:
      url: "https://registry.example.cloud:443"
      translate_ids: true
      subject: 'eu_${! @schema_registry_subject }'
      basic_auth: { enabled: true, username: mover, password: "${SECRET}" }
    provenance_header: ""
"""
FILES = {"benchmark": BENCHMARK, "demo": DEMO, "cloud": CLOUD}
VARIABLES = {
    "BROKERS": "a.example:9092,b.example:9092", "KEY": "key", "SECRET": "hush-7",
    "REGISTRY": "https://registry.example", "PASSWORD": "aHVzaC04",
}  # fmt: skip


def config_of(path: Path) -> LinkConfig:
    found = examine(path)
    assert found.file is not None, found.problems
    made = translation(found)
    assert made.problems == ()
    return from_tree(made.tree, path.parent)


@pytest.fixture
def configs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, LinkConfig]:
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    made = {}
    for name, text in FILES.items():
        path = tmp_path / f"{name}.yaml"
        path.write_text(text)
        assert check(path) == (), name
        made[name] = config_of(path)
    return made


def test_each_is_a_link_as_it_stands(configs: dict[str, LinkConfig]) -> None:
    benchmark, demo, cloud = (configs[name] for name in FILES)
    assert benchmark.groups is None
    assert benchmark.schemas is None
    assert [str(each) for each in demo.target.addresses] != []
    assert demo.link == "warehouse_mover"
    assert demo.schemas is not None
    assert cloud.schemas is not None
    assert cloud.topics.rename is not None
    assert "hush-7" not in repr(configs)
    assert "hush-8" not in repr(configs)
