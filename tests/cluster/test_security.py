from __future__ import annotations

import logging
import pickle
import shutil
import ssl
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.clusters.certificates import Certificate, Vault
from towpath.cluster.connect.security import sasl_mechanism, sasl_options, ssl_context
from towpath.model.errors import ExtraMissingError
from towpath.model.secret import Secret
from towpath.settings import ClusterConfig, Tls, troubles


def config(sasl: dict[str, Any] | None, *, tls: bool = True) -> ClusterConfig:
    return ClusterConfig(bootstrap=("broker:9092",), tls=tls or None, sasl=sasl)


def test_passwords_are_handed_over() -> None:
    login = config({"mechanism": "PLAIN", "username": "a=b,c", "password": Secret("pw")})
    assert sasl_options(login) == {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "a=b,c",
        "sasl_plain_password": "pw",
    }


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram_names_are_escaped(mechanism: str) -> None:
    login = config({"mechanism": mechanism, "username": "a=b,c", "password": Secret("pw")})
    assert sasl_options(login)["sasl_plain_username"] == "a=3Db=2Cc"
    assert b"n,,n=a=3Db=2Cc,r=" in sasl_mechanism(login, "broker").auth_bytes()


def test_a_token_comes_with_its_extensions() -> None:
    login = config(
        {"mechanism": "OAUTHBEARER", "token": Secret("abc"), "extensions": {"pool": "p1"}}
    )
    expected = b"n,,\x01auth=Bearer abc\x01pool=p1\x01\x01"
    assert sasl_mechanism(login, "broker").auth_bytes() == expected


def test_a_token_command_is_asked_each_time(tmp_path: Any) -> None:
    count = tmp_path / "count"
    script = f"n=$(cat {count} 2>/dev/null)x; echo $n > {count}; echo token-$n"
    login = config({"mechanism": "OAUTHBEARER", "token_command": ["sh", "-c", script]})
    assert b"Bearer token-x\x01" in sasl_mechanism(login, "broker").auth_bytes()
    assert b"Bearer token-xx\x01" in sasl_mechanism(login, "broker").auth_bytes()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo s3cret; exit 3", "ended with code 3"),
        ("true", "ended with code 0 and printed no token"),
    ],
)
def test_a_token_command_that_fails_shows_no_output(script: str, words: str) -> None:
    login = config({"mechanism": "OAUTHBEARER", "token_command": ["sh", "-c", script]})
    with pytest.raises(ChildProcessError) as caught:
        sasl_mechanism(login, "broker").auth_bytes()
    assert words in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_kerberos_gets_service_and_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no Kerberos here, so this stands in for its library."""
    names: list[str] = []

    class Name(str):
        __slots__ = ()

        def __new__(cls, text: str, **_: object) -> Name:
            names.append(text)
            return super().__new__(cls, text)

        def canonicalize(self, _: object) -> Name:
            return self

    class Context:
        def __init__(self, **_: object) -> None: ...

        def step(self, _: object) -> bytes:
            return b"ticket"

    library = ModuleType("gssapi")
    vars(library).update(
        Name=Name,
        SecurityContext=Context,
        NameType=type("NameType", (), {"hostbased_service": 1}),
        MechType=type("MechType", (), {"kerberos": 1}),
    )
    monkeypatch.setitem(sys.modules, "gssapi", library)
    assert sasl_mechanism(config({"mechanism": "GSSAPI"}), "broker").auth_bytes() == b"ticket"
    named = {"mechanism": "GSSAPI", "service_name": "k", "domain_name": "d"}
    sasl_mechanism(config(named), "broker")
    assert names == ["kafka@broker", "k@d"]


def _botocore(monkeypatch: pytest.MonkeyPatch, credentials: object) -> None:
    """There is no AWS here, so this stands in for its library."""

    class Session:
        def __init__(self) -> None:
            self.variables = {"region": "from-environment"}

        def set_config_variable(self, name: str, value: str) -> None:
            self.variables[name] = value

        def get_config_variable(self, name: str) -> str:
            return self.variables[name]

        def get_credentials(self) -> object:
            return credentials

    session = ModuleType("botocore.session")
    vars(session)["Session"] = Session
    monkeypatch.setitem(sys.modules, "botocore", ModuleType("botocore"))
    monkeypatch.setitem(sys.modules, "botocore.session", session)


class Credentials:
    access_key, secret_key, token = "AK", "SK", None

    def get_frozen_credentials(self) -> Credentials:
        return self


@pytest.mark.parametrize(
    ("options", "region"), [({}, b"from-environment"), ({"region": "eu-1"}, b"eu-1")]
)
def test_aws_gets_host_and_region(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, str], region: bytes
) -> None:
    _botocore(monkeypatch, Credentials())
    login = config({"mechanism": "AWS_MSK_IAM", **options})
    message = sasl_mechanism(login, "b-1.msk").auth_bytes()
    assert b'"host":"b-1.msk"' in message
    assert b"/" + region + b"/kafka-cluster/aws4_request" in message
    assert b"SK" not in message


def test_aws_without_its_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    with pytest.raises(ExtraMissingError) as caught:
        sasl_mechanism(config({"mechanism": "AWS_MSK_IAM"}), "b-1.msk")
    assert str(caught.value) == (
        "AWS_MSK_IAM needs botocore, which is not installed: pip install 'towpath[s3]'"
    )


def test_aws_without_credentials_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    _botocore(monkeypatch, None)
    with pytest.raises(LookupError, match="no AWS credentials"):
        sasl_mechanism(config({"mechanism": "AWS_MSK_IAM"}), "b-1.msk").auth_bytes()


def test_a_context_is_made_once_and_from_texts_alone(vault: Vault) -> None:
    tls = {
        "ca": str(vault.ca),
        "cert": str(vault.client.certificate),
        "key": str(vault.client.key),
    }
    whole = ClusterConfig(bootstrap=("b:1",), tls=tls)
    assert whole.tls
    made = ssl_context(whole.tls)
    there = pickle.loads(pickle.dumps(whole))  # noqa: S301, our own bytes
    assert ssl_context(there.tls) is made
    assert (made.verify_mode, made.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert made.minimum_version == ssl.TLSVersion.TLSv1_2
    assert len(made.get_ca_certs()) == 1


def copied(to: Path, ca: Path, pair: Certificate) -> Tls:
    """Put authority, certificate and key to where a link finds them."""
    for name, file in (("ca", ca), ("cert", pair.certificate), ("key", pair.key)):
        shutil.copy(file, to / name)
    config = ClusterConfig(
        bootstrap=("b:1",), tls={name: str(to / name) for name in ("ca", "cert", "key")}
    )
    assert config.tls
    return config.tls


def test_a_context_is_made_again_when_files_change(vault: Vault, tmp_path: Path) -> None:
    tls = copied(tmp_path, vault.ca, vault.client)
    first = ssl_context(tls)
    assert ssl_context(tls) is first
    shutil.copy(vault.other_ca, tmp_path / "ca")
    second = ssl_context(tls)
    assert second is not first
    assert [first.get_ca_certs() == second.get_ca_certs(), troubles()] == [False, ()]


def test_certificate_and_key_that_do_not_fit_yet(vault: Vault, tmp_path: Path) -> None:
    """They are replaced one after the other, and a connection may be made between."""
    tls = copied(tmp_path, vault.ca, vault.client)
    before = ssl_context(tls)
    shutil.copy(vault.broker.certificate, tmp_path / "cert")
    assert ssl_context(tls) is before
    [told] = troubles()
    assert f"{tmp_path}/cert, {tmp_path}/key changed but cannot be used together" in told
    shutil.copy(vault.broker.key, tmp_path / "key")
    assert ssl_context(tls) is not before
    assert troubles() == ()


def test_making_options_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    login = {"mechanism": "PLAIN", "username": "u", "password": Secret("s3cret")}
    sasl_mechanism(config(login, tls=False), "broker").auth_bytes()
    assert not caplog.records
