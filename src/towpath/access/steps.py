"""Changes to who may do what on the target, as data.

`about` names the thing that a step changes, and no other thing of its `subject`. A step that
`creates` it makes it the link's own.
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
    """Create an ACL; requires nothing, as equal ones are one.

    Attributes:
        acl: What to create.
        source: The ACL of the source that asks for it, in words.
    """

    subject: ClassVar[str] = ACLS
    creates: ClassVar[bool] = True

    acl: Acl
    source: str

    @property
    def about(self) -> str:
        """The ACL in words."""
        return str(self.acl)


@dataclass(frozen=True, slots=True)
class DeleteAcl:
    """Delete an ACL; requires nothing, as it is its own content."""

    subject: ClassVar[str] = ACLS
    creates: ClassVar[bool] = False

    acl: Acl

    @property
    def about(self) -> str:
        """The ACL in words."""
        return str(self.acl)


@dataclass(frozen=True, slots=True)
class SetUser:
    """Give a user a password, for one mechanism, with as many iterations as the source has.

    The password itself is in the file alone. Requires that the target still has `had` iterations,
    or no such password where that is None.
    """

    subject: ClassVar[str] = USERS

    credential: Credential
    iterations: int
    had: int | None

    @property
    def creates(self) -> bool:
        """Whether the target has nothing of it yet."""
        return self.had is None

    @property
    def about(self) -> str:
        """The user and the mechanism."""
        return str(self.credential)


@dataclass(frozen=True, slots=True)
class DeleteUser:
    """Delete a user's password for one mechanism; requires that it still has `had` iterations."""

    subject: ClassVar[str] = USERS
    creates: ClassVar[bool] = False

    credential: Credential
    had: int

    @property
    def about(self) -> str:
        """The user and the mechanism."""
        return str(self.credential)


@dataclass(frozen=True, slots=True)
class SetQuota:
    """Set a quota; requires that the target still has `had`, or none where that is None."""

    subject: ClassVar[str] = QUOTAS

    quota: Quota
    value: float
    had: float | None

    @property
    def creates(self) -> bool:
        """Whether the target has none yet."""
        return self.had is None

    @property
    def about(self) -> str:
        """For whom, and what is limited."""
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
        """For whom, and what is limited."""
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
"""What is denied is denied before anything exists that it is about, and never together with what is
allowed: one of both must be done before. A user has requests of its own, which take a while."""
