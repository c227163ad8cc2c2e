"""Reasons for any state: codes with values, and their sentences. Pure.

A reason is kept beside the thing that it is about, such as a partition, so its sentence does not
begin with the name of that thing: whoever shows the reason names it. What is done about a reason
depends on its code, never on its sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from types import MappingProxyType
from typing import Any

from towpath.model.promotion_texts import PROMOTION
from towpath.model.reason_codes import ReasonCode
from towpath.model.reason_texts import (
    BAD_RECORDS,
    NO_RETENTION,
    UNKNOWN_DELETIONS,
    advised,
    after,
    compacts,
    doubled,
    holes,
    kind_off,
    other_records,
    refused,
    retention_text,
    target_deleted,
    target_lost,
    tighter,
    topic_over,
    unreachable,
    unread,
)

__all__ = ["SENTENCES", "Reason", "ReasonCode", "Value", "as_data", "from_data", "sentence"]


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason for a state; `str()` gives a sentence for the person who must act.

    Attributes:
        code: The kind of reason.
        values: What its sentence needs besides, sorted by name. `Reason.of` makes them.
    """

    code: ReasonCode
    values: tuple[tuple[str, Value], ...] = ()

    @classmethod
    def of(cls, code: ReasonCode, **values: Value) -> Reason:
        """Return a reason with the values that the sentence of its code needs."""
        return cls(code, tuple(sorted(values.items())))

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes that the runbook explains: the reason's own, then its causes'."""
        values = dict(self.values)
        code = str(values["error"]) if self.code is ReasonCode.ERROR else str(self.code)
        causes = [value for value in values.values() if isinstance(value, Reason)]
        return (code, *(inner for cause in causes for inner in cause.codes))

    @property
    def kind(self) -> str:
        """The name in counts and metrics: the code, or the kind of a bad record."""
        return str(dict(self.values).get("bad", self.code))

    def __str__(self) -> str:
        return SENTENCES[self.code](**dict(self.values))


Value = int | str | Reason
"""A value of a reason; a reason may be the cause of another one."""


def sentence(reasons: tuple[Reason, ...]) -> str:
    """Join the sentences of several simultaneous reasons, "" for none."""
    return "; ".join(map(str, reasons))


def as_data(reason: Reason) -> dict[str, Any]:
    """Convert a reason to a JSON object: its code, and each value by name."""
    return {"code": str(reason.code)} | {
        name: as_data(value) if isinstance(value, Reason) else value
        for name, value in reason.values
    }


def from_data(data: Mapping[str, Any]) -> Reason | None:
    """Parse the JSON object of a reason; `None` if another version wrote it."""
    values = {name: value for name, value in data.items() if name != "code"}
    inner = {name: from_data(value) for name, value in values.items() if isinstance(value, Mapping)}
    try:
        code = ReasonCode(data["code"])
        signature(SENTENCES[code]).bind(**values)
    except (KeyError, TypeError, ValueError):
        return None
    return None if None in inner.values() else Reason.of(code, **(values | inner))


def _archive_lost(first: int, last: int, why: Value) -> str:
    is_pruned = isinstance(why, Reason) and why.code is ReasonCode.ARCHIVE_PRUNED
    skip = "set `restore.lost: skip` to go on behind them"
    advice = (
        f"{skip}, or restore what is left under another `restore.name` and `restore.topics.rename`"
        if is_pruned
        else f"put the object back, or {skip}"
    )
    return f"offsets {first} to {last} cannot be restored: {why}; {advice}"


SENTENCES: Mapping[ReasonCode, Callable[..., str]] = MappingProxyType(
    {
        ReasonCode.ASKED_FOR: lambda: "asked for by `records.offsets: mapped`",
        ReasonCode.TARGET_NOT_EMPTY: lambda end: (
            f"the target partition ended at offset {end} already"
        ),
        ReasonCode.MIRRORED_BEFORE: lambda tool, source_end, end: (
            f"{tool} mirrored it up to source offset {source_end - 1}, and the target partition"
            f" ended at offset {end} then"
        ),
        ReasonCode.COMPACTED_FRONT: lambda start: (
            f"a compacted topic cannot be made to begin at offset {start}"
        ),
        ReasonCode.FRONT_TOO_LONG: lambda start: (
            f"the source begins at offset {start}, too far to fill"
        ),
        ReasonCode.HOLES: lambda first, last, fill=0: holes(
            f"the source has no records at offsets {first} to {last} (compaction)", fill
        ),
        ReasonCode.HOLES_IN_BATCH: lambda offset, fill=0: holes(
            f"the source batch at offset {offset} has lost records (compaction)", fill
        ),
        ReasonCode.OFFSET_TAKEN: lambda found, expected: (
            f"the record lies at target offset {found}, not at its own {expected}: another writer"
            " was there first"
        ),
        ReasonCode.RECORDS_MISSING: lambda first, last, why: (
            f"offsets {first} to {last} are missing: {why}" if last >= first else str(why)
        ),
        ReasonCode.IDS_REFUSED: lambda error: (
            f"the target refuses producer ids that it did not give out ({error}), so records are"
            " written in transactions"
        ),
        ReasonCode.RECORDS_DROPPED: lambda rules: f"rules drop records ({rules})",
        ReasonCode.TWO_WAYS: lambda: (
            "both sides are written (`topics.twin`), so each side has records that the other one"
            " has elsewhere"
        ),
        ReasonCode.TWIN_UNKNOWN: lambda offset, producer: (
            f"source: the batch at offset {offset} has producer id {producer}, which links alone"
            " use, and no ledger on the source says of which link: it may be the target's own"
            " records, so nothing is copied from there on; bring the source's ledger back, or"
            " update Towpath where the older one writes"
        ),
        ReasonCode.TWIN_IDS_REFUSED: lambda partition, why: (
            f"target: {partition}: {why}; in transactions, the twin of this link could not tell"
            " these records from those of clients, so nothing is copied"
        ),
        ReasonCode.RETENTION: lambda: (
            "retention at the source removed them before they were copied"
        ),
        ReasonCode.RECORDS_DELETED: lambda proof, readers, group="", committed=-1: (
            "DeleteRecords removed them at the source before they were copied"
            f" ({NO_RETENTION.get(proof, proof)}), and {unread(readers, group, committed)}"
        ),
        ReasonCode.READ_AND_DELETED: lambda proof, groups: (
            f"all groups that read the partition ({groups}) had read them before DeleteRecords"
            f" removed them at the source ({NO_RETENTION.get(proof, proof)})"
        ),
        ReasonCode.SOURCE_CUT: lambda end: (
            f"the source log was cut to offset {end} (unclean leader election); what was copied"
            " beyond it is on the target only"
        ),
        ReasonCode.SOURCE_TOPIC_DELETED: lambda: "the topic is no more at the source",
        ReasonCode.SOURCE_TOPIC_RECREATED: lambda: (
            "the topic was deleted and created again at the source"
        ),
        ReasonCode.ARCHIVED_BEYOND: lambda end, archived: (
            f"the source log, which ends at offset {end}, does not have all that is archived up to"
            f" offset {archived}: where it differs is looked for, and what follows there is"
            " archived as another history"
        ),
        ReasonCode.RETENTION_TIGHTER: tighter,
        ReasonCode.COMPACTION_TIGHTER: compacts,
        ReasonCode.SEGMENTS_FINER: lambda key, theirs, ours: (
            f"{key} would be {theirs} on the target and is {ours} at the source, so old records"
            " would lie in older segments there"
        ),
        ReasonCode.LOG_LARGER: lambda partition, theirs, ours: (
            f"partition {partition} takes {theirs} bytes on the target and {ours} at the source, so"
            " retention.bytes would reach records there that it does not reach at the source"
        ),
        ReasonCode.CLOCK_AHEAD: lambda seconds: (
            f"the target's clock is {seconds} s ahead of the source's, so retention.ms would end"
            " earlier there"
        ),
        ReasonCode.DELETION_UNKNOWN: lambda what, detail="": (
            "it is not known what the target would delete:"
            f" {UNKNOWN_DELETIONS.get(what, what).format(detail)}"
        ),
        ReasonCode.GAP: lambda first, last, why: (
            (f"offsets {first} to {last} were not copied: " if last >= first else "")
            + f"{why}; set `records.on_gap: record` to go on behind them"
        ),
        ReasonCode.NOT_IDENTICAL: lambda why: (
            f"offsets cannot stay identical: {why}; set `records.offsets: auto` to have this"
            " partition mapped"
        ),
        ReasonCode.BATCH_DAMAGED: lambda partition, offset, why: (
            f"source: the record batch at offset {offset} of {partition} is damaged ({why}); look"
            " into the disks of the brokers, and make a replica that has it whole the leader"
        ),
        ReasonCode.RECORD_TOO_LARGE: lambda partition, offset, size, target, config="": (
            f"target: the record at offset {offset} of {partition} has {size} bytes, more than the"
            f" target takes; raise {config or 'max.message.bytes'} of {target} there"
        ),
        ReasonCode.RECORD_BAD: lambda offset, bad: (
            f"the record at offset {offset} cannot be changed: {BAD_RECORDS.get(bad, bad)};"
            " let such records pass or go to the quarantine (`changes` in the file), and mend what"
            " writes them"
        ),
        ReasonCode.SCHEMA_UNKNOWN: lambda ids: (
            f"it waits until the schemas of its next records (ids {ids}) are on the target"
        ),
        ReasonCode.QUARANTINE_BUSY: lambda offset: (
            f"it waits until the record at offset {offset} is in the quarantine topic"
        ),
        ReasonCode.RECORD_REFUSED: lambda partition, offset, target, error, why: (
            f"target: topic {target} refuses the record at offset {offset} of {partition}:"
            f" {error}{f' ({why})' if why else ''}"
        ),
        ReasonCode.NOT_SET_ASIDE: lambda offset, why: (
            f"it failed to set aside the record at offset {offset}, which cannot be delivered:"
            f" {why}"
        ),
        ReasonCode.TARGET_LOST: target_lost,
        ReasonCode.TARGET_DELETED: target_deleted,
        ReasonCode.TARGET_REPLACED: lambda topic: (
            f"target: topic {topic} was deleted and created again while it was written;"
            " the next round or run copies it again"
        ),
        ReasonCode.DOUBLED: doubled,
        ReasonCode.CLUSTER_REFUSED: refused,
        ReasonCode.CLUSTER_UNREACHABLE: unreachable,
        ReasonCode.CLUSTER_THROTTLED: unreachable,
        ReasonCode.CLUSTER_SECURITY: unreachable,
        ReasonCode.CLUSTER_UNRESOLVED: unreachable,
        ReasonCode.CLUSTER_REPLACED: lambda side, before, now: (
            f"{side}: its addresses led to cluster {before}, and lead to cluster {now} now; nothing"
            " is read from it or written to it. Correct where they lead (DNS, a virtual IP, a"
            f" proxy) or `{side}.bootstrap`, and run again; for the other cluster, take another"
            " `link` name"
        ),
        ReasonCode.ARCHIVE_LATE: lambda why, look, looks: (
            f"it waits for a part of the archive (look {look} of {looks}): {why}"
        ),
        ReasonCode.ARCHIVE_LOST: _archive_lost,
        ReasonCode.ARCHIVE_MISSING: lambda key: (
            f"the commit log of the archive names object {key}, and the store does not have it"
        ),
        ReasonCode.ARCHIVE_DAMAGED: lambda key, why: (
            f"object {key} of the archive is damaged: {why}"
        ),
        ReasonCode.ARCHIVE_UNCOVERED: lambda: (
            "the archive no longer has them, by its commit log: was it pruned?"
        ),
        ReasonCode.ARCHIVE_PRUNED: lambda: (
            "they were pruned from the archive before this restore had them"
        ),
        ReasonCode.ARCHIVE_SILENT: lambda region, since: (
            f"nothing was added to the archive of region {region} since {since}, not even a sign"
            " of life: nobody archives there, or nobody copies it here; ask `towpath archive"
            " status` there"
        ),
        ReasonCode.ARCHIVE_OVERTAKEN: lambda version: (
            f"entry {version} of the commit log is missing, and later ones are there: it is still"
            " on its way, or was deleted; copy it again from the region that archives"
        ),
        ReasonCode.ARCHIVE_WITHOUT_TOPIC: lambda: (
            "it holds nothing of this topic of this cluster; is it archived, and was it before it"
            " was deleted and created again?"
        ),
        ReasonCode.ARCHIVE_BEGINS: lambda begin: f"it begins at offset {begin}",
        ReasonCode.ARCHIVE_ENDS: lambda end: f"it ends at offset {end} so far",
        ReasonCode.ARCHIVE_GAP: lambda kind: f"the archive holds no record there ({kind})",
        ReasonCode.NOT_IN_ARCHIVE: lambda why: (
            "the archive does not give what retention at the source removed before it was copied:"
            f" {why}"
        ),
        ReasonCode.GROUP_HAS_MEMBERS: lambda group, state, why="": (
            f"group {group} has members on the target"
            + (f" ({state})" if state else "")
            + ", and nothing is written under them"
            + (f"; it is not known whether a closed application holds it ({why})" if why else "")
        ),
        ReasonCode.GROUP_NOT_EMPTY: lambda state: (
            f"the group is {state} at the source, and `groups.states: empty` asks for groups"
            " without members"
        ),
        ReasonCode.GROUP_AHEAD: lambda known, offset: (
            f"the target stands at offset {known} already, behind {offset}; nothing is written"
            " backwards"
        ),
        ReasonCode.GROUP_NAME_TAKEN: lambda name, owner: (
            f"the name {name} on the target belongs to {owner}; change `groups.rename`, or leave"
            " one of them out"
        ),
        ReasonCode.GROUP_MOVED: lambda offset, found: (
            f"offset {offset} was written, but the target then stood at {found}: another client"
            " commits for this group"
        ),
        ReasonCode.GROUP_ANSWER_LOST: lambda offset, why: (
            f"offset {offset} may have been written, as the answer was lost: {why}"
        ),
        ReasonCode.GROUP_HELD: lambda group: (
            f"members of a Kafka Streams application hold group {group} on the target; one that was"
            " closed stays a member until its session timeout is over (45 s, if the application"
            " sets no other), and nothing is written until then"
        ),
        ReasonCode.GROUP_KIND_OFF: kind_off,
        ReasonCode.GROUP_ARRIVES_CLASSIC: lambda kind, why: (
            f"it is a {kind} group at the source and a classic one on the target ({why}); clients"
            " that are started there go on, those that run while they are moved end with"
            " GroupIdNotFoundException"
        ),
        ReasonCode.STREAMS_TOPOLOGY: lambda: (
            "brokers bind a Streams group to the topology of its application, which only the"
            " application can tell them"
        ),
        ReasonCode.STREAMS_BARRED: lambda: (
            "the target's brokers let no application of the Streams protocol into a group that has"
            " offsets (Kafka 4.2 and newer do, where the feature streams.version is on): run it"
            " there with `group.protocol=classic`, or upgrade the target"
        ),
        ReasonCode.STREAMS_TOPICS_LEFT_OUT: lambda topics: (
            f"the file leaves out {topics}, which Kafka Streams has made for the application of"
            " this name: on the target, its state is restored from nothing where the changelog is"
            " missing, and what waits in a repartition topic is never processed; add them to"
            " `topics.include`"
        ),
        ReasonCode.GROUP_GONE_AT_SOURCE: lambda mirror, places: (
            "the source no longer has this group, as it was deleted or has expired there; group"
            f" {mirror} stays on the target with its offsets ({places}), where clients of that name"
            " would go on: delete it there if that is not meant"
        ),
        ReasonCode.GROUP_MAY_EXPIRE: lambda group, retention: (
            f"group {group} had members on the target once, so all its offsets expire together"
            f"{after(retention)} after the last member left, whenever they were committed, and no"
            " broker tells when that was"
        ),
        ReasonCode.GROUP_NOT_RENEWED: lambda group, why: (
            f"the offsets of group {group} expire together, as it had members on the target once,"
            f" and it could not be made anew: {why}"
        ),
        ReasonCode.OTHER_OFFSETS: lambda partition: (
            f"it has an offset in {partition} there, which this sync does not write"
        ),
        ReasonCode.GROUP_OVERDUE: lambda group, retention: (
            f"what group {group} has on the target was committed longer ago than offsets are kept"
            f" there{retention_text(retention)}, so it is gone or goes at any moment;"
            " `towpath groups sync` commits it anew"
        ),
        ReasonCode.GROUP_TRANSACTION_OPEN: lambda group, places: (
            f"a transaction of group {group} is open at the source, which commits other offsets"
            f" ({places}); a cutover moves the group when its producer has committed or aborted it"
        ),
        ReasonCode.POSITION_GONE: lambda offset: (
            f"offset {offset} was written to the target, and is gone there: it expired"
            " (`offsets.retention.minutes`), or somebody deleted it"
        ),
        ReasonCode.GROUP_UNREAD: lambda what: (
            f"{what}; it goes on at the end of the mirror topic once it has read everything"
        ),
        ReasonCode.GROUP_STANDS: lambda group, place, known: (
            f"group {group} stands at offset {known} of {place} already, and nothing is written"
            " over that; if its clients shall go on at the end, delete the group on the target"
        ),
        ReasonCode.GROUP_GOES_ON: lambda known: (
            f"it goes on on the target since the cutover before, at offset {known}"
        ),
        ReasonCode.GROUP_AMONG_OTHERS: lambda topic, whose: (
            f"{topic} also has records {whose}, which the group may not have read, so no place"
            " there is exact"
        ),
        ReasonCode.POSITION_AHEAD: lambda offset, end: (
            f"the group stands at offset {offset}, and records are mirrored up to offset {end} so"
            " far; it is written as soon as they are there"
        ),
        ReasonCode.TOPIC_OVER: topic_over,
        ReasonCode.POSITION_BEFORE_MIRROR: lambda offset, target, why="": (
            f"the group stands at offset {offset}, before this link began"
            f"{f' ({why})' if why else ''}, and no link is known to have copied what stands there;"
            f" its place among the target's records before offset {target} is not known (if"
            " MirrorMaker 2 wrote these, `towpath checkpoints apply --from-mm2` asks it)"
        ),
        ReasonCode.POSITION_NOT_THERE: lambda offset, end: (
            f"the target log ends at offset {end}, before offset {offset}, although more was"
            " acknowledged; `towpath status` says whether records were lost"
        ),
        ReasonCode.TOPIC_NOT_MIRRORED: lambda: "the file does not ask for this topic",
        ReasonCode.NOT_MIRRORED_YET: lambda: "nothing of this partition is mirrored so far",
        ReasonCode.NO_MIRROR_TOPIC: lambda topic, alias: (
            f"by its name, {topic} is no mirror topic of {alias}; name --policy identity if"
            " MirrorMaker 2 keeps names, or its --separator"
        ),
        ReasonCode.MIRROR_PARTITION_GONE: lambda partition: (
            f"the target does not have {partition} now, or does not show it to this login"
        ),
        ReasonCode.GROUP_NOT_SEEN: lambda group: (
            f"it is not known where group {group} stands on the target, and nothing is written"
            " without a known offset; grant Describe on the group, or try again"
        ),
        ReasonCode.OTHER_RECORDS: other_records,
        ReasonCode.SCHEMA_ID_REFUSED: lambda ids, why: (
            f"no id on the target is known for {ids}, so its records are not copied: {why}"
        ),
        ReasonCode.SCHEMA_ID_ABSENT: lambda: (
            "the registry of the source has no schema with this id; register it there, or say with"
            " `changes.ids` that these bytes are no ids"
        ),
        ReasonCode.SCHEMA_ID_ELSEWHERE: lambda subject, strategy: (
            f"the id is that of a schema of {subject}, which records of this topic cannot name by"
            f" the strategy {strategy}; set the strategy of the topic under `changes.ids`, if they"
            " do"
        ),
        ReasonCode.SCHEMA_ID_LEFT_OUT: lambda subject: (
            f"the file leaves {subject} out, to which the schema belongs; look at"
            " `schemas.include` and `schemas.exclude`"
        ),
        ReasonCode.SCHEMA_ID_NOT_REGISTERED: lambda subject, why: advised(
            f"the schema is not registered on the target, as a schema of {subject}", why
        ),
        ReasonCode.SCHEMA_ID_NOT_GIVEN: lambda: (
            "the file gives no other id for it; add it to `changes.ids.glue`, and start the run"
            " again"
        ),
        ReasonCode.SCHEMA_IDS_TOO_MANY: lambda part, count: (
            f"{count} different ids of no schema stand in its {part}s, so these are other bytes;"
            f" leave {part}s alone with `{part}: none` under `changes.ids`"
        ),
        ReasonCode.SCHEMAS_UNSEEN: lambda why: f"the registries cannot be compared: {why}",
        ReasonCode.SCHEMA_ID_UNANSWERED: lambda: (
            "the run of the link did not answer in time; look at its log, and whether it runs"
        ),
        **PROMOTION,
        ReasonCode.ERROR: lambda error, text: text,  # noqa: ARG005  # kept for programs
        ReasonCode.TOLD: lambda text: text,
    }
)
"""What makes the sentence of each code; its parameters are the values of the reason."""
