"""Clients reach a gateway through TLS, and with certificates where it asks for them."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.clusters.certificates import Certificate, Vault
from tests.support.messages.asking import version_question
from towpath.dev import ports
from towpath.gateway import server
from towpath.gateway.server import Behind, Gateway
from towpath.model.nouns import ClusterId
from towpath.settings import LinkConfig

TAKEN = {18: (0, 4), 3: (0, 13)}


def config(port: int, **tls: str) -> LinkConfig:
    return LinkConfig.model_validate(
        {
            "source": {"bootstrap": "a:1"},
            "target": {"bootstrap": "b:1"},
            "link": "l",
            "topics": {"include": ["t"]},
            "gateway": {"listen": f"127.0.0.1:{port}", "tls": tls},
        }
    )


def served(tls: dict[str, Any], client: Callable[[int], Any]) -> Any:
    """Serve, with no broker behind, while a client does something; return what it returns."""
    (port,) = ports.reserve(1)

    async def play() -> Any:
        of = config(port, **{key: str(value) for key, value in tls.items()})
        assert of.gateway is not None
        gateway = Gateway(of, of.gateway, Behind((), TAKEN, ClusterId("c")))
        try:
            return await asyncio.get_running_loop().run_in_executor(None, client, port)
        finally:
            for each in gateway._servers:
                (await each).close()
            gateway._close()

    return asyncio.run(play())


def asked(port: int, vault: Vault, shown: Certificate | None = None) -> bytes:
    """Return the certificate of the gateway, after it answered a question."""
    context = ssl.create_default_context(cafile=str(vault.ca))
    if shown is not None:
        context.load_cert_chain(shown.certificate, shown.key)
    with (
        socket.create_connection(("127.0.0.1", port), 10) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        connection.sendall(version_question(3, 7))
        answer = connection.recv(1 << 16)
        if not answer:
            raise ConnectionResetError("it was closed")
        assert answer[4:8] == (7).to_bytes(4, "big")
        return connection.getpeercert(binary_form=True) or b""


def pair(of: Certificate) -> dict[str, Path]:
    return {"cert": of.certificate, "key": of.key}


def test_clients_come_through_tls(vault: Vault) -> None:
    assert served(pair(vault.broker), lambda port: asked(port, vault))


def test_a_client_must_show_a_certificate_of_the_authority(vault: Vault) -> None:
    def several(port: int) -> bytes:
        for shown in (None, vault.stranger, vault.expired):
            with pytest.raises(OSError, match=r"alert|closed|reset|EOF"):
                asked(port, vault, shown)
        return asked(port, vault, vault.client)

    assert served({**pair(vault.broker), "ca": vault.ca}, several)


def test_a_client_without_tls_costs_its_own_connection(vault: Vault) -> None:
    def several(port: int) -> bytes:
        with socket.create_connection(("127.0.0.1", port), 10) as plain:
            plain.sendall(version_question(3, 7))
            assert version_question(3, 7)[:8] not in plain.recv(1 << 16)
        return asked(port, vault)

    assert served(pair(vault.broker), several)


def test_each_handshake_uses_what_the_files_contain(vault: Vault, tmp_path: Path) -> None:
    """While certificate and key do not match, those before are used."""
    cert, key = tmp_path / "shown.crt", tmp_path / "shown.key"

    def place(of: Certificate) -> None:
        shutil.copy(of.certificate, cert)
        shutil.copy(of.key, key)

    def several(port: int) -> list[bytes]:
        found = [asked(port, vault)]
        shutil.copy(vault.client.certificate, cert)
        found.append(asked(port, vault))
        place(vault.client)
        found.append(asked(port, vault))
        return found

    place(vault.broker)
    before, meanwhile, after = served({"cert": cert, "key": key}, several)
    assert before == meanwhile != after


def test_a_client_that_never_ends_its_handshake_is_closed(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_HANDSHAKE", 0.2)

    def half(port: int) -> float:
        begun = time.monotonic()
        with socket.create_connection(("127.0.0.1", port), 10) as plain:
            plain.sendall(b"\x16")
            assert plain.recv(1) == b""
        return time.monotonic() - begun

    assert served(pair(vault.broker), half) < 10


def test_a_key_of_another_certificate_is_refused_by_the_file(vault: Vault) -> None:
    with pytest.raises(ValidationError, match="certificate and key do not belong together"):
        config(1, cert=str(vault.broker.certificate), key=str(vault.client.key))
