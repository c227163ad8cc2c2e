"""Does steps, each only while the target is as the step requires it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never

from towpath.access.steps import (
    CreateAcl,
    DeleteAcl,
    DeleteUser,
    RemoveQuota,
    SetQuota,
    SetUser,
    Step,
)
from towpath.cluster.admin import Admin
from towpath.model.acl import Acl
from towpath.model.errors import ConfigError, Problem, StepOutdatedError
from towpath.model.quota import Quota
from towpath.model.scram import Credential
from towpath.model.secret import Secret


def made_meanwhile(steps: Iterable[Step], target: Admin) -> frozenset[tuple[str, str]]:
    """Return subject and name of what steps would create and is there by now: it is not ours.

    Raises:
        ClusterError: The target cannot be asked, or refused.
    """
    new = [step for step in steps if step.creates]
    there: set[object] = set()
    if any(isinstance(step, CreateAcl) for step in new) and (acls := target.acls()) is not None:
        there |= acls.known
    users = [step.credential.user for step in new if isinstance(step, SetUser)]
    there |= target.credentials(users).keys() if users else set()
    if any(isinstance(step, SetQuota) for step in new):
        there |= target.quotas().known.keys()
    return frozenset((step.subject, step.about) for step in new if _thing(step) in there)


def present(step: Step, target: Admin) -> bool:
    """Return whether the target has what a step is about.

    Raises:
        ClusterError: The target cannot be asked, or refused.
    """
    match step:
        case CreateAcl() | DeleteAcl():
            acls = target.acls()
            return acls is not None and step.acl in acls.known
        case SetUser() | DeleteUser():
            return _iterations(step.credential, target) is not None
        case SetQuota() | RemoveQuota():
            return step.quota in target.quotas(step.quota.entities).known
        case _:
            assert_never(step)


def _thing(step: Step) -> Acl | Credential | Quota:
    match step:
        case CreateAcl() | DeleteAcl():
            return step.acl
        case SetUser() | DeleteUser():
            return step.credential
        case SetQuota() | RemoveQuota():
            return step.quota
        case _:
            assert_never(step)


def apply(step: Step, target: Admin, passwords: Mapping[str, Secret]) -> None:
    """Do one step; what is there already as the step would leave it counts as done.

    Args:
        step: What to do.
        target: Where.
        passwords: Those of `access.users`.

    Raises:
        StepOutdatedError: The target is not as the step requires it.
        ConfigError: The file no longer names the password that the step needs.
        ClusterError: The target cannot be asked, or refused.
    """
    match step:
        case CreateAcl():
            target.create_acls([step.acl]).sure(step.acl)
        case DeleteAcl():
            target.delete_acls([step.acl]).sure(step.acl)
        case SetUser():
            _set_user(step, target, passwords)
        case DeleteUser():
            _delete_user(step, target)
        case SetQuota():
            _set_quota(step, step.value, target)
        case RemoveQuota():
            _set_quota(step, None, target)
        case _:
            assert_never(step)


def _set_user(step: SetUser, target: Admin, passwords: Mapping[str, Secret]) -> None:
    found = _iterations(step.credential, target)
    if found is not None and found >= step.iterations:
        return
    _require(f"user {step.about}", step.had, found, "iterations")
    user = step.credential.user
    if user not in passwords:
        text = "is required by this plan: the password that the user gets on the target"
        raise ConfigError((Problem(f"access.users.{user}", text),))
    target.set_credential(step.credential, step.iterations, passwords[user])


def _delete_user(step: DeleteUser, target: Admin) -> None:
    found = _iterations(step.credential, target)
    if found is not None:
        _require(f"user {step.about}", step.had, found, "iterations")
        target.delete_credential(step.credential)


def _set_quota(step: SetQuota | RemoveQuota, value: float | None, target: Admin) -> None:
    found = target.quotas(step.quota.entities).known.get(step.quota)
    if found != value:
        _require(f"the quota of {step.about}", step.had, found)
        target.set_quota(step.quota, value)


def _iterations(credential: Credential, target: Admin) -> int | None:
    return target.credentials([credential.user]).get(credential)


def _require(thing: str, had: float | None, found: float | None, unit: str = "") -> None:
    if found != had:
        raise StepOutdatedError(thing, _text(had, unit), _text(found, unit))


def _text(value: float | None, unit: str) -> str:
    return "none" if value is None else f"{str(value).removesuffix('.0')} {unit}".strip()
