"""Conditions that slow a restore down or make it wait, without stopping it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from towpath.archive.config import RestoreConfig
from towpath.archive.restore.model import RestoreScope, RestoreTopic
from towpath.cluster.data.frames import CLIENT_ID
from towpath.ledger.link import OpenTarget
from towpath.model.amounts import count, counted, size, span
from towpath.model.errors import ClusterError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import TopicName
from towpath.model.quota import EntityKind, Quota, QuotaKey
from towpath.store.objects import StoredObject
from towpath.topics.configs import MOST_BYTES, limit
from towpath.topics.observed import Topic

_THAWING_S = {"DEEP_ARCHIVE": 48 * 3600.0, "Archive": 15 * 3600.0}
_THAWS_S = 12 * 3600.0
"""How long stores take to thaw an object at most: S3 by its bulk retrieval from `DEEP_ARCHIVE`,
Azure from its tier `Archive`, S3 by its bulk retrieval from `GLACIER`."""
_IN_SYNC = "min.insync.replicas"


def of_cold(rules: RestoreConfig, cold: Sequence[StoredObject]) -> Iterator[Note | Problem]:
    """Yield which objects must be thawed first, and whether the restore waits long enough.

    Args:
        rules: What the file says of restores.
        cold: Objects that the restore reads and that cannot be read now.
    """
    for name in sorted({each.storage_class for each in cold}):
        some = [each for each in cold if each.storage_class == name]
        total, needed = sum(each.size for each in some), thawing_time(name)
        asked = sum(each.thawing for each in some)
        text = (
            f"{counted(len(some), 'object')} with {size(total)} in the storage class"
            f" {name or 'of the archive tier'} must be thawed before they can be read, such as"
            f" {some[0].key} ({count(asked)} are being thawed): `towpath restore thaw FILE --days N"
            f" --yes` asks the store for it, for as many days as the restore may take; it takes up"
            f" to {span(needed)}"
        )
        waits = float(rules.late.timeout)
        if waits < needed:
            advice = (
                f"the restore waits {span(waits)} for an object before it is lost; raise"
                f" `restore.late.timeout`, or restore when they are thawed"
            )
            yield Problem("archive", f"{text}; {advice}", Cause.FILE)
        else:
            yield Note("archive", f"{text}; the restore waits for them meanwhile")


def thawing_time(storage_class: str) -> float:
    """Return the longest thawing time of a storage class, in seconds."""
    return _THAWING_S.get(storage_class, _THAWS_S)


def of_quotas(to: OpenTarget, scope: RestoreScope) -> Iterator[Note]:
    """Yield which quotas of the target slow the restore, and how long it takes with them."""
    total = sum(topic.bytes for topic in scope.topics.values())
    try:
        found = to.target.quotas.describe().known
    except ClusterError as error:
        text = f"{error}; so it is not known whether a quota slows the restore down"
        yield Note("target", text)
        return
    for quota, value in sorted(found.items(), key=lambda each: str(each[0])):
        if quota.key is QuotaKey.PRODUCER_BYTE_RATE and _concerns(quota, to.where.login):
            text = f"the quota {quota} is {size(value)}/s on each broker"
            if value > 0 and total:
                brokers = len(to.target.cluster.brokers())
                text += (
                    f"; {size(total)} before compression take up to"
                    f" {span(total / value / max(1, brokers))} with it"
                )
            yield Note("target", text)


def _concerns(quota: Quota, login: str) -> bool:
    """Whether a quota may hold for us; a more special one would hold instead."""
    known = {EntityKind.USER: login, EntityKind.CLIENT_ID: CLIENT_ID.decode()}
    return all(
        each.name is None or each.name == known.get(each.kind, each.name) for each in quota.entities
    )


def too_large(topic: RestoreTopic, request_bytes: int | None) -> Iterator[str]:
    """Yield a warning if the target may reject requests with the largest archived batches.

    Args:
        topic: The archived topic.
        request_bytes: The largest request that the target's brokers accept, if known.
    """
    archived = limit(topic.topic.configs.get(MOST_BYTES))
    if request_bytes is not None and archived is not None and archived > request_bytes:
        yield (
            f"the target's brokers accept requests of at most {request_bytes} bytes, and the"
            f" archived topic had batches of up to {archived}: a record of that size stops its"
            " partition; raise socket.request.max.bytes there"
        )


def unwritable(name: TopicName, there: Topic) -> Iterator[Problem]:
    """Yield reasons why an existing topic cannot accept any record."""
    wanted = limit(there.own.get(_IN_SYNC) or there.configs.get(_IN_SYNC))
    if wanted is not None and wanted > there.replication_factor:
        text = (
            f"topic {there.name} exists on the target with {_IN_SYNC}={wanted} and"
            f" {counted(there.replication_factor, 'replica')}, so nothing can be written to it;"
            f" lower the config there"
        )
        yield Problem(name, text, Cause.TOPIC)
