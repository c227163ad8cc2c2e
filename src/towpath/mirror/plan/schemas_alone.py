"""The schemas of a link alone: compared and registered, without the link's topics."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from towpath.ledger.link import open_link
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.plan.applier import Applied, Told
from towpath.plan.apply import ApplyRequest, apply
from towpath.plan.build import LinkContext, build
from towpath.plan.model import Plan
from towpath.plan.subjects import Subjects
from towpath.schemas.subject import SUBJECT, CompareReport, SchemasClient
from towpath.settings import LinkConfig

ALONE = Subjects((SUBJECT,))
"""Nothing but schemas."""


def planned(config: LinkConfig) -> Plan:
    """Return the steps and problems of the schemas of a link.

    Raises:
        ConfigError: The file names no registries.
    """
    _require(config)
    with open_link(config) as link, ALONE.open(link) as clients:
        return build(link, clients, LinkContext(lambda _: (), lambda *_: ())).plan


def sync(plan: Plan, config: LinkConfig, on_step: Told, stop: threading.Event) -> Applied:
    """Apply a plan of schema steps; see `towpath.plan.apply.apply`."""
    return apply(ApplyRequest(config, plan), ALONE, on_step, stop)


def compared(config: LinkConfig, *, ask: bool) -> CompareReport:
    """Return all versions that the file asks for, with their counterparts on the target.

    Args:
        config: The link.
        ask: Ask the target for every id, as clients do.

    Raises:
        ConfigError: The file names no registries.
        ClusterError: The ledger cannot be read.
    """
    with _client(config) as client:
        return client.compared(ask=ask)


@contextmanager
def _client(config: LinkConfig) -> Iterator[SchemasClient]:
    _require(config)
    with open_link(config) as link, SUBJECT.client(link) as client:
        link.look()
        assert isinstance(client, SchemasClient)  # noqa: S101, the file names registries
        yield client


def _require(config: LinkConfig) -> None:
    if config.schemas is None:
        text = "is required for this: the registries of the source and the target (docs/schemas.md)"
        raise ConfigError((ConfigProblem("schemas", text),))
