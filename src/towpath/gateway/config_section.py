"""Checks of the section `gateway` in a link's file."""

from __future__ import annotations

from towpath.model.errors import ConfigError, ConfigProblem
from towpath.settings import LinkConfig
from towpath.settings.sections.gateway import GatewayConfig


def gateway_section(config: LinkConfig) -> GatewayConfig:
    """Return the section `gateway` of a link's file, after checks that it can be served.

    Raises:
        ConfigError: It is missing, or clients would get rights of the gateway's own.
    """
    if config.gateway is None:
        why = "is missing: name at least `listen`, where clients connect (docs/gateway.md)"
        raise ConfigError((ConfigProblem("gateway", why),))
    if config.source.tls is not None and config.source.tls.cert is not None:
        why = (
            "is a certificate with which brokers would take every client of the gateway for"
            " Towpath; a gateway needs a listener of the source without client certificates"
        )
        raise ConfigError((ConfigProblem("source.tls.cert", why),))
    return config.gateway
