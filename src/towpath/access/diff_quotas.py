"""The comparison of quotas on both clusters, and of cluster-wide broker configs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from towpath.access.observe import Both
from towpath.access.steps import RemoveQuota, SetQuota
from towpath.cluster.data.frames import CLIENT_ID
from towpath.model.findings import Note
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey

Quotas = Both[Mapping[Quota, float]]

_SLOWING = frozenset(
    {
        QuotaKey.PRODUCER_BYTE_RATE,
        QuotaKey.CONSUMER_BYTE_RATE,
        QuotaKey.REQUEST_PERCENTAGE,
        QuotaKey.CONTROLLER_MUTATION_RATE,
    }
)
"""Quotas that can slow a link: it writes records, reads its ledger and the mirror topics, and
creates topics."""


def quota_steps(quotas: Quotas) -> Iterator[SetQuota]:
    """Yield the quotas to set: missing ones, and those with other values."""
    for quota, value in sorted(quotas.source.items(), key=_by_text):
        had = quotas.target.get(quota)
        if had != value:
            yield SetQuota(quota, value, had)


def quotas_gone(quotas: Quotas, ours: frozenset[str]) -> Iterator[RemoveQuota]:
    """Yield the quotas of this link that the source no longer has."""
    for quota, had in sorted(quotas.target.items(), key=_by_text):
        if quota not in quotas.source and str(quota) in ours:
            yield RemoveQuota(quota, had)


def quota_notes(steps: Iterable[SetQuota], login: str | None) -> Iterator[Note]:
    """Yield notes on quotas that may throttle the link itself."""
    for step in steps:
        if step.quota.key in _SLOWING and all(_ours(e, login) for e in step.quota.entities):
            yield Note(step.about, "may also apply to this link, and slow it down")


def config_notes(configs: Both[Mapping[str, str | None]]) -> Iterator[Note]:
    """Yield notes on differing configs of all brokers, which are never copied."""
    for name in sorted({*configs.source, *configs.target}):
        source, target = (_value(side, name) for side in (configs.source, configs.target))
        if source != target or source == _SECRET:
            text = (
                f"config of all brokers: {source} at the source, {target} on the target; it is not"
                " copied, so change it by hand if it should be"
            )
            yield Note(name, text)


_SECRET = "a secret value"  # noqa: S105, just what is shown instead


def _value(side: Mapping[str, str | None], name: str) -> str:
    value = side.get(name, "not set")
    return _SECRET if value is None else value


def _ours(entity: Entity, login: str | None) -> bool:
    """Whether a quota entity may be the link, whose client id is always the same."""
    name = {EntityKind.USER: login, EntityKind.CLIENT_ID: CLIENT_ID.decode()}.get(entity.kind)
    return entity.name is None or entity.name == name


def _by_text(item: tuple[Quota, float]) -> str:
    return str(item[0])
