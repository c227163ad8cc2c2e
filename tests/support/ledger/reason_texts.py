"""A reason of each kind, and its sentence."""

from __future__ import annotations

from tests.support.ledger.promotion_reasons import PROMOTIONS
from towpath.cluster.connect.connection import UnresolvedError
from towpath.cluster.connect.login import SecurityError
from towpath.cluster.connect.throttling import throttled
from towpath.model import errors
from towpath.model.reasons import Reason, ReasonCode

RETENTION = Reason.of(ReasonCode.RETENTION)
PRUNED = Reason.of(ReasonCode.ARCHIVE_PRUNED)
MISSING = Reason.of(ReasonCode.ARCHIVE_MISSING, key="data/eu/orders/0/0/1.parquet")
OFF = Reason.of(ReasonCode.GROUP_KIND_OFF, kind="share", since="4.1", feature="share.version")
TEXTS = {
    Reason.of(ReasonCode.ASKED_FOR): "asked for by `records.offsets: mapped`",
    Reason.of(ReasonCode.TARGET_NOT_EMPTY, end=7): "the target partition ended at offset 7 already",
    Reason.of(ReasonCode.MIRRORED_BEFORE, tool="MirrorMaker 2", source_end=9, end=7): (
        "MirrorMaker 2 mirrored it up to source offset 8, and the target partition ended at offset"
        " 7 then"
    ),
    Reason.of(ReasonCode.COMPACTED_FRONT, start=3): (
        "a compacted topic cannot be made to begin at offset 3"
    ),
    Reason.of(ReasonCode.FRONT_TOO_LONG, start=3): "the source begins at offset 3, too far to fill",
    Reason.of(ReasonCode.HOLES, first=5, last=6): (
        "the source has no records at offsets 5 to 6 (compaction)"
    ),
    Reason.of(ReasonCode.HOLES_IN_BATCH, offset=5, fill=9): (
        "the source batch at offset 5 has lost records (compaction), and `records.fill` lets 9"
        " offsets be filled in all"
    ),
    Reason.of(ReasonCode.OFFSET_TAKEN, found=11, expected=10): (
        "the record lies at target offset 11, not at its own 10: another writer was there first"
    ),
    Reason.of(ReasonCode.RECORDS_MISSING, first=10, last=14, why=RETENTION): (
        "offsets 10 to 14 are missing: retention at the source removed them before they were copied"
    ),
    Reason.of(ReasonCode.IDS_REFUSED, error="PRODUCER_FENCED"): (
        "the target refuses producer ids that it did not give out (PRODUCER_FENCED), so records are"
        " written in transactions"
    ),
    Reason.of(ReasonCode.RECORDS_DROPPED, rules="tmp, old"): "rules drop records (tmp, old)",
    Reason.of(ReasonCode.TWO_WAYS): (
        "both sides are written (`topics.twin`), so each side has records that the other one has"
        " elsewhere"
    ),
    Reason.of(ReasonCode.TWIN_UNKNOWN, offset=7, producer=1 << 41): (
        "source: the batch at offset 7 has producer id 2199023255552, which links alone use, and no"
        " ledger on the source says of which link: it may be the target's own records, so nothing"
        " is copied from there on; bring the source's ledger back, or update Towpath where the"
        " older one writes"
    ),
    Reason.of(
        ReasonCode.TWIN_IDS_REFUSED,
        partition="orders-0",
        why=Reason.of(ReasonCode.IDS_REFUSED, error="X"),
    ): (
        "target: orders-0: the target refuses producer ids that it did not give out (X), so records"
        " are written in transactions; in transactions, the twin of this link could not tell these"
        " records from those of clients, so nothing is copied"
    ),
    RETENTION: "retention at the source removed them before they were copied",
    Reason.of(
        ReasonCode.RECORDS_DELETED,
        proof="UNLIMITED",
        readers="BEHIND",
        group="group app",
        committed=5,
    ): (
        "DeleteRecords removed them at the source before they were copied (retention.ms=-1 and"
        " retention.bytes=-1 exclude retention), and group app has committed offset 5 only"
    ),
    Reason.of(ReasonCode.READ_AND_DELETED, proof="POLICY", groups="app"): (
        "all groups that read the partition (app) had read them before DeleteRecords removed them"
        " at the source (the topic's cleanup.policy deletes nothing by itself)"
    ),
    Reason.of(ReasonCode.SOURCE_CUT, end=20): (
        "the source log was cut to offset 20 (unclean leader election); what was copied beyond it"
        " is on the target only"
    ),
    Reason.of(ReasonCode.GROUP_HELD, group="g"): (
        "members of a Kafka Streams application hold group g on the target; one that was closed"
        " stays a member until its session timeout is over (45 s, if the application sets no"
        " other), and nothing is written until then"
    ),
    Reason.of(ReasonCode.GROUP_KIND_OFF, kind="share", since="4.1", feature=""): (
        "the target's brokers take no positions of share groups; those of Kafka 4.1 and newer do"
    ),
    OFF: (
        "share groups are off on the target: the feature share.version is at level 0;"
        " `kafka-features.sh upgrade --feature share.version=1` turns them on"
    ),
    Reason.of(
        ReasonCode.GROUP_ARRIVES_CLASSIC,
        kind="streams",
        why=Reason.of(ReasonCode.STREAMS_TOPOLOGY),
    ): (
        "it is a streams group at the source and a classic one on the target (brokers bind a"
        " Streams group to the topology of its application, which only the application can tell"
        " them); clients that are started there go on, those that run while they are moved end"
        " with GroupIdNotFoundException"
    ),
    Reason.of(ReasonCode.STREAMS_TOPOLOGY): (
        "brokers bind a Streams group to the topology of its application, which only the"
        " application can tell them"
    ),
    Reason.of(ReasonCode.STREAMS_BARRED): (
        "the target's brokers let no application of the Streams protocol into a group that has"
        " offsets (Kafka 4.2 and newer do, where the feature streams.version is on): run it there"
        " with `group.protocol=classic`, or upgrade the target"
    ),
    Reason.of(ReasonCode.STREAMS_TOPICS_LEFT_OUT, topics="app-sum-changelog"): (
        "the file leaves out app-sum-changelog, which Kafka Streams has made for the application of"
        " this name: on the target, its state is restored from nothing where the changelog is"
        " missing, and what waits in a repartition topic is never processed; add them to"
        " `topics.include`"
    ),
    Reason.of(ReasonCode.GROUP_GONE_AT_SOURCE, mirror="g", places="orders-0: 5"): (
        "the source no longer has this group, as it was deleted or has expired there; group g stays"
        " on the target with its offsets (orders-0: 5), where clients of that name would go on:"
        " delete it there if that is not meant"
    ),
    Reason.of(ReasonCode.GROUP_TRANSACTION_OPEN, group="g", places="orders-0"): (
        "a transaction of group g is open at the source, which commits other offsets (orders-0); a"
        " cutover moves the group when its producer has committed or aborted it"
    ),
    Reason.of(ReasonCode.GROUP_MAY_EXPIRE, group="g", retention=604_800_000): (
        "group g had members on the target once, so all its offsets expire together 7d 0h after"
        " the last member left, whenever they were committed, and no broker tells when that was"
    ),
    Reason.of(
        ReasonCode.GROUP_NOT_RENEWED,
        group="g",
        why=Reason.of(ReasonCode.OTHER_OFFSETS, partition="t-0"),
    ): (
        "the offsets of group g expire together, as it had members on the target once, and it"
        " could not be made anew: it has an offset in t-0 there, which this sync does not write"
    ),
    Reason.of(ReasonCode.OTHER_OFFSETS, partition="t-0"): (
        "it has an offset in t-0 there, which this sync does not write"
    ),
    Reason.of(ReasonCode.GROUP_OVERDUE, group="g", retention=-1): (
        "what group g has on the target was committed longer ago than offsets are kept there, so"
        " it is gone or goes at any moment; `towpath groups sync` commits it anew"
    ),
    Reason.of(ReasonCode.POSITION_GONE, offset=7): (
        "offset 7 was written to the target, and is gone there: it expired"
        " (`offsets.retention.minutes`), or somebody deleted it"
    ),
    Reason.of(ReasonCode.SOURCE_TOPIC_DELETED): "the topic is no more at the source",
    Reason.of(ReasonCode.SOURCE_TOPIC_RECREATED): (
        "the topic was deleted and created again at the source"
    ),
    Reason.of(ReasonCode.ARCHIVED_BEYOND, end=5, archived=9): (
        "the source log, which ends at offset 5, does not have all that is archived up to offset"
        " 9: where it differs is looked for, and what follows there is archived as another history"
    ),
    Reason.of(ReasonCode.GAP, first=10, last=14, why=RETENTION): (
        "offsets 10 to 14 were not copied: retention at the source removed them before they were"
        " copied; set `records.on_gap: record` to go on behind them"
    ),
    Reason.of(ReasonCode.NOT_IDENTICAL, why=Reason.of(ReasonCode.TARGET_NOT_EMPTY, end=7)): (
        "offsets cannot stay identical: the target partition ended at offset 7 already; set"
        " `records.offsets: auto` to have this partition mapped"
    ),
    Reason.of(
        ReasonCode.BATCH_DAMAGED, partition="orders-0", offset=4, why="its checksum is wrong"
    ): (
        "source: the record batch at offset 4 of orders-0 is damaged (its checksum is wrong); look"
        " into the disks of the brokers, and make a replica that has it whole the leader"
    ),
    Reason.of(
        ReasonCode.RECORD_TOO_LARGE, partition="orders-0", offset=4, size=9, target="eu.orders"
    ): (
        "target: the record at offset 4 of orders-0 has 9 bytes, more than the target takes; raise"
        " max.message.bytes of eu.orders there"
    ),
    Reason.of(ReasonCode.RECORD_BAD, offset=4, bad="ID_ZERO"): (
        "the record at offset 4 cannot be changed: its schema id is 0 or negative; let such records"
        " pass or go to the quarantine (`changes` in the file), and mend what writes them"
    ),
    Reason.of(ReasonCode.SCHEMA_UNKNOWN, ids="7, 9"): (
        "it waits until the schemas of its next records (ids 7, 9) are on the target"
    ),
    Reason.of(ReasonCode.QUARANTINE_BUSY, offset=4): (
        "it waits until the record at offset 4 is in the quarantine topic"
    ),
    Reason.of(
        ReasonCode.RECORD_REFUSED,
        partition="orders-0",
        offset=4,
        target="eu.orders",
        error="INVALID_RECORD",
        why="no key",
    ): (
        "target: topic eu.orders refuses the record at offset 4 of orders-0: INVALID_RECORD"
        " (no key)"
    ),
    Reason.of(ReasonCode.NOT_SET_ASIDE, offset=4, why=Reason.of(ReasonCode.TOLD, text="no room")): (
        "it failed to set aside the record at offset 4, which cannot be delivered: no room"
    ),
    Reason.of(ReasonCode.CLUSTER_REPLACED, side="source", before="abc", now="xyz"): (
        "source: its addresses led to cluster abc, and lead to cluster xyz now; nothing is read"
        " from it or written to it. Correct where they lead (DNS, a virtual IP, a proxy) or"
        " `source.bootstrap`, and run again; for the other cluster, take another `link` name"
    ),
    Reason.of(ReasonCode.TARGET_LOST, partition="a-0", acknowledged=10, found=5, unit="offset"): (
        "target: a-0 lost records that it had acknowledged: offset 9 was acknowledged, and the log"
        " ends at offset 4 (a lost disk, an unclean leader election, a power cut, a restored"
        " snapshot?); stop the run, then `towpath repair` says whether it can copy them again, and"
        " what to do if it cannot"
    ),
    Reason.of(
        ReasonCode.TARGET_DELETED,
        first=0,
        last=600,
        records=601,
        exact=1,
        due=20,
        by="retention.ms or retention.bytes",
    ): (
        "the target deleted 601 records that the source still has (by retention.ms or"
        " retention.bytes): source offsets 0 to 600; 20 of them are past the source's own retention"
    ),
    Reason.of(
        ReasonCode.RETENTION_TIGHTER,
        key="retention.ms",
        theirs="10000",
        ours="-1",
        policy="compact",
        by="override.cleanup.policy",
    ): (
        "retention.ms would be 10000 on the target and has no effect at the source"
        " (cleanup.policy is compact): `topics.configs.override` sets cleanup.policy"
    ),
    Reason.of(
        ReasonCode.COMPACTION_TIGHTER,
        key="cleanup.policy",
        theirs="compact",
        ours="delete",
        by="override.cleanup.policy",
    ): (
        "the target would compact the topic (cleanup.policy=compact) and the source does not"
        " (delete): `topics.configs.override` sets cleanup.policy"
    ),
    Reason.of(ReasonCode.SEGMENTS_FINER, key="segment.ms", theirs="2000", ours="604800000"): (
        "segment.ms would be 2000 on the target and is 604800000 at the source, so old records"
        " would lie in older segments there"
    ),
    Reason.of(ReasonCode.LOG_LARGER, partition=3, theirs=200, ours=100): (
        "partition 3 takes 200 bytes on the target and 100 at the source, so retention.bytes would"
        " reach records there that it does not reach at the source"
    ),
    Reason.of(ReasonCode.CLOCK_AHEAD, seconds=120): (
        "the target's clock is 120 s ahead of the source's, so retention.ms would end earlier there"
    ),
    Reason.of(ReasonCode.DELETION_UNKNOWN, what="tiered"): (
        "it is not known what the target would delete: brokers with tiered storage do not tell all"
        " bytes that retention.bytes counts"
    ),
    Reason.of(ReasonCode.TARGET_REPLACED, topic="orders"): (
        "target: topic orders was deleted and created again while it was written; the next round or"
        " run copies it again"
    ),
    Reason.of(ReasonCode.DOUBLED, partition="a-0", first=10, end=20, records=7): (
        "target: a-0 holds 7 records twice: the second copy lies at offsets 10 to 19; a copier that"
        " had been frozen or cut off wrote it after the target had forgotten the producer id;"
        " nothing more is copied to this partition; delete the topic on the target to have all of"
        " it copied again"
    ),
    errors.RefusedError("target", "asking", 29, "TOPIC_AUTHORIZATION_FAILED", "allow it").reason: (
        "target: asking: TOPIC_AUTHORIZATION_FAILED (29); allow it"
    ),
    errors.UnreachableError("source", "asking", "no answer").reason: "source: asking: no answer",
    throttled("target", "producing to a-0", 31.4).reason: (
        "target: producing to a-0: brokers asked to wait for 31 s, as a quota of our login is used"
        " up; raise the quotas of our user and client id there (consumer_byte_rate,"
        " producer_byte_rate, request_percentage)"
    ),
    SecurityError("source", "logging in", "no keytab").reason: "source: logging in: no keytab",
    UnresolvedError("source", "asking", "no host", "add it").reason: (
        "source: asking: no host; add it"
    ),
    Reason.of(ReasonCode.GROUP_UNREAD, what="it has not read 2 records"): (
        "it has not read 2 records; it goes on at the end of the mirror topic once it has read"
        " everything"
    ),
    Reason.of(ReasonCode.GROUP_STANDS, group="g", place="orders-0", known=3): (
        "group g stands at offset 3 of orders-0 already, and nothing is written over that; if its"
        " clients shall go on at the end, delete the group on the target"
    ),
    Reason.of(ReasonCode.GROUP_GOES_ON, known=3): (
        "it goes on on the target since the cutover before, at offset 3"
    ),
    Reason.of(ReasonCode.GROUP_AMONG_OTHERS, topic="orders", whose="that clients wrote"): (
        "orders also has records that clients wrote, which the group may not have read, so no place"
        " there is exact"
    ),
    Reason.of(ReasonCode.GROUP_HAS_MEMBERS, group="g", state="Stable"): (
        "group g has members on the target (Stable), and nothing is written under them"
    ),
    Reason.of(
        ReasonCode.GROUP_HAS_MEMBERS,
        group="h",
        state="Stable",
        why=Reason.of(ReasonCode.ASKED_FOR),
    ): (
        "group h has members on the target (Stable), and nothing is written under them; it is not"
        " known whether a closed application holds it (asked for by `records.offsets: mapped`)"
    ),
    Reason.of(ReasonCode.GROUP_NOT_EMPTY, state="Stable"): (
        "the group is Stable at the source, and `groups.states: empty` asks for groups without"
        " members"
    ),
    Reason.of(ReasonCode.GROUP_AHEAD, known=9, offset=7): (
        "the target stands at offset 9 already, behind 7; nothing is written backwards"
    ),
    Reason.of(ReasonCode.GROUP_NAME_TAKEN, name="g", owner="group a"): (
        "the name g on the target belongs to group a; change `groups.rename`, or leave one of them"
        " out"
    ),
    Reason.of(ReasonCode.GROUP_MOVED, offset=7, found=9): (
        "offset 7 was written, but the target then stood at 9: another client commits for this"
        " group"
    ),
    MISSING: (
        "the commit log of the archive names object data/eu/orders/0/0/1.parquet, and the store"
        " does not have it"
    ),
    Reason.of(ReasonCode.ARCHIVE_DAMAGED, key="data/1.parquet", why="its digest is wrong"): (
        "object data/1.parquet of the archive is damaged: its digest is wrong"
    ),
    Reason.of(ReasonCode.ARCHIVE_UNCOVERED): (
        "the archive no longer has them, by its commit log: was it pruned?"
    ),
    PRUNED: "they were pruned from the archive before this restore had them",
    Reason.of(ReasonCode.ARCHIVE_LOST, first=10, last=19, why=PRUNED): (
        "offsets 10 to 19 cannot be restored: they were pruned from the archive before this restore"
        " had them; set `restore.lost: skip` to go on behind them, or restore what is left under"
        " another `restore.name` and `restore.topics.rename`"
    ),
    Reason.of(ReasonCode.ARCHIVE_SILENT, region="eu", since="2025-01-31T08:00:00Z"): (
        "nothing was added to the archive of region eu since 2025-01-31T08:00:00Z, not even a sign"
        " of life: nobody archives there, or nobody copies it here; ask `towpath archive status`"
        " there"
    ),
    Reason.of(ReasonCode.ARCHIVE_OVERTAKEN, version=7): (
        "entry 7 of the commit log is missing, and later ones are there: it is still on its way,"
        " or was deleted; copy it again from the region that archives"
    ),
    Reason.of(ReasonCode.ARCHIVE_WITHOUT_TOPIC): (
        "it holds nothing of this topic of this cluster; is it archived, and was it before it was"
        " deleted and created again?"
    ),
    Reason.of(ReasonCode.ARCHIVE_BEGINS, begin=40): "it begins at offset 40",
    Reason.of(ReasonCode.ARCHIVE_ENDS, end=40): "it ends at offset 40 so far",
    Reason.of(ReasonCode.ARCHIVE_GAP, kind="lost"): "the archive holds no record there (lost)",
    Reason.of(ReasonCode.NOT_IN_ARCHIVE, why=Reason.of(ReasonCode.ARCHIVE_ENDS, end=40)): (
        "the archive does not give what retention at the source removed before it was copied: it"
        " ends at offset 40 so far"
    ),
    Reason.of(ReasonCode.ARCHIVE_LATE, why=MISSING, look=2, looks=16): (
        "it waits for a part of the archive (look 2 of 16): the commit log of the archive names"
        " object data/eu/orders/0/0/1.parquet, and the store does not have it"
    ),
    Reason.of(ReasonCode.ARCHIVE_LOST, first=10, last=14, why=MISSING): (
        "offsets 10 to 14 cannot be restored: the commit log of the archive names object"
        " data/eu/orders/0/0/1.parquet, and the store does not have it; put the object back, or set"
        " `restore.lost: skip` to go on behind them"
    ),
    Reason.of(ReasonCode.GROUP_ANSWER_LOST, offset=7, why=RETENTION): (
        "offset 7 may have been written, as the answer was lost: retention at the source removed"
        " them before they were copied"
    ),
    Reason.of(ReasonCode.POSITION_AHEAD, offset=9, end=7): (
        "the group stands at offset 9, and records are mirrored up to offset 7 so far; it is"
        " written as soon as they are there"
    ),
    Reason.of(ReasonCode.TOPIC_OVER, offset=9, state="failed_over"): (
        "the group stands at offset 9 at the source, and nothing more of the topic is mirrored, as"
        " it has failed over; no sync writes its positions"
    ),
    Reason.of(ReasonCode.POSITION_BEFORE_MIRROR, offset=3, target=70): (
        "the group stands at offset 3, before this link began, and no link is known to have copied"
        " what stands there; its place among the target's records before offset 70 is not known (if"
        " MirrorMaker 2 wrote these, `towpath checkpoints apply --from-mm2` asks it)"
    ),
    Reason.of(ReasonCode.POSITION_BEFORE_MIRROR, offset=5, target=70, why="it began at 6"): (
        "the group stands at offset 5, before this link began (it began at 6), and no link is known"
        " to have copied what stands there; its place among the target's records before offset 70"
        " is not known (if MirrorMaker 2 wrote these, `towpath checkpoints apply --from-mm2` asks"
        " it)"
    ),
    Reason.of(ReasonCode.POSITION_NOT_THERE, offset=9, end=7): (
        "the target log ends at offset 7, before offset 9, although more was acknowledged;"
        " `towpath status` says whether records were lost"
    ),
    Reason.of(ReasonCode.TOPIC_NOT_MIRRORED): "the file does not ask for this topic",
    Reason.of(ReasonCode.NOT_MIRRORED_YET): "nothing of this partition is mirrored so far",
    Reason.of(ReasonCode.NO_MIRROR_TOPIC, topic="orders", alias="us"): (
        "by its name, orders is no mirror topic of us; name --policy identity if MirrorMaker 2"
        " keeps names, or its --separator"
    ),
    Reason.of(ReasonCode.MIRROR_PARTITION_GONE, partition="us.orders-1"): (
        "the target does not have us.orders-1 now, or does not show it to this login"
    ),
    Reason.of(ReasonCode.GROUP_NOT_SEEN, group="g"): (
        "it is not known where group g stands on the target, and nothing is written without a known"
        " offset; grant Describe on the group, or try again"
    ),
    Reason.of(ReasonCode.OTHER_RECORDS, records=3, first=5, last=9, sure=1): (
        "the group would skip 3 records that others wrote at offsets 5 to 9 of the mirror topic;"
        " name --over-others if they need not be read"
    ),
    errors.LedgerError("the ledger is of no use").reason: "the ledger is of no use",
    Reason.of(ReasonCode.TOLD, text="as it was"): "as it was",
    Reason.of(
        ReasonCode.SCHEMA_ID_REFUSED,
        ids="schema id 7 in values",
        why=Reason.of(ReasonCode.SCHEMA_ID_UNANSWERED),
    ): (
        "no id on the target is known for schema id 7 in values, so its records are not copied:"
        " the run of the link did not answer in time; look at its log, and whether it runs"
    ),
    Reason.of(ReasonCode.SCHEMA_ID_ABSENT): (
        "the registry of the source has no schema with this id; register it there, or say with"
        " `changes.ids` that these bytes are no ids"
    ),
    Reason.of(ReasonCode.SCHEMA_ID_ELSEWHERE, subject="a-value", strategy="topic"): (
        "the id is that of a schema of a-value, which records of this topic cannot name by the"
        " strategy topic; set the strategy of the topic under `changes.ids`, if they do"
    ),
    Reason.of(ReasonCode.SCHEMA_ID_LEFT_OUT, subject="a-value"): (
        "the file leaves a-value out, to which the schema belongs; look at `schemas.include` and"
        " `schemas.exclude`"
    ),
    Reason.of(ReasonCode.SCHEMA_ID_NOT_REGISTERED, subject="a-value", why="HTTP 422"): (
        "the schema is not registered on the target, as a schema of a-value; HTTP 422"
    ),
    Reason.of(ReasonCode.SCHEMA_ID_NOT_GIVEN): (
        "the file gives no other id for it; add it to `changes.ids.glue`, and start the run again"
    ),
    Reason.of(ReasonCode.SCHEMA_IDS_TOO_MANY, part="key", count=10000): (
        "10000 different ids of no schema stand in its keys, so these are other bytes; leave keys"
        " alone with `key: none` under `changes.ids`"
    ),
    Reason.of(ReasonCode.SCHEMAS_UNSEEN, why="no answer"): (
        "the registries cannot be compared: no answer"
    ),
    Reason.of(ReasonCode.SCHEMA_ID_UNANSWERED): (
        "the run of the link did not answer in time; look at its log, and whether it runs"
    ),
    **PROMOTIONS,
}
