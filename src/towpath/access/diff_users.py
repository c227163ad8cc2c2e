"""The comparison of SCRAM users on both clusters. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches

from towpath.access.observe import PATHS, Both
from towpath.access.steps import USERS, DeleteUser, SetUser
from towpath.model.findings import Cause, Note, Problem
from towpath.model.quoting import quoted
from towpath.model.scram import Credential

Users = Both[Mapping[Credential, int]]

_FEWEST, _MOST = 4096, 16384
"""The number of iterations that brokers accept (KIP-554)."""


def user_steps(users: Users, listed: Collection[str], ours: frozenset[str]) -> Iterator[SetUser]:
    """Yield the passwords to set: missing ones, and own ones with fewer iterations."""
    for credential, told in sorted(users.source.items()):
        had = users.target.get(credential)
        iterations = _taken(told)
        worse = had is not None and had < iterations and str(credential) in ours
        if credential.user in listed and (had is None or worse):
            yield SetUser(credential, iterations, had)


def users_gone(users: Users, ours: frozenset[str]) -> Iterator[DeleteUser]:
    """Yield the users of this link that the source no longer has."""
    for credential, had in sorted(users.target.items()):
        if credential not in users.source and str(credential) in ours:
            yield DeleteUser(credential, had)


def user_notes(users: Users, listed: Collection[str], ours: frozenset[str]) -> Iterator[Note]:
    """Yield notes on users that are not copied, or whose passwords may differ."""
    for credential, told in sorted(users.source.items()):
        had = users.target.get(credential)
        about = str(credential)
        if credential.user not in listed:
            if had is None:
                yield Note(quoted(credential.user), _UNLISTED)
        elif had is None or (had < _taken(told) and about in ours):
            if told != _taken(told):
                text = (
                    f"gets {_taken(told)} iterations instead of {told}: brokers accept"
                    f" {_FEWEST} to {_MOST}"
                )
                yield Note(about, text)
        elif about not in ours:
            yield Note(about, _THERE)


def unknown_users(users: Users, listed: Collection[str]) -> Iterator[Problem]:
    """Yield a problem for each listed user that the source does not have."""
    known = sorted({credential.user for credential in users.source})
    for name in sorted(set(listed).difference(known)):
        near = get_close_matches(name, known, n=3)
        hint = f" (the nearest are {', '.join(map(quoted, near))})" if near else ""
        text = f"the source has no SCRAM user of this name{hint}; correct it, or remove the line"
        yield Problem(f"{PATHS[USERS]}.{quoted(name)}", text, Cause.SUBJECT)


_UNLISTED = (
    "is a SCRAM user of the source that is not copied, as no cluster tells passwords; to copy it,"
    " write under `access.users` its name and where the password is, such as"
    " NAME: env:VARIABLE or NAME: file:PATH"
)
_THERE = (
    "already exists on the target and stays as it is; it is not known whether its password is the"
    " one that the file names"
)


def _taken(iterations: int) -> int:
    return min(max(iterations, _FEWEST), _MOST)
