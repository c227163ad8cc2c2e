"""A registry that wants a certificate of its clients."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from pydantic import ValidationError

from tests.support.clusters.certificates import Vault
from tests.support.registries.registry import ADMIN, LocalRegistry
from towpath.model.errors import UnreachableError
from towpath.model.nouns import Side
from towpath.registry.registry import Registry
from towpath.settings import RegistryConfig

pytestmark = pytest.mark.soak
WORD = "hunter22-of-the-key"


@pytest.fixture
def locked(vault: Vault, tmp_path: Path) -> Path:
    """The key of the client, which a password opens."""
    key = load_pem_private_key(vault.client.key.read_bytes(), None)
    file = tmp_path / "locked.key"
    kind = BestAvailableEncryption(WORD.encode())
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, kind))
    return file


def test_a_certificate_with_a_locked_key(
    new_registry: Callable[..., LocalRegistry],
    vault: Vault,
    locked: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tls = {
        "enabled": True,
        "cert_file": str(vault.broker.certificate),
        "key_file": str(vault.broker.key),
        "ca_file": str(vault.ca),
        "min_version": "TLS1.2",
        "client_auth": "verify",
    }
    there = new_registry(vault=vault, options={"security": {"tls": tls}})
    monkeypatch.setenv("KEY_WORD", WORD)
    monkeypatch.setenv("ADMIN_WORD", ADMIN[1])

    def asked(**tls: Any) -> object:
        made = {"url": there.url, "timeout": "500ms", "tls": {"ca": str(vault.ca), **tls}}
        registry = Registry(RegistryConfig.model_validate(made), Side.SOURCE, 2)
        try:
            return registry.subjects()
        finally:
            registry.close()

    pair = {"cert": str(vault.client.certificate), "key": str(locked)}
    assert asked(**pair, key_password="env:KEY_WORD") == frozenset()  # noqa: S106, a variable
    with pytest.raises(UnreachableError):
        asked()
    strange = {"cert": str(vault.stranger.certificate), "key": str(vault.stranger.key)}
    with pytest.raises(UnreachableError):
        asked(**strange)
    monkeypatch.setenv("KEY_WORD", "wrong-" + WORD)
    for word in ({}, {"key_password": "env:KEY_WORD"}):
        with pytest.raises(ValidationError, match="does not open the key") as caught:
            asked(**pair, **word)
        assert WORD not in str(caught.value)
