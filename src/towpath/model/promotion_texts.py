"""Sentences of reasons why topics are not promoted. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from towpath.model.amounts import counted
from towpath.model.reason_codes import ReasonCode

PROMOTION: Mapping[ReasonCode, Callable[..., str]] = MappingProxyType(
    {
        ReasonCode.PROMOTE_LOGIN: lambda side, why="the gateway cannot do it for them": (
            f"{side}: clients could not log in as they do now: {why}"
        ),
        ReasonCode.PROMOTE_CERTIFICATE: lambda side: (
            f"the {side} asks for certificates of clients (`{side}.tls.cert`), and the gateway has"
            " none of theirs"
        ),
        ReasonCode.PROMOTE_NO_GATEWAY: lambda throttled=0: (
            "no gateway of the link took the request; start `towpath gateway FILE`, and look at its"
            " log if it runs"
            + (
                f". The target throttled this command for {throttled} s, and may throttle the"
                " gateway likewise: raise the quotas of our user and client id there"
                " (consumer_byte_rate, producer_byte_rate, request_percentage)"
                if throttled
                else ""
            )
        ),
        ReasonCode.PROMOTE_GATEWAYS: lambda host, pid, name, why="": (
            (
                f"a gateway of the link takes no part ({why}) and"
                if why
                else "another gateway of the link"
            )
            + f" may serve clients, which would go on at the source: on {host}, pid {pid}, named"
            f" {name}; stop it"
        ),
        ReasonCode.PROMOTE_NO_RUN: lambda link="": (
            f"no run of {f'link {link}' if link else 'the link'} lives that copies the last"
            " records; start `towpath run` with its file"
        ),
        ReasonCode.PROMOTE_RUN: lambda what, why: (
            f"the run that this command started to copy the last records {what}: {why}"
        ),
        ReasonCode.PROMOTE_NOTHING: lambda promoted="": (
            f"there is no topic to promote; promoted already: {promoted}"
            if promoted
            else "there is no topic to promote: the link copies none yet; `towpath status FILE`"
            " tells how far it is"
        ),
        ReasonCode.REVERT_NOTHING: lambda topic="": (
            f"topic {topic} was never promoted, so it cannot go back; `towpath link show FILE`"
            " names those that are promoted"
            if topic
            else "there is no topic to take back: of those that the link back copies, none is"
            " promoted"
        ),
        ReasonCode.REVERT_NO_LINK: lambda: (
            "no link copies back what clients write on the target: give `towpath failback FILE`,"
            " then `towpath run` with the file that it writes"
        ),
        ReasonCode.REVERT_LEFT: lambda: (
            "clients have left the gateway for the target (`gateway.after: leave`), and would go on"
            " there: go back with `towpath cutover` of the link back, and point clients at the"
            " source"
        ),
        ReasonCode.PROMOTE_ABSENT: lambda topic, side: (
            f"topic {topic} is not there on the {side}, or the login may not see it; if it was"
            " deleted, leave it out: name the others with `--topics`"
        ),
        ReasonCode.PROMOTE_NOT_COPIED: lambda about, why: f"{about} {why}",
        ReasonCode.PROMOTE_NOT_SAME: lambda about, what: (
            f"{about} has {what}, so clients could not go on there where they are"
        ),
        ReasonCode.PROMOTE_TRANSACTIONS: lambda who, where: (
            f"a transactional producer cannot move: {who} {where}"
        ),
        ReasonCode.PROMOTE_PRODUCERS: lambda count, most: (
            f"{counted(count, 'producer')} are too many for one promotion, of which {most} is the"
            " most; name fewer topics"
        ),
        ReasonCode.PROMOTE_DIRECT: lambda partition, who="a producer": (
            f"{who} that does not use the gateway wrote to {partition} within five minutes; it"
            " would go on at the source"
        ),
        ReasonCode.PROMOTE_GROUP_KIND: lambda group, kind, why="": (
            f"{group} reads the topics, and groups of kind {kind} are not moved"
            + (f" here: {why}" if why else " yet")
        ),
        ReasonCode.PROMOTE_STREAMS_TOPICS: lambda group, topics: (
            f"{group} is a Kafka Streams application that keeps its state, or what waits between"
            f" its steps, in {topics}, which would not move with it: let the link copy them"
            " (`topics.include`), and promote them together"
        ),
        ReasonCode.PROMOTE_TOGETHER: lambda group, topic, does="reads": (
            f"{group} also {does} topic {topic}; both must move together"
        ),
        ReasonCode.PROMOTE_TOGETHER_GROUP: lambda who, group: (
            f"{who} also commits offsets of group {group}; promote the topics that it reads, too"
        ),
        ReasonCode.PROMOTE_GROUP: lambda group, why: (
            f"group {group} cannot be promoted without its topics: {why}"
        ),
        ReasonCode.PROMOTE_GROUP_MEMBERS: lambda group, count, member: (
            f"{counted(count, 'member')} of group {group} read at the source, such as {member};"
            " restart them with the address of the gateway, or stop them"
        ),
        ReasonCode.REVERT_READS: lambda topic: (
            "clients of this gateway read from the target (`gateway.reads`), so all topics go back"
            f" together, and topic {topic} would not: promote what is left, let the link back copy"
            " all topics, and leave `--topics` out"
        ),
        ReasonCode.PROMOTE_ENDED: lambda: (
            "the gateway that worked on it was stopped, killed or replaced; ask again"
        ),
        ReasonCode.PROMOTE_LISTEN: lambda text: (
            f"clients could not reach the brokers of the target: {text}"
        ),
        ReasonCode.PROMOTE_BEHIND: lambda partition, records: (
            f"the target lacks {counted(records, 'record')} of {partition}, too many to hold"
            " producers for"
        ),
        ReasonCode.PROMOTE_MEMBERS_DIRECT: lambda group, count, member: (
            f"{counted(count, 'member')} of group {group} did not come through this gateway, such"
            f" as {member}; they would go on at the source"
        ),
        ReasonCode.PROMOTE_MEMBERS_LATE: lambda group, count, member: (
            f"{counted(count, 'member')} of group {group} did not give back what they read in time,"
            f" such as {member}"
        ),
        ReasonCode.PROMOTE_MEMBERS_THERE: lambda group, count, member: (
            f"group {group} has {counted(count, 'member')} on the cluster where it shall go on,"
            f" such as {member}, of which this gateway never heard; stop it"
        ),
        ReasonCode.PROMOTE_LATE: lambda hold, what: (
            f"`gateway.hold` was over, {hold}, before {what}"
        ),
        ReasonCode.PROMOTE_WRITTEN: lambda partition: (
            f"{partition} grew at the source while producers were held: somebody writes to it who"
            " does not use the gateway"
        ),
        ReasonCode.PROMOTE_AHEAD: lambda partition, records: (
            f"the target has {counted(records, 'record')} of {partition} more than the source:"
            " somebody else writes there"
        ),
        ReasonCode.PROMOTE_GROUP_BEHIND: lambda group, partition, records: (
            f"group {group} has read {counted(records, 'record')} of {partition} at the source that"
            " the target lacks"
        ),
        ReasonCode.PROMOTE_OFFSETS: lambda group: (
            f"the target has other offsets of {group} than were written: somebody else writes them"
        ),
        ReasonCode.PROMOTE_STRAY: lambda partition, records, side="source", until="": (
            f"{counted(records, 'record')} of {partition} came to the {side} after it had moved,"
            " by a client that does not use the gateway; they are not copied, and the"
            f" {side} keeps them {until or 'as long as its configs say'}: "
            + ("a run of the link keeps them aside, or " if side == "source" else "")
            + "`towpath salvage keep FILE`, with the file of the link that copied from there"
        ),
        ReasonCode.PROMOTE_GROUP_STRAY: lambda group, count, member: (
            f"{counted(count, 'member')} of group {group} joined at the source after it had moved,"
            f" such as {member}; they read there what the group reads on the target"
        ),
        ReasonCode.PROMOTE_OTHER_LINK: lambda topic, link, client: (
            f"client {client} writes to topic {topic}, which link {link} has promoted, and the file"
            f" of this gateway does not have; it waits: lead it to a gateway of link {link}"
        ),
        ReasonCode.PROMOTE_OPEN: lambda text: f"the link may still write promoted topics: {text}",
        ReasonCode.PROMOTE_CONFIGS: lambda topic, configs, why: (
            f"topic {topic} has moved without configs of its source, as {why}; set {configs} on it"
        ),
    }
)
"""What makes the sentence of each code; its parameters are the values of the reason."""
