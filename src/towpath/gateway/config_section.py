"""Checks of the section `gateway` in a link's file."""

from __future__ import annotations

from collections.abc import Iterable

from towpath.cluster.connect.exchange import address_text
from towpath.cluster.metadata import Broker
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.settings import LinkConfig
from towpath.settings.address import host_and_port
from towpath.settings.sections.gateway import GatewayConfig
from towpath.settings.sections.groups import GroupsConfig


def gateway_section(config: LinkConfig) -> GatewayConfig:
    """Return the section `gateway` of a link's file, after checks that it can be served.

    Raises:
        ConfigError: It is missing, or clients would get rights of the gateway's own.
    """
    if config.gateway is None:
        why = (
            "is missing: give the file that the gateway of clients runs with, or name at least"
            " `listen`, where clients connect (docs/gateway.md)"
        )
        raise ConfigError((ConfigProblem("gateway", why),))
    if config.source.tls is not None and config.source.tls.cert is not None:
        why = (
            "is a certificate with which brokers would take every client of the gateway for"
            " Towpath; a gateway needs a listener of the source without client certificates"
        )
        raise ConfigError((ConfigProblem("source.tls.cert", why),))
    _require_another_way(config, config.gateway)
    if config.gateway.reads_target:
        _require_readable_target(config)
    return config.gateway


def _require_readable_target(config: LinkConfig) -> None:
    """Raise if clients of a link cannot read its mirror topics while they write to the source.

    Raises:
        ConfigError: They log in, would get rights of the link, or find topics under other names.
    """
    problems = []
    for side, cluster in (("source", config.source), ("target", config.target)):
        if cluster.sasl is not None:
            why = (
                "is `target`, and a connection of a client leads to both clusters then; a login"
                f" (`{side}.sasl`) is good for one. Leave it at `source`, or give the gateway"
                f" listeners of both clusters without SASL (docs/read-from-target.md)"
            )
            problems.append(ConfigProblem("gateway.reads", why))
    if config.target.tls is not None and config.target.tls.cert is not None:
        why = (
            "is a certificate with which brokers would take every client of the gateway for"
            " Towpath; with `gateway.reads: target` it needs a listener of the target without"
            " client certificates"
        )
        problems.append(ConfigProblem("target.tls.cert", why))
    if not config.topics.keeps_names:
        why = "gives topics other names; with `gateway.reads: target` clients would not find them"
        problems.append(ConfigProblem("topics.rename", why))
    if config.groups is not None and config.groups.rename != GroupsConfig().rename:
        why = "gives groups other names; with `gateway.reads: target` they must keep theirs"
        problems.append(ConfigProblem("groups.rename", why))
    if problems:
        raise ConfigError(tuple(problems))


def _require_another_way(config: LinkConfig, section: GatewayConfig) -> None:
    """Raise if the gateway would reach the source under addresses that it listens on itself.

    Raises:
        ConfigError: It would.
    """
    taken = {section.address, *(section.named.values() if section.adopt else ())}
    for at in config.source.bootstrap:
        if host_and_port(at) in taken:
            why = (
                f"names {at}, where the gateway listens itself: name a listener of the"
                " source with other addresses"
            )
            raise ConfigError((ConfigProblem("source.bootstrap", why),))


def require_adoptable(section: GatewayConfig, brokers: Iterable[Broker]) -> None:
    """Raise if a gateway cannot take the place of all brokers of the source.

    Raises:
        ConfigError: The file does not name a broker, or the source tells addresses on which the
            gateway listens.
    """
    if not section.adopt:
        return
    problems = []
    for broker in brokers:
        at = broker.host, broker.port
        if broker.id not in section.named:
            why = f"does not name broker {broker.id} of the source, whose clients would be left"
            problems.append(ConfigProblem("gateway.nodes", why))
        if at in section.named.values():
            why = (
                f"the source tells {address_text(at)} for broker {broker.id}, where the gateway"
                " listens itself: name a listener of the source with other addresses"
            )
            problems.append(ConfigProblem("source.bootstrap", why))
    if problems:
        raise ConfigError(tuple(problems))
