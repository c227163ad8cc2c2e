"""SCRAM users of a cluster (KIP-554)."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from typing import Any

from kafka.protocol.admin import (
    AlterUserScramCredentialsRequest,
    DescribeUserScramCredentialsRequest,
)

from towpath.cluster.admin.changes import check, tell_controller, wait_for_brokers
from towpath.cluster.admin.numbers import MECHANISMS
from towpath.cluster.codes import RESOURCE_NOT_FOUND
from towpath.cluster.connect.control import Control
from towpath.model.scram import Credential, Mechanism
from towpath.model.secret import Secret
from towpath.runtime.deadline import Deadline

_HASHES = {Mechanism.SHA_256: "sha256", Mechanism.SHA_512: "sha512"}
_SALT_BYTES = 24
_NAMES = {number: mechanism for mechanism, number in MECHANISMS.items()}


class UserAdmin:
    """Lists and changes SCRAM users."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def describe(self, users: Iterable[str] = ()) -> dict[Credential, int]:
        """Return the iterations of each credential, by default of all users.

        Raises:
            RefusedError: The request failed, or the brokers do not support it.
        """
        what = "asking for the SCRAM users"
        request = _asking(users)

        def once(deadline: Deadline) -> dict[Credential, int]:
            answer = self._control.ask_any(request, deadline, what)
            for said in (answer, *answer.results):
                if said.error_code != RESOURCE_NOT_FOUND:
                    check(self._control.side, said, what, "Describe on the cluster")
            return _read(answer)

        return self._control.retried(once)

    def set_credential(self, credential: Credential, iterations: int, password: Secret) -> None:
        """Set a user's password; the cluster gets only the salted hash."""
        salt = secrets.token_bytes(_SALT_BYTES)
        upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
            name=credential.user,
            mechanism=MECHANISMS[credential.mechanism],
            iterations=iterations,
            salt=salt,
            salted_password=salted(credential.mechanism, password, salt, iterations),
        )
        self._alter(f"setting the password of {credential}", upsertions=[upsertion])
        self._user_heard(credential, iterations)

    def delete_credential(self, credential: Credential) -> None:
        """Delete a credential; one that does not exist counts as deleted."""
        deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion(
            name=credential.user, mechanism=MECHANISMS[credential.mechanism]
        )
        self._alter(f"deleting the password of {credential}", deletions=[deletion])
        self._user_heard(credential, None)

    def _user_heard(self, credential: Credential, iterations: int | None) -> None:
        what = f"waiting until all brokers know {credential}"
        wait_for_brokers(
            self._control,
            what,
            _asking([credential.user]),
            lambda said: _read(said).get(credential) == iterations,
        )

    def _alter(self, what: str, **changes: Any) -> None:
        request = AlterUserScramCredentialsRequest(**{"deletions": [], "upsertions": [], **changes})

        def read(answer: Any) -> None:
            for said in answer.results:
                if said.error_code != RESOURCE_NOT_FOUND:
                    check(self._control.side, said, what, "Alter on the cluster")

        tell_controller(self._control, what, request, read)


def salted(mechanism: Mechanism, password: Secret, salt: bytes, iterations: int) -> bytes:
    """Return the salted password as in RFC 5802, without SASLprep, as Kafka computes it."""
    return hashlib.pbkdf2_hmac(_HASHES[mechanism], password.reveal().encode(), salt, iterations)


def _asking(users: Iterable[str]) -> Any:
    """Return the request for these users, or for all.

    Null also means all users, but then brokers do not answer a login without the right. Brokers
    refuse a list that contains a name twice.
    """
    kind = DescribeUserScramCredentialsRequest.UserName
    names = sorted(set(users))
    return DescribeUserScramCredentialsRequest(users=[kind(name=name) for name in names])


def _read(answer: Any) -> dict[Credential, int]:
    return {
        Credential(said.user, _NAMES[info.mechanism]): info.iterations
        for said in answer.results
        for info in said.credential_infos
        if info.mechanism in _NAMES  # Kafka has no others, and each would come with a KIP
    }
