"""Values of access control: KIP-11, with prefixed patterns (KIP-290) and users (KIP-373)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from towpath.model.quoting import quoted


class Resource(StrEnum):
    """The types of resources that ACLs protect."""

    TOPIC = "topic"
    GROUP = "group"
    CLUSTER = "cluster"
    TRANSACTIONAL_ID = "transactional_id"
    DELEGATION_TOKEN = "delegation_token"  # noqa: S105, a kind of resource
    USER = "user"


class Pattern(StrEnum):
    """The pattern types of ACLs."""

    LITERAL = "literal"
    PREFIXED = "prefixed"


class Operation(StrEnum):
    """The operations that ACLs allow or deny."""

    ALL = "all"
    READ = "read"
    WRITE = "write"
    CREATE = "create"
    DELETE = "delete"
    ALTER = "alter"
    DESCRIBE = "describe"
    CLUSTER_ACTION = "cluster_action"
    DESCRIBE_CONFIGS = "describe_configs"
    ALTER_CONFIGS = "alter_configs"
    IDEMPOTENT_WRITE = "idempotent_write"
    CREATE_TOKENS = "create_tokens"
    DESCRIBE_TOKENS = "describe_tokens"
    TWO_PHASE_COMMIT = "two_phase_commit"

    @property
    def kafka_name(self) -> str:
        """Kafka's own name of the operation, such as `DescribeConfigs`."""
        return "".join(word.capitalize() for word in self.split("_"))


class Permission(StrEnum):
    """The two effects of an ACL: allow or deny."""

    DENY = "deny"
    ALLOW = "allow"


EVERY = "*"
"""The literal name that stands for all resources of a kind, and the host that stands for all."""


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Acl:
    """One ACL binding: principal, host, operation, resource, and whether it allows or denies.

    Its text is a sentence, and no other ACL has the same.
    """

    resource: Resource
    name: str
    pattern: Pattern
    principal: str
    host: str
    operation: Operation
    permission: Permission

    @property
    def about_all(self) -> bool:
        """Whether the ACL covers all resources of its type; a prefix `*` does not."""
        return self.name == EVERY and self.pattern is Pattern.LITERAL

    def meets(self, other: Acl) -> bool:
        """Return whether some resource may be covered by both ACLs."""
        if self.resource is not other.resource:
            return False
        return self.about_all or other.about_all or self._covers(other) or other._covers(self)

    def _covers(self, other: Acl) -> bool:
        """Whether the names of another, neither about all resources, are among those of this."""
        if self.pattern is Pattern.PREFIXED:
            return other.name.startswith(self.name)
        return other.pattern is Pattern.LITERAL and other.name == self.name

    def __str__(self) -> str:
        of = "" if self.pattern is Pattern.LITERAL else "prefixed "
        host = "" if self.host == EVERY else f" from {quoted(self.host)}"
        return (
            f"{self.permission} {quoted(self.principal)}{host} to {_words(self.operation)} on"
            f" {of}{_words(self.resource)} {quoted(self.name)}"
        )


def _words(name: str) -> str:
    return name.replace("_", " ")
