"""What stays of subjects that the file does not ask for any more. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from towpath.access.diff_users import Users
from towpath.access.observe import PATHS
from towpath.access.steps import ACLS, QUOTAS, USERS
from towpath.model.findings import Note

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
