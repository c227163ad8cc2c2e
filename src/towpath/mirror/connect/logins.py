"""Translation of clusters, registries and logins to sections of a link's file. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from towpath.mirror.connect.clusters import (
    ClientCert,
    ConnectCluster,
    ConnectRegistry,
    ConnectSasl,
    ConnectTls,
)
from towpath.model.secret import Secret
from towpath.settings.shape import Place, Placed

Reveal = Callable[[Place, Secret], object]
"""What stands for a secret in the file of a link, by its place in Connect's file."""

_PORT = ":9092"
PEM_TEXTS = frozenset({"root_cas", "cert", "key"})
"""Fields that hold the text of a PEM file."""


class Logins:
    """Translates the clusters and registries of a Connect file.

    Args:
        reveal: What stands for a secret.
        problems: Gets what is missing, by place in Connect's file.
    """

    def __init__(self, reveal: Reveal, problems: list[Placed]) -> None:
        self._reveal, self._problems = reveal, problems

    def cluster(self, side: ConnectCluster, place: Place) -> dict[str, Any]:
        """Return the section of a cluster."""
        made: dict[str, Any] = {"bootstrap": [_with_port(each) for each in side.seed_brokers]}
        if side.tls.enabled:
            made["tls"] = self._tls(side.tls, (*place, "tls"))
        for index, each in enumerate(side.sasl):
            if each.mechanism != "none":
                made["sasl"] = self._sasl(each, (*place, "sasl", index))
        return made

    def _tls(self, tls: ConnectTls, place: Place) -> dict[str, Any]:
        made: dict[str, Any] = {}
        if tls.root_cas_file:
            made["ca"] = tls.root_cas_file
        elif tls.root_cas:
            made["ca"] = self._pem((*place, "root_cas"), Secret(tls.root_cas))
        for index, each in enumerate(tls.client_certs):
            made |= self._pair(each, (*place, "client_certs", index))
        return made

    def _pair(self, cert: ClientCert, place: Place) -> dict[str, Any]:
        made: dict[str, Any] = {"cert": cert.cert_file, "key": cert.key_file}
        if cert.cert and cert.key:
            made["cert"] = self._pem((*place, "cert"), cert.cert)
            made["key"] = self._pem((*place, "key"), cert.key)
        if cert.password is not None:
            made["key_password"] = self._reveal((*place, "password"), cert.password)
        return made

    def _pem(self, place: Place, given: Secret) -> object:
        """Return what stands for a text of PEM, whose lines a variable brings as one."""
        text = Secret(given.reveal().replace("\\n", "\n"))
        if "-----BEGIN " not in text.reveal():
            why = "holds no PEM block (-----BEGIN ...)"
            self._problems.append(Placed(place, why))
            return str(place[-1])
        return self._reveal(place, text)

    def _sasl(self, sasl: ConnectSasl, place: Place) -> dict[str, Any]:
        made: dict[str, Any] = {"mechanism": sasl.mechanism}
        match sasl.mechanism:
            case "OAUTHBEARER":
                made |= {"token": self._secret(sasl.token, (*place, "token"))}
                made |= {"extensions": dict(sasl.extensions)} if sasl.extensions else {}
            case "AWS_MSK_IAM":
                made |= {"region": sasl.aws.region} if sasl.aws and sasl.aws.region else {}
            case _:
                made |= {
                    "username": sasl.username,
                    "password": self._secret(sasl.password, (*place, "password")),
                }
        return made

    def _secret(self, secret: Secret | None, place: Place) -> object:
        if secret is None or not secret.reveal():
            self._problems.append(Placed(place, "is required by the mechanism"))
            return Secret("missing")
        return self._reveal(place, secret)

    def registry(self, registry: ConnectRegistry, place: Place) -> dict[str, Any]:
        """Return the section of a registry."""
        made: dict[str, Any] = {"url": registry.url}
        if registry.tls.enabled:
            made["tls"] = self._tls(registry.tls, (*place, "tls")) or True
        if registry.basic_auth.enabled:
            at = (*place, "basic_auth", "password")
            made["basic"] = {
                "username": registry.basic_auth.username,
                "password": self._secret(registry.basic_auth.password, at),
            }
        return made


def _with_port(address: str) -> str:
    return address if ":" in address else address + _PORT
