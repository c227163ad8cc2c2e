"""The link's own login, and where clients that log in are led while the source is away."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.certificates import Vault
from tests.support.clusters.fleet import LOGIN_LIFE, USERS
from tests.support.messages.asking import version_question
from towpath.cluster.connect.security import ssl_context
from towpath.dev import ports
from towpath.gateway.link_login import LinkLogin, LinkLoginError
from towpath.gateway.routes import SOURCE, TARGET
from towpath.gateway.server import Behind, Gateway
from towpath.model.nouns import ClusterId
from towpath.model.secret import Secret
from towpath.settings import ClusterConfig, LinkConfig

MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


class Answers(asyncio.Protocol):
    """Who uses the connection after the login."""

    def __init__(self) -> None:
        self.got: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(version_question(3, 7))

    def data_received(self, data: bytes) -> None:
        if not self.got.done():
            self.got.set_result(data)


def config(
    cluster: SharedCluster, mechanism: str, password: Secret, ca: str | None
) -> ClusterConfig:
    sasl = {"mechanism": mechanism, "username": "admin", "password": password}
    tls = {"ca": ca} if ca else None
    return ClusterConfig.model_validate(
        {"bootstrap": cluster.addresses[0], "sasl": sasl, "tls": tls}
    )


async def logged_in(of: ClusterConfig) -> float | None:
    """Log in, and use the connection; return how long the login is good for."""
    host, port = of.addresses[0]
    login = LinkLogin(of, host)
    tls = ssl_context(of.tls) if of.tls else None
    loop = asyncio.get_running_loop()
    await loop.create_connection(
        lambda: login, host, port, ssl=tls, server_hostname=host if tls else None
    )
    try:
        good = await login.go()
        answers = Answers()
        login.hand_over(answers)
        assert (await answers.got)[4:8] == (7).to_bytes(4, "big")
        return good
    finally:
        login.end()


@pytest.mark.broker
def test_the_link_logs_in_by_each_mechanism(secured_source: SharedCluster, vault: Vault) -> None:
    for mechanism in MECHANISMS:
        through = secured_source.through("SECURED")
        of = config(through, mechanism, USERS["admin"], str(vault.ca))
        assert asyncio.run(logged_in(of)) is None, mechanism
        of = config(secured_source.through("SHORT"), mechanism, USERS["admin"], None)
        good = asyncio.run(logged_in(of))
        assert good is not None
        assert 0 < good < LOGIN_LIFE, mechanism


@pytest.mark.broker
def test_a_login_that_is_refused_is_told_without_its_secret(secured_source: SharedCluster) -> None:
    for mechanism in MECHANISMS:
        of = config(secured_source.through("SHORT"), mechanism, Secret("a-wrong-word"), None)
        with pytest.raises(LinkLoginError, match="SASL_AUTHENTICATION_FAILED") as caught:
            asyncio.run(logged_in(of))
        assert "a-wrong-word" not in str(caught.value)


@pytest.mark.parametrize("asks", [False, True])
def test_without_the_source_clients_that_log_in_begin_at_the_target(
    monkeypatch: pytest.MonkeyPatch, *, asks: bool
) -> None:
    monkeypatch.setenv("P", "secret")
    sasl = {"mechanism": "PLAIN", "username": "u", "password": "env:P"} if asks else None
    (port,) = ports.reserve(1)
    link = LinkConfig.model_validate(
        {
            "source": {"bootstrap": "a:1", "sasl": sasl},
            "target": {"bootstrap": "b:1", "sasl": sasl},
            "link": "l",
            "topics": {"include": ["t"]},
            "gateway": {"listen": f"127.0.0.1:{port}"},
        }
    )

    async def play() -> None:
        assert link.gateway is not None
        gateway = Gateway(link, link.gateway, Behind((), {18: (0, 4)}, ClusterId("c")))
        assert gateway._client(SOURCE).home == SOURCE
        gateway.routes.source_away = True
        client = gateway._client(SOURCE)
        assert client.home == (TARGET if asks else SOURCE)
        assert client.login.is_proven is not asks
        for each in gateway._servers:
            (await each).close()
        gateway._close()

    asyncio.run(play())
