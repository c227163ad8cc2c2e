"""ACLs of the users of secured clusters, given and taken back, and known to the broker by then."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType

from tests.support.kafka import PATIENCE, wait_until
from towpath.dev.broker import LocalCluster

MIRROR = "mirror"
TOPIC, CLUSTER = ResourceType.TOPIC, "kafka-cluster"
ALL, READ, WRITE = AclOperation.ALL, AclOperation.READ, AclOperation.WRITE
DESCRIBE, DESCRIBE_CONFIGS = AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS
LITERAL, PREFIXED = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED


def allow(
    cluster: LocalCluster,
    kind: ResourceType,
    name: str,
    operations: Iterable[AclOperation] = (ALL,),
    user: str = MIRROR,
    pattern: ResourcePatternType = PREFIXED,
) -> None:
    """Let a user do something with all resources whose name begins so, or with one."""
    admin, wanted = AdminClient({"bootstrap.servers": cluster.back_door}), set(operations)
    acls = [
        AclBinding(kind, name, pattern, f"User:{user}", "*", each, AclPermissionType.ALLOW)
        for each in wanted
    ]
    for answer in admin.create_acls(acls).values() if acls else ():
        answer.result(PATIENCE)
    rule = _filter(kind, name, AclOperation.ANY, user, pattern)
    wait_until(lambda: wanted <= _held(admin, rule), f"the broker knows what {user} may do")


def withdraw(
    cluster: LocalCluster,
    kind: ResourceType,
    name: str,
    operation: AclOperation,
    user: str = MIRROR,
) -> None:
    """Take back what `allow` let a user do with all resources whose name begins so."""
    admin = AdminClient({"bootstrap.servers": cluster.back_door})
    rule = _filter(kind, name, operation, user, PREFIXED)
    for answer in admin.delete_acls([rule]).values():
        assert answer.result(PATIENCE), f"there was no such ACL on {name}"
    wait_until(lambda: not _held(admin, rule), f"the broker knows what {user} may no longer do")


def _filter(
    kind: ResourceType,
    name: str,
    operation: AclOperation,
    user: str,
    pattern: ResourcePatternType,
) -> AclBindingFilter:
    return AclBindingFilter(
        kind, name, pattern, f"User:{user}", "*", operation, AclPermissionType.ALLOW
    )


def _held(admin: AdminClient, rule: AclBindingFilter) -> set[AclOperation]:
    return {found.operation for found in admin.describe_acls(rule).result(PATIENCE)}
