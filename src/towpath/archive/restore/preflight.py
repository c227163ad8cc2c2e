"""Problems of a restore that are reported before anything is changed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from towpath.archive.config import FilteredOffsets, LostParts, RestoreConfig
from towpath.archive.log import Archive, ArchiveState
from towpath.archive.read.feed.late_parts import lost as why_lost
from towpath.archive.restore.groups import client_names
from towpath.archive.restore.limits import of_cold
from towpath.archive.restore.model import RestoreScope, RestoreTopic
from towpath.archive.restore.parts import expired
from towpath.archive.restore.progress import RestoreRow
from towpath.cluster.admin import Admin
from towpath.model.amounts import count, counted, size
from towpath.model.errors import ClusterError, ObjectMissingError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import TargetOffset, TopicName
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.modes import why_mapped
from towpath.runtime.clock import now_ms
from towpath.settings import OffsetsPolicy
from towpath.store.objects import StoredObject
from towpath.topics.configs import POLICY, deletes, limit
from towpath.topics.steps import CreateTopic, TopicStep

_LOOKED_FOR = 1000
"""Objects that are looked for; of more, some at random."""
_NAMED = 3
Finding = Note | Problem


def of_retention(
    rules: RestoreConfig, scope: RestoreScope, state: ArchiveState, steps: Sequence[TopicStep]
) -> Iterator[Finding]:
    """Yield the topics that would lose old records once their archived retention is set."""
    now = now_ms()
    for step in steps:
        if not isinstance(step, CreateTopic) or "retention.ms" not in step.held:
            continue
        topic = scope.topics[step.source]
        kept = _final(step, topic, "retention.ms")
        most = limit(kept)
        if most is None or not deletes({POLICY: _final(step, topic, POLICY) or "delete"}):
            continue
        old = expired(state, topic, now - int(most))
        if not old:
            continue
        text = (
            f"retention.ms={kept} would delete {count(old)} of {count(topic.records)} records as"
            " soon as the topic is restored"
        )
        if rules.retention is None:
            advice = "set `restore.retention: unlimited` to keep them, or `archived` if they may go"
            yield Problem(step.source, f"{text}; {advice}", Cause.FILE)
        else:
            yield Note(step.source, text)


def _final(step: CreateTopic, topic: RestoreTopic, key: str) -> str | None:
    """Return the value that a config has in the end; by default as it was at the source."""
    value = step.held.get(key, step.configs.get(key))
    return topic.topic.configs.get(key) if value is None else value


def of_filtered(rules: RestoreConfig, scope: RestoreScope) -> Iterator[Finding]:
    """Yield the topics that lack records which the archive had left out as restored ones."""
    for name, topic in scope.topics.items():
        if not topic.filtered:
            continue
        verb = "was" if topic.filtered == 1 else "were"
        text = (
            f"{count(topic.filtered)} {'offset' if topic.filtered == 1 else 'offsets'} do not come"
            f" back: they {verb} left out of the archive (filtered), as a restore had written them;"
            " an earlier life of the topic (`towpath archive lives`, `--life`), or the archive of"
            " the region that they came from, may have them"
        )
        if rules.filtered is FilteredOffsets.ACCEPT:
            yield Note(name, text)
        else:
            advice = "set `restore.filtered: accept` if that is meant"
            yield Problem(name, f"{text}; {advice}", Cause.TOPIC)


def of_pruning(rules: RestoreConfig, rows: Iterable[RestoreRow]) -> Iterator[Finding]:
    """Yield the partitions that were pruned beyond the restore's position."""
    for row in rows:
        if row.mode and row.part.pruned(row.at):
            pruned = Reason.of(ReasonCode.ARCHIVE_PRUNED)
            if rules.lost is LostParts.SKIP:
                text = f"offsets {row.at} to {row.part.start - 1} do not come back: {pruned}"
                yield Note(str(row.tp), text)
            else:
                lost = why_lost(row.at, row.part.start, pruned)
                yield Problem(str(row.tp), str(lost), Cause.TOPIC)


def of_modes(rules: RestoreConfig, scope: RestoreScope, fill: int) -> Iterator[Finding]:
    """Yield the partitions that cannot keep their offsets, as far as known before reading."""
    kept = {n: each for n, each in scope.topics.items() if not (each.layout or each.change.drops)}
    for name, topic in kept.items():
        for part in topic.parts:
            why = why_mapped(rules.offsets, part.start, TargetOffset(0), compacted=False, fill=fill)
            if why is None or rules.offsets is OffsetsPolicy.MAPPED:
                continue
            about = f"{name}-{part.id.partition}"
            if rules.offsets is OffsetsPolicy.IDENTICAL:
                text = f"offsets cannot stay identical: {why}; set `restore.offsets: auto`"
                yield Problem(about, text, Cause.FILE)
            else:
                yield Note(about, f"offsets will be mapped: {why}")


def of_room(
    target: Admin, scope: RestoreScope, replicas: Mapping[TopicName, int]
) -> Iterator[Finding]:
    """Compare the free space on the target's disks with the bytes to be restored.

    How well batches compress is not known, so the archived bytes count without compression.
    """
    there = {topic.target: topic.count for topic in scope.topics.values()}
    try:
        free = target.disks.describe(there).free
    except ClusterError as error:
        text = f"{error}; so it is not known whether the target's disks have space for the restore"
        yield Note("target", text)
        return
    needed = sum(
        topic.bytes * replicas.get(name, topic.topic.replication_factor)
        for name, topic in scope.topics.items()
    )
    if free is None:
        text = (
            "the brokers do not tell the free space on their disks (KIP-827, Kafka 3.3), so it is"
            " not known whether they have space for the restore"
        )
        yield Note("target", text)
    elif needed > free:
        yield Note(
            "target",
            f"the restored topics take up to {size(needed)} without compression, and the disks of"
            f" all brokers together have {size(free)} free; where batches compress badly, they do"
            " not fit",
        )


def of_groups(rules: RestoreConfig, scope: RestoreScope, target: Admin) -> Iterator[Finding]:
    """Yield the groups with active members on the target, whose offsets cannot be committed."""
    named = client_names(scope, rules)
    if not named:
        return
    try:
        there = target.groups.listed().groups
    except ClusterError as error:
        yield Note("groups", f"{error}; so it is not known whether they could be written")
        return
    for client in named.values():
        found = there.get(client.name)
        if found is not None and found.has_members:
            text = (
                f"has members on the target ({found.state}), and nothing is written under them:"
                " stop them before the restore ends"
            )
            yield Note(f"group {client.name}", text)


def of_objects(rules: RestoreConfig, archive: Archive, scope: RestoreScope) -> Iterator[Finding]:
    """Check that the objects of a restore exist; of many objects a random sample."""
    owners = objects_of(archive, scope)
    keys = sorted(owners)
    if len(keys) > _LOOKED_FOR:
        text = (
            f"{count(_LOOKED_FOR)} of {count(len(keys))} objects were looked for, chosen at random"
        )
        yield Note("archive", text)
        keys = random.sample(keys, _LOOKED_FOR)
    found = dict(zip(keys, looked_for(archive, keys), strict=True))
    yield from of_cold(rules, [each for each in found.values() if each is not None and each.cold])
    missing = [key for key, there in found.items() if there is None]
    for topic in sorted({owners[key] for key in missing}):
        gone = [key for key in missing if owners[key] == topic]
        named = ", ".join(gone[:_NAMED])
        text = (
            f"the store lacks {counted(len(gone), 'object')} of it ({named}); bring them back, for"
            " example from a version of the bucket, else its partitions stop there"
        )
        yield Problem(topic, text, Cause.TOPIC)


def objects_of(archive: Archive, scope: RestoreScope) -> dict[str, TopicName]:
    """Return the keys of all objects that a restore reads, each with one of its topics."""
    table = archive.log.state.table()
    wanted = {part.id: part for topic in scope.topics.values() for part in topic.parts}
    parts = [wanted.get(each.id) for each in table.partitions]
    first = np.array([part.start if part else 0 for part in parts], np.int64)
    end = np.array([part.end if part else 0 for part in parts], np.int64)
    place, starts, ends = (
        np.asarray(table.rows[name].to_numpy()) for name in ("partition", "start", "end")
    )
    inside = (ends > first[place]) & (starts < end[place])
    keys = table.rows["key"].filter(pa.array(inside)).to_pylist()
    names = [table.partitions[number].topic for number in place[inside].tolist()]
    return {key: name for key, name in zip(keys, names, strict=True) if key is not None}


def looked_for(archive: Archive, keys: Iterable[str]) -> Iterator[StoredObject | None]:
    """Yield the stored objects with these keys, `None` for each missing one."""
    store = archive.log.store

    def look(key: str) -> StoredObject | None:
        try:
            return store.head(key)
        except ObjectMissingError:
            return None

    return store.threads.map(look, keys)
