"""Spark settings that keep credentials encrypted on networks and disks.

Slices carry credentials. They go to executors as tasks and in broadcast blocks, over Spark's RPC
and its block transfer, and blocks that do not fit into memory are written to local disks
(https://spark.apache.org/docs/latest/security.html). Without authentication, anyone who can
reach the driver could ask it for tasks.
"""

from __future__ import annotations

from collections.abc import Mapping

_AUTHENTICATE = "spark.authenticate"
_AES, _TLS = "spark.network.crypto.enabled", "spark.ssl.rpc.enabled"
_FALL_BACK = "spark.network.crypto.saslFallback"
_DISKS = "spark.io.encryption.enabled"

BY_US = {_DISKS: "true", _FALL_BACK: "false"}
"""Settings that we add where the user has set nothing. The second one prevents an attacker on the
network from making both sides fall back to SASL, which does not encrypt."""


def lacking(settings: Mapping[str, str]) -> tuple[str, ...]:
    """Return the missing settings, as lines of spark-defaults.conf; () if none is missing."""

    def on(key: str) -> bool:
        return settings.get(key, "").strip().lower() == "true"

    wanted = [] if on(_AUTHENTICATE) else [f"{_AUTHENTICATE} true"]
    if not on(_AES) and not on(_TLS):
        wanted.append(f"{_AES} true")
    if not on(_TLS) and on(_FALL_BACK):
        wanted.append(f"{_FALL_BACK} false")
    if not on(_DISKS):
        wanted.append(f"{_DISKS} true")
    return tuple(wanted)
