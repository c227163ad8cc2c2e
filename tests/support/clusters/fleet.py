"""The clusters that the tests share, and the ways into each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.support.clusters.brokers import Listener
from tests.support.clusters.certificates import Certificate, Vault
from towpath.model.secret import Secret

USERS = {
    name: Secret(f"{name}-pw")
    for name in ("admin", "mirror", "nobody", "stranger", "first", "second", "restorer")
}
"""Of a secured cluster: `admin` may do everything, the others what an ACL allows.

All tests use them at the same time. So `mirror` never has rights on the whole cluster: `first` and
`second` are there for that, each for one test. `stranger` has no right on the ledger; those of
`restorer` on it come and go in one test.
"""

LOGIN_LIFE = 1.5
"""Seconds for which a login holds where clients come in through `SHORT`."""

SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
_MODULES = "org.apache.kafka.common.security"
_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
_SCRAM_MODULE = f"{_MODULES}.scram.ScramLoginModule required;"
_OAUTH = f"{_MODULES}.oauthbearer.OAuthBearerLoginModule required"

PLAIN = {
    "PROXIED": Listener(proxied=True),
    "REFUSED": Listener(proxied=True),
    "MISNAMED": Listener(host="broker.invalid"),
}
"""Of clusters without security: for a proxy that cuts, for one that refuses, and a wrong host."""


def secured(vault: Vault) -> dict[str, Any]:
    """Return a cluster that holds ACLs, which bind nobody in plain text, and has users.

    Clients of `SECURED` log in over TLS; those of `EXPIRED` are shown an old certificate, those of
    `MUTUAL` must show one, those of `OAUTH` a token, and those of `SHORT` log in again and again.
    Clients of `PROXIED` come through a proxy.
    """
    both = {"sasl.enabled.mechanisms": ",".join(("PLAIN", *SCRAM)), **_logins()}
    short = {f"{name.lower()}.connections.max.reauth.ms": str(int(LOGIN_LIFE * 1000)) for name in
             ("PLAIN", *SCRAM)}  # fmt: skip
    oauth = {
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "oauthbearer.sasl.jaas.config": f'{_OAUTH} unsecuredLoginStringClaim_sub="x";',
        "oauthbearer.connections.max.reauth.ms": "60000",
    }
    listeners = {
        "SECURED": Listener("SASL_SSL", tls(vault.broker, vault.ca, "requested") | both),
        "EXPIRED": Listener("SASL_SSL", tls(vault.expired, vault.ca) | both),
        "MUTUAL": Listener("SSL", tls(vault.broker, vault.ca, "required")),
        "OAUTH": Listener("SASL_PLAINTEXT", oauth),
        "SHORT": Listener("SASL_PLAINTEXT", both | short),
        "PROXIED": Listener("SASL_PLAINTEXT", both, proxied=True),
    }
    acls = {"authorizer.class.name": _AUTHORIZER, "super.users": "User:ANONYMOUS;User:admin"}
    tokens = {"delegation.token.secret.key": "of-the-tests"}
    return {"listeners": listeners, "users": USERS, "properties": acls | tokens}


def lone(served: Certificate, trusted: Any, password: Secret) -> dict[str, Any]:
    """Return a cluster that forgets producers of old records within a second.

    Clients of `ROTATING` show a certificate and log in, and all of that is replaced.
    """
    login = {
        "sasl.enabled.mechanisms": "SCRAM-SHA-512,OAUTHBEARER",
        "scram-sha-512.sasl.jaas.config": _SCRAM_MODULE,
        "oauthbearer.sasl.jaas.config": f"{_OAUTH};",
    }
    rotating = Listener("SASL_SSL", tls(served, trusted, "required") | login)
    return {
        "listeners": {**PLAIN, "ROTATING": rotating},
        "users": {"mirror": password},
        "properties": {"producer.id.expiration.check.interval.ms": "1000"},
    }


def three() -> dict[str, Any]:
    """Return three brokers in a rack each, with ACLs, which bind nobody."""
    return {
        "brokers": 3,
        "listeners": PLAIN,
        "properties": {
            "broker.rack": "rack-{node}", "replica.selector.class": _SELECTOR,
            "authorizer.class.name": _AUTHORIZER, "super.users": "User:ANONYMOUS",
        },
    }  # fmt: skip


def tls(shown: Certificate, trusted: Any, client: str = "none") -> dict[str, str]:
    """Return what a listener needs for TLS, and whether clients must show a certificate."""
    return {
        "ssl.keystore.type": "PEM", "ssl.keystore.location": str(shown.both),
        "ssl.truststore.type": "PEM", "ssl.truststore.location": str(trusted),
        "ssl.client.auth": client,
    }  # fmt: skip


def _logins() -> Mapping[str, str]:
    known = " ".join(f'user_{name}="{secret.reveal()}"' for name, secret in USERS.items())
    return {
        "plain.sasl.jaas.config": f"{_MODULES}.plain.PlainLoginModule required {known};",
        **{f"{name.lower()}.sasl.jaas.config": _SCRAM_MODULE for name in SCRAM},
    }
