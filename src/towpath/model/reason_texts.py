"""Parts of sentences about reasons; `reasons.py` assembles them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from towpath.model.amounts import span

LOST = (
    "(a lost disk, an unclean leader election, a power cut, a restored snapshot?); stop the run,"
    " then `towpath repair` says whether it can copy them again, and what to do if it cannot"
)
"""Why a target may have lost records, and what to do. Repair is not possible in each case."""


LEDGER_BACK = (
    "Bring it back; or let `towpath repair FILE --ledger` find in the target's logs where these"
    " partitions stand; or delete the mirror topics to have everything copied again"
)
"""What to do where the ledger lacks what it said about mirror topics."""


def holes(text: str, fill: int) -> str:
    """Return why holes are not filled, with the file's limit if there is one."""
    return f"{text}, and `records.fill` lets {fill} offsets be filled in all" if fill else text


def target_lost(partition: str, acknowledged: int, found: int, unit: str) -> str:
    """Return a sentence about acknowledged records that a target partition has lost."""
    rest = f"ends at {unit} {found - 1}" if found > 0 else f"has no {unit} at all"
    return (
        f"target: {partition} lost records that it had acknowledged: {unit}"
        f" {acknowledged - 1} was acknowledged, and the log {rest} {LOST}"
    )


def target_deleted(first: int, last: int, records: int, exact: int, due: int, by: str) -> str:
    """Return a sentence about records that the target deleted and the source still has."""
    number = f"{'' if exact else 'at most '}{records:,} record{'' if records == 1 else 's'}"
    past = f"; {due:,} of them are past the source's own retention" if due else ""
    cause = {
        "unknown": "it is not known by what",
        # What no config of now deletes was deleted by request, or under a config of before.
        "DeleteRecords": "by DeleteRecords, or by a retention that has been changed since",
    }.get(by, f"by {by}")
    among = "among " if records < last + 1 - first else ""
    return (
        f"the target deleted {number} that the source still has ({cause}): {among}source offsets"
        f" {first} to {last}{past}"
    )


def tighter(key: str, theirs: str, ours: str, policy: str = "", by: str = "") -> str:
    """Return a sentence about a limit that would be tighter on the target, and the cause."""
    effect = f"has no effect at the source (cleanup.policy is {policy})"
    here = effect if policy else f"is {ours} at the source"
    return f"{key} would be {theirs} on the target and {here}: {cause(key, by)}"


def topic_over(offset: int, state: str) -> str:
    """Return a sentence about a group in a topic that a link copies no more."""
    words = {
        "sealed": "its failover is under way",
        "failed_over": "it has failed over",
        "reversed": "it has failed over, and another link copies back",
        "stopped": "somebody stopped it by hand",
        "removed": "the books of the link were removed",
    }
    return (
        f"the group stands at offset {offset} at the source, and nothing more of the topic is"
        f" mirrored, as {words.get(state, state)}; no sync writes its positions"
    )


def cause(key: str, by: str) -> str:
    """Return the cause why the target keeps less, from the value `by` of a reason."""
    name = by.removeprefix("override.")
    return {
        "": "the target does not take the source's value",
        "planned": "the plan says so",
        "brokers": "the configs of the brokers differ",
        "left out": f"`topics.configs` does not copy {key}",
        "not yet": "it gets the source's cleanup.policy once it has caught up",
    }.get(by, f"`topics.configs.override` sets {name}")


def compacts(key: str, theirs: str, ours: str, by: str = "") -> str:
    """Return a sentence about a config that would let the target compact more."""
    if key != "cleanup.policy":
        return tighter(key, theirs or "unknown", ours, by=by)
    return (
        f"the target would compact the topic ({key}={theirs}) and the source does not ({ours}):"
        f" {cause(key, by)}"
    )


UNKNOWN_DELETIONS: Mapping[str, str] = MappingProxyType(
    {
        "config": "the target does not tell its default for {}",
        "source": "the source does not tell its {}",
        "times": "records of partition {} have no timestamps, so retention counts by the times of"
        " files, which brokers do not tell",
        "future": "partition {} has records with future times, and tiered storage of Kafka 4.5"
        " counts these by the times of files, which brokers do not tell",
        "older": "{} offsets of the mirror topic have times that retention.ms does not reach back"
        " to, and the source has none such: the query writes older times than it reads",
        "compression": "compression.type is {} on the target, so records may take more bytes there"
        " for retention.bytes to count",
        "changes": "records are changed on their way, so they may take more bytes there for"
        " retention.bytes to count",
        "transform": "records go through a query, and to partitions of their own, so"
        " retention.bytes may reach others there",
        "cleaned": "both cleaners compact the log at times of their own, so retention.bytes does"
        " not reach the same records",
        "tiered": "brokers with tiered storage do not tell all bytes that retention.bytes counts",
        "sizes": "a cluster does not tell the bytes that retention.bytes counts; grant Describe on"
        " the cluster",
        "untold": "{}",
    }
)
"""What keeps Towpath from foretelling what a target deletes, by the value `what` of the reason."""


def doubled(partition: str, first: int, end: int, records: int) -> str:
    """Return a sentence about records that the target holds twice, with the only remedy."""
    return (
        f"target: {partition} holds {records} records twice: the second copy lies at"
        f" offsets {first} to {end - 1}; a copier that had been frozen or cut off"
        " wrote it after the target had forgotten the producer id; nothing more is copied to"
        " this partition; delete the topic on the target to have all of it copied again"
    )


NO_RETENTION: Mapping[str, str] = MappingProxyType(
    {
        "POLICY": "the topic's cleanup.policy deletes nothing by itself",
        "UNLIMITED": "retention.ms=-1 and retention.bytes=-1 exclude retention",
        "YOUNG": "they are younger than the retention.ms of the topic",
    }
)
"""Why retention did not delete the records, by the code of the proof."""


def unread(readers: str, group: str, committed: int) -> str:
    """Return a text about how far consumer groups have read, for the code `readers`."""
    told = {
        "NONE": "no group has committed an offset in the partition",
        "BEHIND": f"{group} has committed offset {committed} only",
        "UNCOMMITTED": f"{group} reads the topic and has committed no offset in the partition",
        "UNKNOWN": f"it is not known what {group} reads",
    }
    hidden = (
        "not all groups that read it can be seen (the login needs the ACL Describe on the cluster,"
        " and on groups, at the source)"
    )
    return told.get(readers, hidden)


def refused(side: str, what: str, error: int, name: str, advice: str = "") -> str:
    """Return a sentence about a cluster's refusal, with the error's name and number."""
    return advised(f"{side}: {what}: {name} ({error})", advice)


def unreachable(side: str, what: str, why: str, advice: str = "") -> str:
    """Return a sentence about a request that a cluster did not answer."""
    return advised(f"{side}: {what}: {why}", advice)


def advised(text: str, advice: str) -> str:
    """Append advice to a text, if there is any."""
    return f"{text}; {advice}" if advice else text


def kind_off(kind: int | str, since: int | str, feature: int | str) -> str:
    """Return why the target does not support offsets of a kind of group."""
    if not feature:
        return (
            f"the target's brokers take no positions of {kind} groups; those of Kafka {since} and"
            " newer do"
        )
    return (
        f"{kind} groups are off on the target: the feature {feature} is at level 0;"
        f" `kafka-features.sh upgrade --feature {feature}=1` turns them on"
    )


def after(retention: int | str) -> str:
    """Return the retention time of offsets with a leading space; "" if unknown (-1 ms)."""
    return f" {span(int(str(retention)) / 1000)}" if int(str(retention)) >= 0 else ""


def retention_text(retention: int | str) -> str:
    """Return the retention time of offsets in brackets; "" if unknown (-1 ms)."""
    return f" ({span(int(str(retention)) / 1000)})" if int(str(retention)) >= 0 else ""


def other_records(records: int, first: int, last: int, sure: int) -> str:
    """Return a sentence about other writers' records that a group would skip."""
    whose = "others wrote" if sure else "others wrote, or MirrorMaker 2 wrote twice after a crash,"
    return (
        f"the group would skip {records} records that {whose} at offsets {first} to {last} of the"
        " mirror topic; name --over-others if they need not be read"
    )


BAD_RECORDS: Mapping[str, str] = MappingProxyType(
    {
        "ID_CUT": "it ends inside its schema id",
        "ID_ZERO": "its schema id is 0 or negative",
        "ID_NONE": "no schema that this topic may use has its schema id",
        "HEADER_MALFORMED": "the header that should name its schema holds something else",
        "GLUE_MALFORMED": "its Glue header names a compression that Glue does not have",
        "GLUE_DAMAGED": "the compressed payload behind its Glue header is damaged or too large",
        "ID_UNFIT": "its new schema id does not fit where the old one stands",
    }
)
"""What is wrong with records that cannot be changed, by `model.changes.BadRecord`."""
