"""Protocol numbers of resources and access control (KIP-11, 290, 373, 554)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka.protocol.admin import DescribeConfigsRequest

from towpath.model.acl import Operation, Pattern, Permission, Resource
from towpath.model.scram import Mechanism

TOPIC, BROKER = 2, 4
"""Kafka's numbers for kinds of resources (`ConfigResource.Type`)."""

RESOURCES = {
    Resource.TOPIC: 2,
    Resource.GROUP: 3,
    Resource.CLUSTER: 4,
    Resource.TRANSACTIONAL_ID: 5,
    Resource.DELEGATION_TOKEN: 6,
    Resource.USER: 7,
}
PATTERNS = {Pattern.LITERAL: 3, Pattern.PREFIXED: 4}
OPERATIONS = {
    Operation.ALL: 2,
    Operation.READ: 3,
    Operation.WRITE: 4,
    Operation.CREATE: 5,
    Operation.DELETE: 6,
    Operation.ALTER: 7,
    Operation.DESCRIBE: 8,
    Operation.CLUSTER_ACTION: 9,
    Operation.DESCRIBE_CONFIGS: 10,
    Operation.ALTER_CONFIGS: 11,
    Operation.IDEMPOTENT_WRITE: 12,
    Operation.CREATE_TOKENS: 13,
    Operation.DESCRIBE_TOKENS: 14,
    Operation.TWO_PHASE_COMMIT: 15,
}
PERMISSIONS = {Permission.DENY: 2, Permission.ALLOW: 3}
MECHANISMS = {Mechanism.SHA_256: 1, Mechanism.SHA_512: 2}


def describe_configs(kind: int, names: Sequence[str], keys: Sequence[str] | None = None) -> Any:
    """Return a request for the configs of these resources, by default for all configs."""
    resource = DescribeConfigsRequest.DescribeConfigsResource
    return DescribeConfigsRequest(
        resources=[
            resource(resource_type=kind, resource_name=name, configuration_keys=keys)
            for name in names
        ]
    )
