"""The cluster of a query, from options that begin with `kafka.`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.secret import Secret
from towpath.settings import ClusterConfig
from towpath.settings.jaas import login_options
from towpath.settings.problems import faults_of
from towpath.settings.shape import path_text

KAFKA = "kafka."
_KNOWN = frozenset(
    {
        "bootstrap.servers", "security.protocol", "sasl.mechanism", "sasl.jaas.config",
        "sasl.username", "sasl.password", "ssl.truststore.location", "ssl.truststore.type",
        "ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.key.password",
        "ssl.endpoint.identification.algorithm", "client.rack", "request.timeout.ms",
        "isolation.level", "group.id", "client.id",
    }
)  # fmt: skip
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_TUNES = ("fetch.", "max.partition.fetch", "max.poll.", "receive.buffer", "send.buffer", "metrics.")
"""What sets up the client of the Java source; there is none here."""
_PLACES = {
    "bootstrap": "bootstrap.servers",
    "tls": "security.protocol",
    "sasl": "sasl.mechanism",
    "rack": "client.rack",
    "request_timeout": "request.timeout.ms",
}
"""Where each part of a cluster's section comes from."""


def cluster_of(options: Mapping[str, str]) -> ClusterConfig:
    """Return the cluster that options name.

    Args:
        options: By lower-case names; those that begin with `kafka.` count.

    Raises:
        ConfigError: With every problem.
    """
    given = {key.removeprefix(KAFKA): text for key, text in options.items() if _is_kafka(key)}
    problems = [*_refused(given)]
    if "bootstrap.servers" not in given:
        problems.append(ConfigProblem(f"{KAFKA}bootstrap.servers", "is required"))
    if problems:
        raise ConfigError(tuple(problems))
    try:
        return ClusterConfig.model_validate(_section(given), context={"folder": Path()})
    except ValidationError as error:
        raise ConfigError(
            tuple(
                ConfigProblem(f"{KAFKA}{_PLACES.get(str(fault.place[0]), path_text(fault.place))}",
                              fault.text)
                for _, fault in faults_of(error, ClusterConfig)
            )
        ) from None  # fmt: skip


def _is_kafka(key: str) -> bool:
    return key.startswith(KAFKA)


def _refused(given: Mapping[str, str]) -> list[ConfigProblem]:
    found = []
    for key, text in given.items():
        if key not in _KNOWN and not key.startswith(_TUNES):
            why = f"is not known here; known are {', '.join(sorted(_KNOWN))}"
            found.append(ConfigProblem(KAFKA + key, why))
        elif key == "isolation.level" and text != "read_committed":
            why = "must be read_committed: records of aborted transactions are never shown"
            found.append(ConfigProblem(KAFKA + key, why))
        elif key == "security.protocol" and text.strip().upper() not in _PROTOCOLS:
            found.append(
                ConfigProblem(KAFKA + key, f"must be one of {', '.join(_PROTOCOLS)}, not {text!r}")
            )
        elif key == "ssl.truststore.type" and text.upper() != "PEM":
            why = "must be PEM; `keytool -list -rfc` writes such a file from a key store"
            found.append(ConfigProblem(KAFKA + key, why))
    return found


def _section(given: Mapping[str, str]) -> dict[str, Any]:
    made: dict[str, Any] = {"bootstrap": given["bootstrap.servers"]}
    protocol = given.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol.endswith("SSL"):
        made["tls"] = _tls(given)
    if protocol.startswith("SASL"):
        made["sasl"] = _sasl(given)
    if "client.rack" in given:
        made["rack"] = given["client.rack"]
    if "request.timeout.ms" in given:
        made["request_timeout"] = f"{given['request.timeout.ms']}ms"
    return made


def _tls(given: Mapping[str, str]) -> dict[str, Any]:
    names = {
        "ca": ("ssl.ca.location", "ssl.truststore.location"),
        "cert": ("ssl.certificate.location",),
        "key": ("ssl.key.location",),
    }
    made: dict[str, Any] = {
        key: given[name] for key, found in names.items() for name in found if name in given
    }
    if "ssl.key.password" in given:
        made["key_password"] = Secret(given["ssl.key.password"])
    if given.get("ssl.endpoint.identification.algorithm", "https").lower() in {"", "none"}:
        made["verify_hostname"] = False
    return made


def _sasl(given: Mapping[str, str]) -> dict[str, Any]:
    jaas = login_options(given.get("sasl.jaas.config", ""))
    mechanism = given.get("sasl.mechanism", "GSSAPI").upper()
    made: dict[str, Any] = {"mechanism": mechanism}
    if mechanism in {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}:
        made["username"] = given.get("sasl.username", jaas.get("username", ""))
        made["password"] = Secret(given.get("sasl.password", jaas.get("password", "")))
    return made
