"""From what is there to what has to be done. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from towpath.access.diff_acls import acl_notes, acl_steps, acls_gone
from towpath.access.diff_quotas import config_notes, quota_notes, quota_steps, quotas_gone
from towpath.access.diff_users import Users, unknown_users, user_notes, user_steps, users_gone
from towpath.access.observe import PATHS, ObservedAccess, asked_for
from towpath.access.owned import OwnedAccess
from towpath.access.steps import ACLS, QUOTAS, USERS, AccessStep
from towpath.access.translate import translate
from towpath.config import LinkConfig
from towpath.model.acl import Operation
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import TopicName


@dataclass(frozen=True, slots=True)
class AccessDifference:
    """What is between the target and what the file asks for.

    Attributes:
        steps: What to do, in this order.
        notes: What a person should know.
        problems: What cannot be copied, and why.
        withheld: How many ACLs of the source `access.acls: safe` leaves out, by operation; those
            that allow everything are counted under it, though reading is left of them.
    """

    steps: tuple[AccessStep, ...] = ()
    notes: tuple[Note, ...] = ()
    problems: tuple[Problem, ...] = ()
    withheld: Mapping[Operation, int] = field(default_factory=dict)


def diff(
    observed: ObservedAccess,
    config: LinkConfig,
    names: Mapping[TopicName, TopicName],
    ours: OwnedAccess,
) -> AccessDifference:
    """Return what is to be done on the target.

    Args:
        observed: Both clusters as they are.
        config: What is asked for.
        names: The topics that are mirrored, with their names on the target.
        ours: What belongs to this link there; nothing else is ever removed.
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
    """Gathers what is found, one subject after the other."""

    def __init__(self, observed: ObservedAccess, config: LinkConfig, ours: OwnedAccess) -> None:
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
        """Take the steps of a subject, or say why the target would refuse them."""
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
    "was made by this link and would not be made again: it is gone at the source, or the file asks"
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
    """Tell what this link made of a subject that the file switches off; nothing else tells it."""
    if made:
        yield Note(PATHS[subject], _staying("is switched off", subject, len(made)))


def no_longer_listed(
    users: Users, listed: Collection[str], ours: Collection[str]
) -> Iterator[Note]:
    """Tell of users that this link made, and that the file lists no more while others are."""
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
