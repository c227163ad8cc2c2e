"""Applying of access steps, each only if the target is still as the step requires."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import assert_never

from towpath.access.steps import (
    AccessStep,
    CreateAcl,
    DeleteAcl,
    DeleteUser,
    RemoveQuota,
    SetQuota,
    SetUser,
)
from towpath.cluster.admin import Admin
from towpath.cluster.metadata import Answers
from towpath.model.acl import Acl
from towpath.model.errors import ConfigError, ConfigProblem, StepOutdatedError, TowpathError
from towpath.model.outcome import Changed
from towpath.model.quota import Quota
from towpath.model.scram import Credential
from towpath.model.secret import Secret


def present(steps: Iterable[AccessStep], target: Admin) -> frozenset[tuple[str, str]]:
    """Return the ACLs, users and quotas that steps are about and that the target has.

    The target is asked once for each kind of thing.

    Raises:
        ClusterError: The target cannot be asked, or refuses the request.
    """
    wanted = list(steps)
    there: set[object] = set()
    of_acls = any(isinstance(step, CreateAcl | DeleteAcl) for step in wanted)
    if of_acls and (acls := target.acls.describe()) is not None:
        there |= acls.known
    users = [step.credential.user for step in wanted if isinstance(step, SetUser | DeleteUser)]
    there |= target.users.describe(users).keys() if users else set()
    if any(isinstance(step, SetQuota | RemoveQuota) for step in wanted):
        there |= target.quotas.describe().known.keys()
    return frozenset((step.subject, step.about) for step in wanted if _thing(step) in there)


def _thing(step: AccessStep) -> Acl | Credential | Quota:
    match step:
        case CreateAcl() | DeleteAcl():
            return step.acl
        case SetUser() | DeleteUser():
            return step.credential
        case SetQuota() | RemoveQuota():
            return step.quota
        case _:
            assert_never(step)


def apply(step: AccessStep, target: Admin, passwords: Mapping[str, Secret]) -> None:
    """Apply one step; an ACL, user or quota that is already as wanted counts as done.

    Args:
        step: The step.
        target: The cluster to change.
        passwords: The passwords in `access.users`.

    Raises:
        StepOutdatedError: The target is not as the step requires.
        ConfigError: The file no longer names the password that the step needs.
        ClusterError: The target cannot be asked, or refuses the step.
    """
    apply_all([step], target, passwords).sure(step.about)


def apply_all(
    steps: Sequence[AccessStep], target: Admin, passwords: Mapping[str, Secret]
) -> Changed:
    """Apply steps of one kind together, each for another ACL, user or quota.

    Raises:
        ClusterError: The target cannot be asked, or did not answer.
    """
    changed = Changed()
    _acls([s for s in steps if isinstance(s, CreateAcl)], target.acls.create, changed)
    _acls([s for s in steps if isinstance(s, DeleteAcl)], target.acls.delete, changed)
    _quotas([s for s in steps if isinstance(s, SetQuota | RemoveQuota)], target, changed)
    for step in steps:
        if isinstance(step, SetUser | DeleteUser):
            with changed.about(step.about):
                changed.done[step.about] = _user(step, target, passwords)
    return changed


def _user(
    step: SetUser | DeleteUser, target: Admin, passwords: Mapping[str, Secret]
) -> float | None:
    began = time.monotonic()
    if isinstance(step, SetUser):
        done = _set_user(step, target, passwords)
    else:
        done = _delete_user(step, target)
    return time.monotonic() - began if done else None


def _acls(
    steps: Sequence[CreateAcl | DeleteAcl],
    change: Callable[[Iterable[Acl]], Answers[Acl, None]],
    changed: Changed,
) -> None:
    began = time.monotonic()
    answers = change(step.acl for step in steps)
    failed = {str(acl): error for acl, error in answers.failed.items()}
    _share(map(str, answers), failed, began, changed)


def _quotas(steps: Sequence[SetQuota | RemoveQuota], target: Admin, changed: Changed) -> None:
    values: dict[Quota, float | None] = {}
    for step, found in zip(steps, _found_quotas(steps, target), strict=True):
        value = step.value if isinstance(step, SetQuota) else None
        with changed.about(step.about):
            if found != value:
                _require(f"the quota of {step.about}", step.had, found)
                values[step.quota] = value
            else:
                changed.done[step.about] = None
    began = time.monotonic()
    answers = target.quotas.change_all(values) if values else Answers[Quota, None]({}, {})
    failed = {str(quota): error for quota, error in answers.failed.items()}
    _share(map(str, answers), failed, began, changed)


def _found_quotas(steps: Sequence[AccessStep], target: Admin) -> list[float | None]:
    """Return the present value of each quota; a single quota is asked for by its entities."""
    quotas = [step.quota for step in steps if isinstance(step, SetQuota | RemoveQuota)]
    whose = quotas[0].entities if len(quotas) == 1 else ()
    found = target.quotas.describe(whose).known if quotas else {}
    return [found.get(quota) for quota in quotas]


def _share(
    done: Iterable[str], failed: Mapping[str, TowpathError], began: float, changed: Changed
) -> None:
    names = list(done)
    took = (time.monotonic() - began) / max(1, len(names) + len(failed))
    changed.take(dict.fromkeys(names, took), failed)


def _set_user(step: SetUser, target: Admin, passwords: Mapping[str, Secret]) -> bool:
    """Set a user's password; return whether that was necessary."""
    found = _iterations(step.credential, target)
    if found is not None and found >= step.iterations:
        return False
    _require(f"user {step.about}", step.had, found, "iterations")
    user = step.credential.user
    if user not in passwords:
        text = "is required by this plan: the password that the user gets on the target"
        raise ConfigError((ConfigProblem(f"access.users.{user}", text),))
    target.users.set_credential(step.credential, step.iterations, passwords[user])
    return True


def _delete_user(step: DeleteUser, target: Admin) -> bool:
    found = _iterations(step.credential, target)
    if found is None:
        return False
    _require(f"user {step.about}", step.had, found, "iterations")
    target.users.delete_credential(step.credential)
    return True


def _iterations(credential: Credential, target: Admin) -> int | None:
    return target.users.describe([credential.user]).get(credential)


def _require(thing: str, had: float | None, found: float | None, unit: str = "") -> None:
    if found != had:
        raise StepOutdatedError(thing, _text(had, unit), _text(found, unit))


def _text(value: float | None, unit: str) -> str:
    return "none" if value is None else f"{str(value).removesuffix('.0')} {unit}".strip()
