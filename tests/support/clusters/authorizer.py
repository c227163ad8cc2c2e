"""What Kafka's authorizer would answer: KIP-11, KIP-290; what implies what as in its own code."""

from __future__ import annotations

from collections.abc import Iterable

from towpath.model.acl import EVERY, Acl, Operation, Pattern, Permission, Resource

_IMPLIED_BY = {
    Operation.DESCRIBE: {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER},
    Operation.DESCRIBE_CONFIGS: {Operation.ALTER_CONFIGS},
}
"""Whoever is allowed one of these is allowed that, too; nothing of the kind holds for DENY."""


def may(
    acls: Iterable[Acl], who: str, host: str, operation: Operation, resource: Resource, name: str
) -> bool:
    """Return whether somebody may do something with one resource; who is no super user."""
    fitting = [
        acl
        for acl in acls
        if acl.resource is resource
        and acl.principal in {who, f"User:{EVERY}"}
        and acl.host in {host, EVERY}
        and _fits(acl, name)
    ]
    denied = {a.operation for a in fitting if a.permission is Permission.DENY}
    allowed = {a.operation for a in fitting if a.permission is Permission.ALLOW}
    enough = {operation, Operation.ALL, *_IMPLIED_BY.get(operation, ())}
    return not denied & {operation, Operation.ALL} and bool(allowed & enough)


def _fits(acl: Acl, name: str) -> bool:
    if acl.pattern is Pattern.PREFIXED:
        return name.startswith(acl.name)
    return acl.name in {name, EVERY}
