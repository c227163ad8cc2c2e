"""The observation of ACLs, SCRAM users, quotas and broker configs on both clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from towpath.access.steps import ACLS, QUOTAS, USERS
from towpath.cluster.admin import Admin
from towpath.cluster.admin.changes import Listing
from towpath.cluster.codes import UNSUPPORTED_VERSION
from towpath.model.acl import Acl, Operation, Resource
from towpath.model.errors import RefusedError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import Side
from towpath.model.quota import Quota
from towpath.model.quoting import quoted
from towpath.model.scram import Credential
from towpath.settings import AccessConfig, AclMode, LinkConfig

T = TypeVar("T")

PATHS = {ACLS: "access.acls", USERS: "access.users", QUOTAS: "access.quotas"}
"""The YAML path of each subject."""

_CONFIGS = "configs"
_CHANGING = {ACLS: Operation.ALTER, USERS: Operation.ALTER, QUOTAS: Operation.ALTER_CONFIGS}
"""The right on the cluster that is needed to change a subject (KIP-140, KIP-554, KIP-546)."""


@dataclass(frozen=True, slots=True)
class Both(Generic[T]):
    """A pair of values, one for each cluster."""

    source: T
    target: T


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedAccess:
    """The observed access rules of both clusters.

    A subject is `None` if the file does not ask for it, or if one of the clusters does not tell it;
    notes and problems say why.

    Attributes:
        acls: All ACLs.
        users: The iterations of each SCRAM credential.
        quotas: All client quotas.
        configs: Dynamic configs of all brokers, and what one broker has of those that are set on
            the other cluster alone; `None` for a secret value.
        unknown: Resource types and operations that the target's brokers do not know.
        refusals: Subjects that the login may not change on the target, each with a sentence.
        notes: What could not be observed and is not essential.
        problems: Why a subject cannot be copied.
    """

    acls: Both[frozenset[Acl]] | None = None
    users: Both[Mapping[Credential, int]] | None = None
    quotas: Both[Mapping[Quota, float]] | None = None
    configs: Both[Mapping[str, str | None]] | None = None
    unknown: frozenset[Resource | Operation] = frozenset()
    refusals: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    problems: tuple[Problem, ...] = ()


def observe(source: Admin, target: Admin, config: LinkConfig) -> ObservedAccess:
    """Observe the access rules on both clusters, as far as the file asks for them.

    Raises:
        UnreachableError: A cluster did not answer.
    """
    look = _Look(source, target, (config.source.login, config.target.login))
    asked = asked_for(config.access)
    return ObservedAccess(
        acls=look.acls() if ACLS in asked else None,
        users=look.users() if USERS in asked else None,
        quotas=look.quotas() if QUOTAS in asked else None,
        configs=look.configs(),
        unknown=target.acls.unknown_words() if ACLS in asked else frozenset(),
        refusals=look.refusals(asked) if asked else {},
        notes=tuple(look.notes),
        problems=tuple(look.problems),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAccess:
    """Access rules of a source that are already known, such as those in an archive.

    Attributes:
        acls: All ACLs; `None` if they are not known.
        users: The iterations of each SCRAM credential, likewise.
        quotas: All client quotas, likewise.
    """

    acls: frozenset[Acl] | None = None
    users: Mapping[Credential, int] | None = None
    quotas: Mapping[Quota, float] | None = None


def observe_beside(
    known: KnownAccess, target: Admin, login: str | None, access: AccessConfig
) -> ObservedAccess:
    """Observe the target's access rules beside an already known source.

    Args:
        known: The access on the source.
        target: The target.
        login: The login there, for messages.
        access: What is asked for.

    Raises:
        UnreachableError: The target did not answer.
    """
    look = _Look(known, target, (None, login))
    asked = asked_for(access)
    return ObservedAccess(
        acls=look.acls() if ACLS in asked else None,
        users=look.users() if USERS in asked else None,
        quotas=look.quotas() if QUOTAS in asked else None,
        unknown=target.acls.unknown_words() if ACLS in asked else frozenset(),
        refusals=look.refusals(asked) if asked else {},
        notes=tuple(look.notes),
        problems=tuple(look.problems),
    )


def asked_for(access: AccessConfig) -> list[str]:
    """Return the kinds of access rules that the file does not switch off."""
    asked = [ACLS] if access.acls is not AclMode.OFF else []
    asked += [USERS] if access.users else []
    asked += [QUOTAS] if access.quotas else []
    return asked


class _Look:
    """Asks both sides for one subject after the other, and collects notes and problems."""

    def __init__(
        self, source: Admin | KnownAccess, target: Admin, logins: tuple[str | None, str | None]
    ) -> None:
        self._known: KnownAccess | None = None
        self._admins = {Side.TARGET: target}
        if isinstance(source, KnownAccess):
            self._known = source
        else:
            self._admins = {Side.SOURCE: source, Side.TARGET: target}
        self._logins = dict(zip((Side.SOURCE, Side.TARGET), logins, strict=True))
        self.notes: list[Note] = []
        self.problems: list[Problem] = []

    def acls(self) -> Both[frozenset[Acl]] | None:
        return self._both(ACLS, "their ACLs", self._acls)

    def users(self) -> Both[Mapping[Credential, int]] | None:
        return self._both(
            USERS, "their SCRAM users (KIP-554)", lambda admin, _: admin.users.describe()
        )

    def quotas(self) -> Both[Mapping[Quota, float]] | None:
        def ask(admin: Admin, side: Side) -> Mapping[Quota, float]:
            found = admin.quotas.describe()
            self._strange(QUOTAS, side, "quotas", found)
            return found.known

        return self._both(QUOTAS, "their client quotas (KIP-546)", ask)

    def configs(self) -> Both[Mapping[str, str | None]] | None:
        def ask(admin: Admin, _: Side) -> Mapping[str, str | None]:
            entries = admin.cluster.configs().items()
            return {name: None if entry.sensitive else entry.value for name, entry in entries}

        what = "the configs of all of them (KIP-226)"
        found = self._both(_CONFIGS, what, ask)
        if found is None:
            return None
        # What is set on one side alone may hold on the other one by itself: Kafka 4.1 and newer
        # set min.insync.replicas when they are formatted (KIP-966).
        both = {Side.SOURCE: found.source, Side.TARGET: found.target}
        whole = {
            side: self._one(_CONFIGS, what, side, partial(_held, own=both[side], other=both[other]))
            for side, other in ((Side.SOURCE, Side.TARGET), (Side.TARGET, Side.SOURCE))
        }
        return Both(*(whole[side] or both[side] for side in both))

    def refusals(self, asked: Sequence[str]) -> dict[str, str]:
        """Return why the target would refuse changes of these subjects, as far as known."""
        try:
            rights = self._admins[Side.TARGET].cluster.rights()
        except RefusedError:
            return {}
        who = self._logins[Side.TARGET]
        named = f"login {quoted(who)}" if who else "login"
        lacks = {
            subject: f"target: the {named} lacks the ACL {right.kafka_name} on the cluster"
            for subject, right in _CHANGING.items()
            if rights is not None and right not in rights
        }
        return {subject: f"{lacks[subject]}; add it there" for subject in asked if subject in lacks}

    def _acls(self, admin: Admin, side: Side) -> frozenset[Acl] | None:
        found = admin.acls.describe()
        if found is None:
            text = f"{side}: the cluster has no authorizer, so it keeps no ACLs; none are copied"
            self.notes.append(Note(PATHS[ACLS], text))
            return None
        self._strange(ACLS, side, "ACLs", found)
        return found.known

    def _both(
        self, subject: str, what: str, ask: Callable[[Admin, Side], T | None]
    ) -> Both[T] | None:
        """Ask both clusters, even if the first does not answer; `None` unless both tell it."""
        found = {side: self._one(subject, what, side, ask) for side in self._admins}
        target = found[Side.TARGET]
        source = found.get(Side.SOURCE) if self._known is None else self._archived(subject)
        return None if source is None or target is None else Both(source, target)

    def _archived(self, subject: str) -> Any:
        """Return what is known of a subject without asking."""
        fields = {ACLS: "acls", USERS: "users", QUOTAS: "quotas"}
        found = getattr(self._known, fields[subject])
        if found is None:
            text = "the archive does not have them as of this version, so none are restored"
            self.notes.append(Note(PATHS[subject], text))
        return found

    def _one(
        self, subject: str, what: str, side: Side, ask: Callable[[Admin, Side], T | None]
    ) -> T | None:
        try:
            return ask(self._admins[side], side)
        except RefusedError as error:
            self._tell(subject, what, side, error)
        return None

    def _tell(self, subject: str, what: str, side: Side, error: RefusedError) -> None:
        about = PATHS.get(subject, subject)
        loss = "compared" if subject == _CONFIGS else "copied"
        who = self._logins[side]
        text = f"{error}; that login is {quoted(who)}" if error.forbidden and who else str(error)
        if error.error == UNSUPPORTED_VERSION:
            text = f"{side}: the brokers do not tell {what}, so none are {loss}"
            self.notes.append(Note(about, text))
        elif subject == _CONFIGS:
            self.notes.append(Note(about, f"{text}; until then none are {loss}"))
        else:
            cause = Cause.RIGHTS if error.forbidden else Cause.SUBJECT
            self.problems.append(Problem(about, text, cause))

    def _strange(self, subject: str, side: Side, what: str, found: Listing[Any]) -> None:
        for kind in found.strange if side is Side.SOURCE else ():
            text = f"{side}: {what} with {kind}, which Towpath does not know, are not copied"
            self.notes.append(Note(PATHS[subject], text))


_Configs = Mapping[str, str | None]


def _held(admin: Admin, _: Side, *, own: _Configs, other: _Configs) -> _Configs:
    """Return the configs of a cluster, with one broker's for those that only the other has."""
    lacking = sorted(name for name in other.keys() - own if other[name] is not None)
    return {**(admin.cluster.broker_configs(lacking) if lacking else {}), **own}
