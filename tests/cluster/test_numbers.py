"""The protocol's numbers of access control are those of independent tables."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import pytest
from confluent_kafka.admin._scram import ScramMechanism
from kafka.protocol.admin import (
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ACLResourceType,
)

from towpath.cluster.admin.numbers import MECHANISMS, OPERATIONS, PATTERNS, PERMISSIONS, RESOURCES
from towpath.cluster.admin.users import salted
from towpath.model.acl import Operation, Pattern, Permission, Resource
from towpath.model.scram import Mechanism
from towpath.model.secret import Secret

NEWER = {"USER", "TWO_PHASE_COMMIT"}
"""Words that kafka-python does not have yet."""


@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [
        (RESOURCES, ACLResourceType, Resource),
        (PATTERNS, ACLResourcePatternType, Pattern),
        (OPERATIONS, ACLOperation, Operation),
        (PERMISSIONS, ACLPermissionType, Permission),
    ],
)
def test_every_word_has_its_number(
    ours: Mapping[StrEnum, int], theirs: Any, words: type[StrEnum]
) -> None:
    assert set(ours) == set(words)
    known = {word.name: number for word, number in ours.items() if word.name not in NEWER}
    assert known.items() <= {each.name: each.value for each in theirs}.items()
    assert len(set(ours.values())) == len(ours)


def test_mechanisms_have_kafkas_numbers() -> None:
    theirs = {each.name.replace("_", "-"): each.value for each in ScramMechanism}
    assert {str(mechanism): number for mechanism, number in MECHANISMS.items()}.items() <= (
        theirs.items()
    )


def test_a_salted_password_is_that_of_the_rfc() -> None:
    """RFC 7677's example: this password, salt and iterations lead to the proof shown there."""
    import base64
    import hashlib
    import hmac

    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    key = salted(Mechanism.SHA_256, Secret("pencil"), salt, 4096)
    client = hmac.digest(key, b"Client Key", "sha256")
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    said = f"n=user,r={nonce[:20]},r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r={nonce}"
    signature = hmac.digest(hashlib.sha256(client).digest(), said.encode(), "sha256")
    proof = bytes(a ^ b for a, b in zip(client, signature, strict=True))
    assert base64.b64encode(proof) == b"dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
