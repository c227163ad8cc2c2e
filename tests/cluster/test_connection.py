from __future__ import annotations

import base64
import json
import logging
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from kafka.protocol.metadata import MetadataRequest

from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.certificates import Vault
from tests.support.clusters.fleet import USERS
from tests.support.kafka import wait_until
from towpath.cluster.connect.connection import Connected, connect
from towpath.cluster.connect.control import healable
from towpath.cluster.connect.exchange import ask
from towpath.cluster.connect.identity import ClusterIdentity
from towpath.cluster.connect.login import SecurityError
from towpath.dev import ports
from towpath.dev.broker import LocalCluster
from towpath.model.errors import RefusedError, UnreachableError
from towpath.model.nouns import ClusterId
from towpath.model.secret import Secret
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig

pytestmark = pytest.mark.broker

_NO_FAMILY = 9999


@pytest.fixture
def mutual(secured_source: SharedCluster) -> SharedCluster:
    return secured_source.through("MUTUAL")


@pytest.fixture
def expired(secured_source: SharedCluster) -> SharedCluster:
    return secured_source.through("EXPIRED")


@pytest.fixture
def oauth(secured_source: SharedCluster) -> SharedCluster:
    return secured_source.through("OAUTH")


def config(cluster: LocalCluster | None, **options: Any) -> ClusterConfig:
    return ClusterConfig(bootstrap=cluster.addresses if cluster else ("x:1",), **options)


def login(mechanism: str, user: str = "admin", password: str | None = None) -> dict[str, Any]:
    secret = USERS[user] if password is None else Secret(password)
    return {"mechanism": mechanism, "username": user, "password": secret}


def trust(vault: Vault, **more: Any) -> dict[str, Any]:
    return {"ca": str(vault.ca), **more}


def connected(config: ClusterConfig, host: str | None = None) -> Connected:
    own, port = config.addresses[0]
    return connect(config, "source", host or own, port, Deadline.after(60))


def brokers(made: Connected) -> int:
    with made.socket:
        answer = ask(made.socket, MetadataRequest(topics=[]), 9, Deadline.after(60))
        return len(answer.brokers)


def why_not(
    config: ClusterConfig, kind: type[Exception] = SecurityError, host: str | None = None
) -> str:
    with pytest.raises(kind) as caught:
        connected(config, host).socket.close()
    return str(caught.value)


def test_a_plain_connection_is_tuned_and_blocks(source: LocalCluster) -> None:
    made = connected(config(source))
    assert made.socket.gettimeout() is None
    assert made.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    assert made.expires is None
    assert made.api_versions[0][1] >= 9
    assert brokers(made) == 1


def test_an_address_of_a_family_that_the_kernel_lacks_is_passed_over(
    source: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `::1` is where IPv6 is switched off, and `localhost` resolves to it first."""
    resolve = socket.getaddrinfo

    def both(*args: Any, **options: Any) -> list[Any]:
        found = resolve(*args, **options)
        return [(_NO_FAMILY, *found[0][1:]), *found]

    monkeypatch.setattr(socket, "getaddrinfo", both)
    assert brokers(connected(config(source))) == 1
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **o: both(*a, **o)[:1])
    assert "Address family not supported" in why_not(config(source), UnreachableError)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_user_logs_in_over_tls(
    secured_source: LocalCluster, vault: Vault, mechanism: str
) -> None:
    assert brokers(connected(config(secured_source, tls=trust(vault), sasl=login(mechanism)))) == 1


def test_a_client_certificate_is_shown(mutual: LocalCluster, vault: Vault) -> None:
    both = trust(vault, cert=str(vault.client.both))
    apart = trust(vault, cert=str(vault.client.certificate), key=str(vault.client.key))
    assert brokers(connected(config(mutual, tls=both))) == 1
    assert brokers(connected(config(mutual, tls=apart))) == 1


def _token(lifetime: int) -> str:
    now = int(datetime.now(UTC).timestamp())
    parts = ({"alg": "none"}, {"sub": "mirror", "iat": now, "exp": now + lifetime})
    return ".".join(
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts
    ) + "."  # fmt: skip


def test_a_token_logs_in_until_its_session_ends(oauth: LocalCluster) -> None:
    token = {"mechanism": "OAUTHBEARER", "token": Secret(_token(600))}
    made = connected(config(oauth, sasl=token))
    assert made.expires
    assert 40 < made.expires.left() <= 51
    assert brokers(made) == 1


def test_an_expired_token_is_refused(oauth: LocalCluster) -> None:
    token = {"mechanism": "OAUTHBEARER", "token": Secret(_token(-600))}
    said = why_not(config(oauth, sasl=token), RefusedError)
    assert "SASL_AUTHENTICATION_FAILED (58)" in said
    assert "check name and password (or token) under `sasl`" in said


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_wrong_password_is_refused(
    secured_source: LocalCluster, vault: Vault, mechanism: str
) -> None:
    wrong = login(mechanism, "mirror", "wr0ng")
    said = why_not(config(secured_source, tls=trust(vault), sasl=wrong), RefusedError)
    host, port = config(secured_source).addresses[0]
    assert said.startswith(f"source: logging in to {host}:{port} by {mechanism}: ")
    assert "SASL_AUTHENTICATION_FAILED (58)" in said
    assert said.endswith("under `sasl`, and that the broker knows this user")
    assert "wr0ng" not in said


def test_a_mechanism_that_is_not_enabled_names_those_that_are(oauth: LocalCluster) -> None:
    said = why_not(config(oauth, sasl=login("PLAIN")), RefusedError)
    assert "UNSUPPORTED_SASL_MECHANISM (33); the broker offers OAUTHBEARER; set" in said


def test_a_login_where_none_is_asked_is_refused(source: LocalCluster) -> None:
    said = why_not(config(source, sasl=login("PLAIN")), RefusedError)
    assert "ILLEGAL_SASL_STATE (34); the port asks for no login: remove `sasl`" in said


def test_a_login_that_cannot_be_made_here_says_what_is_missing(
    oauth: LocalCluster,
) -> None:
    said = why_not(config(oauth, sasl={"mechanism": "OAUTHBEARER", "token_command": "false"}))
    assert "token_command false ended with code 1" in said
    assert "check the `sasl` block and what it needs on this machine" in said


def test_no_login_where_one_is_asked(oauth: LocalCluster) -> None:
    assert "the port seems to expect a login; add `sasl:`" in why_not(config(oauth))


def test_a_cluster_that_was_reached_before_rather_lost_the_connection(
    oauth: LocalCluster,
) -> None:
    """A cut between greeting and first answer looks alike, and must not end a run."""
    known = ClusterIdentity("source", ClusterId("as-before"))
    with pytest.raises(UnreachableError) as caught:
        connect(config(oauth), "source", *config(oauth).addresses[0], Deadline.after(60), known)
    assert healable(caught.value)
    assert "if that goes on, the port seems to expect a login: add `sasl:`" in str(caught.value)


def test_plain_text_on_a_tls_port(secured_source: LocalCluster) -> None:
    assert "the port seems to expect TLS, add `tls:`" in why_not(
        config(secured_source, sasl=login("PLAIN"))
    )


def test_tls_on_a_plain_port(source: LocalCluster, vault: Vault) -> None:
    said = why_not(config(source, tls=trust(vault)), UnreachableError)
    assert "look whether the port speaks TLS (else remove `tls:`)" in said


def test_an_expired_certificate_of_the_broker(expired: LocalCluster, vault: Vault) -> None:
    said = why_not(config(expired, tls=trust(vault)))
    assert "the broker's certificate has expired; renew it on the broker" in said


def test_an_unknown_authority_is_named_with_what_to_give(
    secured_source: LocalCluster, vault: Vault
) -> None:
    other = vault.other_ca
    said = why_not(config(secured_source, tls={"ca": str(other)}))
    assert f"signed by none of `tls.ca` ({other}); give the PEM file" in said
    said = why_not(config(secured_source, tls=True))
    assert "signed by none of the system's authorities; give the PEM file" in said


def test_a_certificate_for_another_host(secured_source: LocalCluster, vault: Vault) -> None:
    # "127.1" is another spelling of an address that the certificate is for.
    said = why_not(config(secured_source, tls=trust(vault), sasl=login("PLAIN")), host="127.1")
    assert "the broker's certificate is not for 127.1" in said
    assert "`tls.verify_hostname: false`" in said
    careless = trust(vault, verify_hostname=False)
    made = connected(config(secured_source, tls=careless, sasl=login("PLAIN")), host="127.1")
    assert brokers(made) == 1


def test_no_certificate_where_one_is_asked(mutual: LocalCluster, vault: Vault) -> None:
    said = why_not(config(mutual, tls=trust(vault)))
    assert "the broker asks for a certificate of ours; give `tls.cert` and `tls.key`" in said


@pytest.mark.parametrize("which", ["expired", "stranger"])
def test_a_certificate_that_the_broker_does_not_accept(
    mutual: LocalCluster, vault: Vault, which: str
) -> None:
    bad = getattr(vault, which).both
    said = why_not(config(mutual, tls=trust(vault, cert=str(bad))))
    assert "the broker does not accept our certificate; look whether `tls.cert` is valid" in said


def test_an_address_where_nothing_listens_is_named() -> None:
    (port,) = ports.reserve(1)
    with pytest.raises(UnreachableError) as caught:
        connect(config(None), "target", "127.0.0.1", port, Deadline.after(5))
    assert str(caught.value) == (
        f"target: connecting to 127.0.0.1:{port}: nothing listens there; check the port, and"
        " whether the broker runs"
    )


def test_a_name_that_does_not_resolve() -> None:
    with pytest.raises(UnreachableError, match=r"the name no-such-host\.invalid does not resolve"):
        connect(config(None), "target", "no-such-host.invalid", 9092, Deadline.after(5))


@pytest.fixture
def silent() -> Iterator[int]:
    """Return the port of something that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", ports.reserve(1)[0])) as server:
        yield server.getsockname()[1]


def test_a_port_that_says_nothing(silent: int) -> None:
    with pytest.raises(UnreachableError, match="no answer in time"):
        connect(config(None), "target", "127.0.0.1", silent, Deadline.after(0.3))


def test_a_frozen_broker_is_given_up_in_time(lone: LocalCluster) -> None:
    lone.pause(1)
    try:
        host, port = config(lone).addresses[0]
        with pytest.raises(UnreachableError, match="no answer in time"):
            connect(config(lone), "target", host, port, Deadline.after(0.5))
    finally:
        lone.resume(1)
    wait_until(lambda: lone._answers(1, int(lone.back_door.rpartition(":")[2])), "it goes on")


def test_nothing_secret_is_logged(
    secured_source: LocalCluster, vault: Vault, caplog: pytest.LogCaptureFixture
) -> None:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    loggers = [logging.getLogger(name) for name in logging.root.manager.loggerDict]
    ours = [logger for logger in loggers if logger.name.startswith("kafka")]
    caplog.set_level(logging.DEBUG)
    for logger in ours:
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
    try:
        for mechanism in ("PLAIN", "SCRAM-SHA-512"):
            made = connected(config(secured_source, tls=trust(vault), sasl=login(mechanism)))
            made.socket.close()
    finally:
        for logger in ours:
            logger.removeHandler(handler)
            logger.setLevel(logging.NOTSET)
        logging.getLogger("kafka").setLevel(logging.CRITICAL + 1)
    text = "\n".join([*lines, caplog.text])
    assert USERS["admin"].reveal() not in text
