"""The examples of configuration that the migrator's documentation gives, each as it stands.

An example of a part stands in a file that has the rest of the basic one.
"""

from __future__ import annotations

from typing import Any

from ruamel.yaml import YAML

from tests.support.copying.connect_file import BASIC

REGISTRY = {"url": "http://source-registry:8081"}
EXAMPLES: dict[str, tuple[str, dict[str, Any]]] = {
    "basic migration": (BASIC, {"topics": {"include": ["orders", "payments"]}}),
    "topic name transformation": (
        """
output:
  redpanda_migrator:
    topic: prod_${! @kafka_topic }  # Add prefix
""",
        {"topics": {"include": ["orders", "payments"], "rename": "prod_{topic}"}},
    ),
    "schema registry with ID translation": (
        """
output:
  redpanda_migrator:
    schema_registry:
      url: "http://dest-registry:8081"
      translate_ids: true  # Create-or-reuse mode
      versions: all        # Migrate all versions
""",
        {"schemas": {"ids": "translate", "versions": "all"}},
    ),
    "consumer groups with filtering": (
        """
output:
  redpanda_migrator:
    consumer_groups:
      interval: 1m
      include: ["app-.*"]      # Only app- prefixed groups
      exclude: ["migration"]   # Exclude migrator itself
      only_empty: true         # Only Empty state groups
""",
        {"groups": {"interval": "60s", "include": [".*(?:app-.*).*"]}},
    ),
    "serverless mode": (
        """
output:
  redpanda_migrator:
    serverless: true  # Restrict configs to serverless subset
    schema_registry:
      url: "https://serverless.redpanda.com:8081"
      translate_ids: true
""",
        {"target": {"bootstrap": ["destination:9092"], "kind": "serverless"}},
    ),
    "bidirectional migration": (
        """
output:
  redpanda_migrator:
    provenance_header: "redpanda-migrator-provenance"  # Default
""",
        {},
    ),
    "ACL replication": (
        """
output:
  redpanda_migrator:
    sync_topic_acls: true
""",
        {"access": {"acls": "safe"}},
    ),
    "schema normalization": (
        """
output:
  redpanda_migrator:
    schema_registry:
      normalize: true
""",
        {"schemas": {"normalize": True, "ids": "keep"}},
    ),
}


def whole(text: str) -> dict[str, Any]:
    """Return an example with what it leaves out, from the basic one."""
    yaml = YAML(typ="safe")
    made: dict[str, Any] = yaml.load(BASIC)
    part: dict[str, Any] = yaml.load(text)
    for side, section in part.items():
        made[side]["redpanda_migrator"] |= section["redpanda_migrator"]
    registry = made["output"]["redpanda_migrator"].get("schema_registry")
    if registry is not None:
        registry.setdefault("url", "http://dest-registry:8081")
        made["input"]["redpanda_migrator"]["schema_registry"] = REGISTRY
    return made
