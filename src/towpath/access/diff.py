"""The comparison of observed access rules with the file. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from towpath.access.diff_acls import acl_notes, acl_steps, acls_gone
from towpath.access.diff_quotas import config_notes, quota_notes, quota_steps, quotas_gone
from towpath.access.diff_users import Users, unknown_users, user_notes, user_steps, users_gone
from towpath.access.observe import PATHS, ObservedAccess, asked_for
from towpath.access.owned import OwnedAccess
from towpath.access.steps import ACLS, QUOTAS, USERS, AccessStep
from towpath.access.translate import translate
from towpath.model.acl import Operation
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import TopicName
from towpath.settings import AccessConfig, ClusterConfig, TopicsConfig


class AccessRules(Protocol):
    """The rules for the target's access, from the file of a link or of a restore.

    Attributes:
        access: What the target gets.
        topics: Which topics there are, and under which names.
        target: The target, and the login there.
        prune: Whether what we made is removed where the source no longer has it.
    """

    @property
    def access(self) -> AccessConfig:
        """The kinds of access rules that the target gets."""
        ...

    @property
    def topics(self) -> TopicsConfig:
        """The source topics and their mirror topics."""
        ...

    @property
    def target(self) -> ClusterConfig:
        """The connection settings of the target."""
        ...

    @property
    def prune(self) -> bool:
        """Whether access rules of the link are removed when the source drops them."""
        ...


@dataclass(frozen=True, slots=True)
class AccessDifference:
    """The difference in access rules between the target and the file.

    Attributes:
        steps: Steps that remove the difference, in order.
        notes: Facts that a person should know.
        problems: What cannot be copied, and why.
        withheld: The number of source ACLs that `access.acls: safe` leaves out or narrows, by
            operation. ACLs that allow all operations count under `ALL`, although they still allow
            reading.
    """

    steps: tuple[AccessStep, ...] = ()
    notes: tuple[Note, ...] = ()
    problems: tuple[Problem, ...] = ()
    withheld: Mapping[Operation, int] = field(default_factory=dict)


def diff(
    observed: ObservedAccess,
    config: AccessRules,
    names: Mapping[TopicName, TopicName],
    ours: OwnedAccess,
) -> AccessDifference:
    """Return the difference in access rules between the target and the file.

    Args:
        observed: The access on both clusters.
        config: What the target should get.
        names: The mirrored topics, with their names on the target.
        ours: What the link owns on the target; nothing else is ever removed.
    """
    found = _Found(observed, config, ours)
    found.acls(names)
    found.quotas()
    found.users()
    found.off()
    if observed.configs is not None:
        found.notes += config_notes(observed.configs)
    notes = dict.fromkeys((*observed.notes, *found.notes))
    return AccessDifference(
        tuple(found.steps),
        tuple(notes),
        (*observed.problems, *found.problems),
        found.withheld,
    )


class _Found:
    """Collects the differences, one subject after the other."""

    def __init__(self, observed: ObservedAccess, config: AccessRules, ours: OwnedAccess) -> None:
        self._observed, self._config, self._ours = observed, config, ours
        self._login = config.target.login
        self.steps: list[AccessStep] = []
        self.notes: list[Note] = []
        self.problems: list[Problem] = []
        self.withheld: Mapping[Operation, int] = {}

    def acls(self, names: Mapping[TopicName, TopicName]) -> None:
        acls, config = self._observed.acls, self._config
        if acls is None:
            return
        translated = translate(
            acls.source, config.access.acls, config.topics, names, self._observed.unknown
        )
        left_out = [*translated.withheld, *translated.narrowed]
        self.withheld = dict(sorted(Counter(acl.operation for acl in left_out).items()))
        self.notes += acl_notes(acls, translated, self._login)
        gone = list(acls_gone(acls, translated, self._own(ACLS)))
        self._add(ACLS, list(acl_steps(acls, translated)), gone)

    def quotas(self) -> None:
        quotas = self._observed.quotas
        if quotas is None:
            return
        steps = list(quota_steps(quotas))
        self.notes += quota_notes(steps, self._login)
        self._add(QUOTAS, steps, list(quotas_gone(quotas, self._own(QUOTAS))))

    def users(self) -> None:
        users = self._observed.users
        if users is None:
            return
        listed, ours = self._config.access.users, self._own(USERS)
        self.notes += user_notes(users, listed, ours)
        self.notes += no_longer_listed(users, listed, ours)
        self.problems += unknown_users(users, listed)
        self._add(USERS, list(user_steps(users, listed, ours)), list(users_gone(users, ours)))

    def off(self) -> None:
        asked = asked_for(self._config.access)
        for subject in (ACLS, USERS, QUOTAS):
            if subject not in asked:
                self.notes += switched_off(subject, self._own(subject))

    def _own(self, subject: str) -> frozenset[str]:
        return frozenset(about for of, about in self._ours if of == subject)

    def _add(self, subject: str, made: Sequence[AccessStep], gone: Iterable[AccessStep]) -> None:
        """Add the steps of a subject, or a problem if the target would refuse them."""
        steps = list(made)
        if self._config.prune:
            steps += gone
        else:
            self.notes += [Note(step.about, _WOULD_GO) for step in gone]
        if steps and subject in self._observed.refusals:
            text = f"{self._observed.refusals[subject]}; {len(steps)} changes wait for it"
            self.problems.append(Problem(PATHS[subject], text, Cause.RIGHTS))
        else:
            self.steps += steps


_WOULD_GO = (
    "was made by this link and would not be made now: it is gone at the source, or the file asks"
    " for less; `prune: true` removes it"
)


_AGAIN = "switch it on again with {}, and `prune: true`, to have them removed"
_LESS = {
    ACLS: _AGAIN.format("less (`safe`, or fewer topics)"),
    USERS: "remove them at the source and list another one, with `prune: true`, to have them"
    " removed",
    QUOTAS: _AGAIN.format("less at the source"),
}
_NAMES = {ACLS: "ACLs", USERS: "passwords of SCRAM users", QUOTAS: "quotas"}


def switched_off(subject: str, made: Collection[str]) -> Iterator[Note]:
    """Yield notes on access rules that the link created and the file now switches off."""
    if made:
        yield Note(PATHS[subject], _staying("is switched off", subject, len(made)))


def no_longer_listed(
    users: Users, listed: Collection[str], ours: Collection[str]
) -> Iterator[Note]:
    """Yield notes on users that the link created and the file no longer lists."""
    made = [
        credential
        for credential in users.target
        if credential.user not in listed and credential in users.source and str(credential) in ours
    ]
    if made:
        yield Note(PATHS[USERS], _staying("no longer lists some users", USERS, len(made)))


def _staying(why: str, subject: str, number: int) -> str:
    return (
        f"{why}; what this link made of it on the target stays there ({_NAMES[subject]}: {number});"
        f" {_LESS[subject]}"
    )
