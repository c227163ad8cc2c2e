"""Changes to ACLs, SCRAM users and quotas of the target, as data.

`about` is the name of the thing that a step changes, unique within its `subject`. The link owns
what its steps create.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from towpath.model.acl import Acl, Permission
from towpath.model.quota import Quota
from towpath.model.scram import Credential
from towpath.plan.kinds import FULL_BATCH, StepKind, StepKinds

ACLS, USERS, QUOTAS = "acls", "users", "quotas"


@dataclass(frozen=True, slots=True)
class CreateAcl:
    """Create an ACL; requires nothing, as creating an existing ACL changes nothing.

    Attributes:
        acl: The ACL to create.
        source: The source ACL that asks for it, as text.
    """

    subject: ClassVar[str] = ACLS
    creates: ClassVar[bool] = True

    acl: Acl
    source: str

    @property
    def about(self) -> str:
        """The ACL as text."""
        return str(self.acl)


@dataclass(frozen=True, slots=True)
class DeleteAcl:
    """Delete an ACL; requires nothing, as an ACL has no further state."""

    subject: ClassVar[str] = ACLS
    creates: ClassVar[bool] = False

    acl: Acl

    @property
    def about(self) -> str:
        """The ACL as text."""
        return str(self.acl)


@dataclass(frozen=True, slots=True)
class SetUser:
    """Set a user's password for one mechanism, with the source's number of iterations.

    Only the file holds the password. Requires that the target still has `had` iterations, or no
    such credential if `had` is `None`.
    """

    subject: ClassVar[str] = USERS

    credential: Credential
    iterations: int
    had: int | None

    @property
    def creates(self) -> bool:
        """Whether the target has no such credential yet."""
        return self.had is None

    @property
    def about(self) -> str:
        """The user and the mechanism that the step changes."""
        return str(self.credential)


@dataclass(frozen=True, slots=True)
class DeleteUser:
    """Delete a user's password for one mechanism; requires that `had` iterations remain."""

    subject: ClassVar[str] = USERS
    creates: ClassVar[bool] = False

    credential: Credential
    had: int

    @property
    def about(self) -> str:
        """The user and the mechanism that the step changes."""
        return str(self.credential)


@dataclass(frozen=True, slots=True)
class SetQuota:
    """Set a quota; requires that the target still has `had`, or none if `had` is `None`."""

    subject: ClassVar[str] = QUOTAS

    quota: Quota
    value: float
    had: float | None

    @property
    def creates(self) -> bool:
        """Whether the target has no such quota yet."""
        return self.had is None

    @property
    def about(self) -> str:
        """The entities and the limit, as text."""
        return str(self.quota)


@dataclass(frozen=True, slots=True)
class RemoveQuota:
    """Remove a quota; requires that the target still has `had`."""

    subject: ClassVar[str] = QUOTAS
    creates: ClassVar[bool] = False

    quota: Quota
    had: float

    @property
    def about(self) -> str:
        """The entities and the limit, as text."""
        return str(self.quota)


AccessStep = CreateAcl | DeleteAcl | SetUser | DeleteUser | SetQuota | RemoveQuota

KINDS = StepKinds(
    (
        StepKind(step=SetUser, verb="set", grants=True, weight=lambda _: FULL_BATCH),
        StepKind(step=SetQuota, verb="set"),
        StepKind(
            step=CreateAcl,
            verb="create",
            grants=True,
            once=True,
            first=lambda step: step.acl.permission is Permission.DENY,
            apart=lambda step: step.acl.permission,
            blamed=lambda step: step.source,
        ),
        StepKind(
            step=DeleteAcl, verb="delete", removes=True, apart=lambda step: step.acl.permission
        ),
        StepKind(step=RemoveQuota, verb="remove", removes=True),
        StepKind(step=DeleteUser, verb="delete", removes=True, weight=lambda _: FULL_BATCH),
    )
)
"""DENY is created before anything else, and never in one batch with ALLOW, so that nothing is
allowed for a moment. Each user has its own requests, which take a while."""
