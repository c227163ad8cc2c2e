"""Metadata log records, as classes that kafka-python generates from JSON files.

kafka-python has the machinery and Kafka's requests, not these records. The files are those of
Apache Kafka 4.4.0 (`common/metadata` in its jar `kafka-metadata`, `common/message` in `kafka-raft`;
Apache License 2.0), without their comments. They hold all that 3.9.2, whose clusters migrate, can
write. A test compares them with the jars of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, new_class
from typing import Any

from kafka.protocol.api_data import ApiData

_NO_FIELDS = [{"name": "Nothing", "type": "int8", "versions": "none"}]
"""kafka-python makes no class without fields; this field is in no version."""


def read_body(kind: Any, data: bytes, at: int, version: int) -> Any:
    """Decode the body of a record; its attributes are Kafka's fields in snake case.

    Args:
        kind: One of the classes below.
        data: The value of the record.
        at: Where in it the body begins.
        version: Its version, not newer than `kind.max_version`.

    Raises:
        ValueError: The bytes are not such a body; IndexError, struct.error and AssertionError
            likewise.
    """
    read = kind.fields_of(version)
    body, end = read(data, at)
    if end != len(data):
        raise ValueError(f"it ends at byte {end} of {len(data)}")
    return body


def _patched(_: type, json: Any) -> Any:
    return json | {"type": "data", "fields": json["fields"] or _NO_FIELDS}


def _reader(cls: Any, version: int) -> Any:
    return cls._struct.compiled_decode_from(version, True, True, data_class=cls)


def _record(name: str) -> Any:
    body = {"json_patch": classmethod(_patched), "fields_of": classmethod(_reader)}
    return new_class(name, (ApiData,), {"load_json": __name__}, lambda space: space.update(body))


_NAMES = (
    "AbortTransactionRecord",
    "AccessControlEntryRecord",
    "BeginTransactionRecord",
    "BrokerRegistrationChangeRecord",
    "ClearElrRecord",
    "ClientQuotaRecord",
    "ConfigRecord",
    "DelegationTokenRecord",
    "EndTransactionRecord",
    "FeatureLevelRecord",
    "FenceBrokerRecord",
    "NoOpRecord",
    "PartitionChangeRecord",
    "PartitionRecord",
    "ProducerIdsRecord",
    "RegisterBrokerRecord",
    "RegisterControllerRecord",
    "RemoveAccessControlEntryRecord",
    "RemoveDelegationTokenRecord",
    "RemoveTopicRecord",
    "RemoveUserScramCredentialRecord",
    "TopicRecord",
    "UnfenceBrokerRecord",
    "UnregisterBrokerRecord",
    "UnregisterControllerRecord",
    "UserScramCredentialRecord",
    "ZkMigrationStateRecord",
)

RECORDS: Mapping[str, Any] = MappingProxyType({name: _record(name) for name in _NAMES})
"""The class of each record, by Kafka's name."""
BY_KEY: Mapping[int, Any] = MappingProxyType(
    {each.json["apiKey"]: each for each in RECORDS.values()}
)
"""The class of each record, by its api key."""

KRaftVersionRecord = _record("KRaftVersionRecord")
"""A control record: how the quorum keeps its voters; 1 in the log, 0 in the controllers' files."""
VotersRecord = _record("VotersRecord")
"""A control record: the voters of a quorum that keeps them in the log (KIP-853)."""
