"""Files of Redpanda Connect's migrator."""

from __future__ import annotations

from pathlib import Path

INPUT = {"seed_brokers": '["a:9092"]', "topics": '["orders"]', "consumer_group": '"mover"'}
OUTPUT = {"seed_brokers": '["b:9092"]'}
BASIC = """
input:
  redpanda_migrator:
    seed_brokers: ["source:9092"]
    topics: ["orders", "payments"]
    consumer_group: "migration"

output:
  redpanda_migrator:
    seed_brokers: ["destination:9092"]
    topic: ${! @kafka_topic }  # Preserve names
"""
"""The first example of the specification, as it is there."""


def written(folder: Path, ins: dict[str, str], outs: dict[str, str], more: str = "") -> Path:
    """Write a file with fields of both sides beside those that it needs, and more sections."""

    def lines(fields: dict[str, str]) -> str:
        return "".join(f"    {key}: {value}\n" for key, value in fields.items() if value)

    path = folder / "connect.yaml"
    path.write_text(
        f"input:\n  redpanda_migrator:\n{lines(INPUT | ins)}"
        f"output:\n  redpanda_migrator:\n{lines(OUTPUT | outs)}{more}"
    )
    return path
