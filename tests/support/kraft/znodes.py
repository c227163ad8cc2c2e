"""The znodes of a cluster that has everything, with contents as Kafka 3.9 writes them."""

from __future__ import annotations

import json

CLUSTER_ID = "Dg9HnL4OS7u8QJxVKDD1dA"
TOPIC_ID = "xtzWWN4bTjitpL3kfd9s5g"


def small() -> dict[str, bytes | None]:
    """Return a cluster of two brokers with one of each kind."""
    return {**_cluster(), **_configs(), **_access()}


def _cluster() -> dict[str, bytes | None]:
    return {
        "/cluster/id": _json({"version": "1", "id": CLUSTER_ID}),
        "/controller": _json(
            {
                "version": 2,
                "brokerid": 1,
                "timestamp": "1763953200000",
                "kraftControllerEpoch": -1,
            }
        ),
        "/controller_epoch": b"4",
        "/migration": _json(
            {
                "version": 0,
                "kraft_controller_id": 3000,
                "kraft_controller_epoch": 2,
                "kraft_metadata_offset": 118,
                "kraft_metadata_epoch": 2,
            }
        ),
        "/brokers/ids/1": b"{}",
        "/brokers/ids/2": b"{}",
        "/brokers/topics/orders": _json(
            {
                "removing_replicas": {},
                "partitions": {"0": [1, 2], "1": [2, 1]},
                "topic_id": TOPIC_ID,
                "adding_replicas": {"1": [3]},
                "version": 3,
            }
        ),
        "/brokers/topics/orders/partitions/0/state": state(1, [1, 2], 5),
        "/brokers/topics/orders/partitions/1/state": state(2, [2], 0),
        "/brokers/topics/going": _json(
            {"partitions": {"0": [1]}, "topic_id": "AAAAAAAAAAAAAAAAAAAAAg", "version": 3}
        ),
        "/admin/delete_topics/going": None,
        "/latest_producer_id_block": _json(
            {"version": 1, "broker": 1, "block_start": "3000", "block_end": "3999"}
        ),
    }


def _configs() -> dict[str, bytes | None]:
    return {
        "/config/topics/orders": config(**{"retention.ms": "86400000"}),
        "/config/topics/going": config(**{"retention.ms": "1"}),
        "/config/topics/gone": config(**{"retention.ms": "1"}),
        "/config/topics/empty": config(),
        "/config/brokers/<default>": config(**{"log.cleaner.threads": "2"}),
        "/config/brokers/1": config(
            **{
                "listener.name.tls.ssl.keystore.password": (
                    "encryptedPassword:Zm9v,keyLength:128,salt:YmFy,iterations:4096"
                ),
                "log.retention.ms": "1000",
            }
        ),
        "/config/brokers/7": config(),
        "/config/users/alice": config(
            **{
                "producer_byte_rate": "1048576",
                "SCRAM-SHA-256": "salt=c2FsdA==,stored_key=c3RvcmVk,server_key=c2VydmVy,"
                "iterations=8192",
            }
        ),
        "/config/users/alice/clients/app%201": config(request_percentage="12.5"),
        "/config/users/<default>": config(consumer_byte_rate="1.0E6"),
        "/config/users/<default>/clients/<default>": config(consumer_byte_rate="7"),
        "/config/users/caf%C3%A9%40%2F%2A": None,
        "/config/users/caf%C3%A9%40%2F%2A/clients/<default>": config(producer_byte_rate="5"),
        "/config/clients/%3A%2F": config(controller_mutation_rate="0.5"),
        "/config/ips/10.0.0.1": config(connection_creation_rate="9"),
        "/config/ips/<default>": config(connection_creation_rate="10"),
    }


def _access() -> dict[str, bytes | None]:
    return {
        "/kafka-acl/Topic/orders": acls(("User:alice", "Allow", "Read", "*")),
        "/kafka-acl/Cluster/kafka-cluster": acls(("User:bob", "Deny", "DESCRIBECONFIGS", "::1")),
        "/kafka-acl/TransactionalId/*": acls(("User:a:b", "Allow", "Write", "*")),
        "/kafka-acl/DelegationToken": None,
        "/kafka-acl-extended/prefixed/Group/team-": acls(("Group:x", "Allow", "All", "h")),
        "/delegation_token/tokens/t1": _json(
            {
                "version": 3,
                "owner": "User%3Aalice",
                "tokenRequester": "User%3Abob",
                "renewers": ["User%3Acarol"],
                "issueTimestamp": 1,
                "maxTimestamp": 3,
                "expiryTimestamp": 2,
                "tokenId": "t1",
            }
        ),
    }


def many(topics: int, partitions: int) -> dict[str, bytes | None]:
    """Return a cluster with so many topics, each with a config, and partitions in all."""
    made = small()
    for number in range(topics - 1):
        name = f"topic-{number:05}"
        own = range(partitions // topics + (number < partitions % topics))
        made[f"/brokers/topics/{name}"] = _json(
            {"partitions": {str(each): [1, 2] for each in own}, "topic_id": TOPIC_ID, "version": 3}
        )
        for each in own:
            made[f"/brokers/topics/{name}/partitions/{each}/state"] = state(1, [1, 2], 0)
        made[f"/config/topics/{name}"] = config()
    return made


def state(leader: int, isr: list[int], epoch: int) -> bytes:
    """Return the state of a partition."""
    return _json(
        {
            "controller_epoch": 4,
            "leader": leader,
            "version": 1,
            "leader_epoch": epoch,
            "isr": isr,
        }
    )


def config(**entries: str) -> bytes:
    """Return the content of a znode of `/config`."""
    return _json({"version": 1, "config": entries})


def acls(*entries: tuple[str, str, str, str]) -> bytes:
    """Return the content of a resource's znode: principal, permission, operation, host."""
    keys = "principal", "permissionType", "operation", "host"
    return _json({"version": 1, "acls": [dict(zip(keys, each, strict=True)) for each in entries]})


def _json(fields: object) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()
