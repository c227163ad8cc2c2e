"""Certificates are what their names say."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

import pytest

from tests.support.clusters import Vault
from towpath.dev.certificates import Authority, Certificate
from towpath.dev.errors import CommandError


def verified(authority: Path, certificate: Certificate) -> str:
    answer = subprocess.run(
        ["openssl", "verify", "-CAfile", str(authority), str(certificate.certificate)],
        capture_output=True,
        text=True,
        check=False,
    )
    return answer.stdout + answer.stderr


def test_each_certificate_is_believed_or_not(vault: Vault) -> None:
    authority = vault.authority.certificate
    assert "OK" in verified(authority, vault.broker)
    assert "OK" in verified(authority, vault.client)
    assert "certificate has expired" in verified(authority, vault.expired)
    assert "unable to get local issuer certificate" in verified(authority, vault.stranger)


def test_python_loads_key_and_certificate(vault: Vault) -> None:
    context = ssl.create_default_context(cafile=str(vault.authority.certificate))
    context.load_cert_chain(vault.client.certificate, vault.client.key)
    context.load_cert_chain(vault.broker.both)


def test_a_missing_openssl_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CommandError, match="no openssl command on PATH; install openssl"):
        Authority(tmp_path / "ca")
