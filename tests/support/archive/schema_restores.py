"""Records and schemas in one archive, whose registry is gone when they come back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient

from tests.support.archive.archived_schemas import SchemaArchive
from tests.support.archive.stored import StoredArchive, old_records
from tests.support.clusters.brokers import SharedCluster
from tests.support.kafka import PATIENCE, consume
from tests.support.registries.registry import LocalRegistry, record
from tests.support.registries.schema_worlds import fill
from towpath.wire.plain import Record


def named(ids: list[int], first: int = 0) -> tuple[Record, ...]:
    """Return records whose values name these schemas."""
    plain = old_records(len(ids), first)
    return tuple(
        replace(each, value=b"\0" + number.to_bytes(4, "big") + b"payload")
        for each, number in zip(plain, ids, strict=True)
    )


def ids_in(bootstrap: str, topic: str) -> list[int]:
    """Return the ids that records of a topic name."""
    values = [each.value for each in consume(bootstrap, topic)]
    return [int.from_bytes(value[1:5], "big") for value in values if value is not None]


def topics_of(bootstrap: str) -> set[str]:
    """Return the names of all topics."""
    return set(AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=PATIENCE).topics)


class SchemaScene:
    """Records and schemas in one archive; the registry of the source is gone.

    Attributes:
        topic: The archived topic.
        held: Id and text of each archived version.
        subjects: The ids of the subject of the values.
    """

    def __init__(self, folder: Path, name: str, target: SharedCluster, ours: LocalRegistry) -> None:
        self.folder, self.target, self.topic = folder, target, f"{name}.orders"
        self.stored = StoredArchive(folder, name, target.bootstrap)
        ours.register("gone", record("Gone", "x"))
        fill(ours)
        subject = f"{self.topic}-value"
        self.subjects = [ours.register(subject, record("V", *"abc"[: n + 1])) for n in range(3)]
        ours.ask("PUT", f"/config/{subject}", {"compatibility": "FULL"})
        ours.ask("DELETE", "/subjects/gone")
        self.schemas = SchemaArchive(folder, ours.url, self.stored.store)
        assert self.schemas.look().trouble == ""
        self.held = self.schemas.held()
        self.stored.describe(self.topic, {"retention.ms": "-1"})
        self.stored.put(self.topic, named(self.subjects * 20))
        ours.stop()

    @property
    def restored(self) -> int:
        """How many records are on the target."""
        return len(ids_or_none(self.target.bootstrap, self.topic))

    def file(self, theirs: str, **more: Any) -> str:
        """Write the file of the restore, and return its path."""
        return str(self.stored.file(schemas={"target": {"url": theirs}, **more}))


def ids_or_none(bootstrap: str, topic: str) -> list[int]:
    """Return the ids in a topic, none if there is no such topic."""
    return ids_in(bootstrap, topic) if topic in topics_of(bootstrap) else []
