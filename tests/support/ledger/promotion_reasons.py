"""A reason of each kind why topics are not promoted, and its sentence."""

from __future__ import annotations

from towpath.model.reasons import Reason, ReasonCode

PROMOTIONS = {
    Reason.of(ReasonCode.PROMOTE_LOGIN, side="source"): (
        "source: clients could not log in as they do now: the gateway cannot do it for them"
    ),
    Reason.of(ReasonCode.PROMOTE_LOGIN, side="target", why="it offers PLAIN"): (
        "target: clients could not log in as they do now: it offers PLAIN"
    ),
    Reason.of(ReasonCode.PROMOTE_CERTIFICATE, side="source"): (
        "the source asks for certificates of clients (`source.tls.cert`), and the gateway has"
        " none of theirs"
    ),
    Reason.of(ReasonCode.PROMOTE_NO_GATEWAY): (
        "no gateway of the link took the request; start `towpath gateway FILE`, and look at its"
        " log if it runs"
    ),
    Reason.of(ReasonCode.PROMOTE_GATEWAYS, host="gw-1", pid=7, name="3f2a9c1d5e6b7a80"): (
        "another gateway of the link may serve clients, which would go on at the source: on"
        " gw-1, pid 7, named 3f2a9c1d5e6b7a80; stop it"
    ),
    Reason.of(ReasonCode.PROMOTE_GATEWAYS, host="gw-1", pid=7, name="3f2a", why="it is late"): (
        "a gateway of the link takes no part (it is late) and may serve clients, which would go on"
        " at the source: on gw-1, pid 7, named 3f2a; stop it"
    ),
    Reason.of(ReasonCode.PROMOTE_NO_RUN, link="shop"): (
        "no run of link shop lives that copies the last records; start `towpath run` with its file"
    ),
    Reason.of(ReasonCode.PROMOTE_RUN, what="does not catch up", why="12 records are left"): (
        "the run that this command started to copy the last records does not catch up: 12 records"
        " are left"
    ),
    Reason.of(ReasonCode.PROMOTE_NOTHING): (
        "there is no topic to promote: the link copies none yet; `towpath status FILE` tells how"
        " far it is"
    ),
    Reason.of(ReasonCode.PROMOTE_NOTHING, promoted="orders, payments"): (
        "there is no topic to promote; promoted already: orders, payments"
    ),
    Reason.of(ReasonCode.REVERT_NOTHING): (
        "there is no topic to take back: of those that the link back copies, none is promoted"
    ),
    Reason.of(ReasonCode.REVERT_NOTHING, topic="odrers"): (
        "topic odrers was never promoted, so it cannot go back; `towpath link show FILE` names"
        " those that are promoted"
    ),
    Reason.of(ReasonCode.REVERT_NO_LINK): (
        "no link copies back what clients write on the target: give `towpath failback FILE`,"
        " then `towpath run` with the file that it writes"
    ),
    Reason.of(ReasonCode.REVERT_LEFT): (
        "clients have left the gateway for the target (`gateway.after: leave`), and would go on"
        " there: go back with `towpath cutover` of the link back, and point clients at the source"
    ),
    Reason.of(ReasonCode.PROMOTE_ABSENT, topic="orders", side="source"): (
        "topic orders is not there on the source, or the login may not see it; if it was deleted,"
        " leave it out: name the others with `--topics`"
    ),
    Reason.of(
        ReasonCode.PROMOTE_NOT_COPIED, about="topic orders", why="is not copied now: it is paused"
    ): ("topic orders is not copied now: it is paused"),
    Reason.of(
        ReasonCode.PROMOTE_NOT_SAME,
        about="topic orders",
        what="another number of partitions on the target",
    ): (
        "topic orders has another number of partitions on the target, so clients could not go"
        " on there where they are"
    ),
    Reason.of(ReasonCode.PROMOTE_TRANSACTIONS, who="payments", where="wrote to these topics"): (
        "a transactional producer cannot move: payments wrote to these topics"
    ),
    Reason.of(ReasonCode.PROMOTE_PRODUCERS, count=9000, most=8000): (
        "9000 producers are too many for one promotion, of which 8000 is the most; name fewer"
        " topics"
    ),
    Reason.of(ReasonCode.PROMOTE_DIRECT, partition="orders-0"): (
        "a producer that does not use the gateway wrote to orders-0 within five minutes; it"
        " would go on at the source"
    ),
    Reason.of(ReasonCode.PROMOTE_GROUP_KIND, group="share group readers", kind="share"): (
        "share group readers reads the topics, and groups of kind share are not moved yet"
    ),
    Reason.of(ReasonCode.PROMOTE_GROUP_KIND, group="streams group app", kind="streams", why="no"): (
        "streams group app reads the topics, and groups of kind streams are not moved here: no"
    ),
    Reason.of(
        ReasonCode.PROMOTE_STREAMS_TOPICS, group="group app", topics="app-counts-changelog"
    ): (
        "group app is a Kafka Streams application that keeps its state, or what waits between its"
        " steps, in app-counts-changelog, which would not move with it: let the link copy them"
        " (`topics.include`), and promote them together"
    ),
    Reason.of(ReasonCode.PROMOTE_TOGETHER, group="group readers", topic="orders"): (
        "group readers also reads topic orders; both must move together"
    ),
    Reason.of(ReasonCode.PROMOTE_TOGETHER_GROUP, who="transactional id app", group="readers"): (
        "transactional id app also commits offsets of group readers; promote the topics that it"
        " reads, too"
    ),
    Reason.of(ReasonCode.PROMOTE_GROUP, group="readers", why="it was promoted before"): (
        "group readers cannot be promoted without its topics: it was promoted before"
    ),
    Reason.of(
        ReasonCode.PROMOTE_GROUP_MEMBERS, group="readers", count=2, member="app at /10.0.0.1"
    ): (
        "2 members of group readers read at the source, such as app at /10.0.0.1; restart them"
        " with the address of the gateway, or stop them"
    ),
    Reason.of(ReasonCode.REVERT_READS, topic="orders"): (
        "clients of this gateway read from the target (`gateway.reads`), so all topics go back"
        " together, and topic orders would not: promote what is left, let the link back copy all"
        " topics, and leave `--topics` out"
    ),
    Reason.of(ReasonCode.PROMOTE_GROUP_BEHIND, group="readers", partition="orders-0", records=12): (
        "group readers has read 12 records of orders-0 at the source that the target lacks"
    ),
    Reason.of(ReasonCode.PROMOTE_OTHER_LINK, topic="a", link="l", client="rdkafka at 10.0.0.1"): (
        "client rdkafka at 10.0.0.1 writes to topic a, which link l has promoted, and the file of"
        " this gateway does not have; it waits: lead it to a gateway of link l"
    ),
    Reason.of(
        ReasonCode.PROMOTE_GROUP_STRAY, group="readers", count=1, member="app at /10.0.0.1"
    ): (
        "1 member of group readers joined at the source after it had moved, such as app at"
        " /10.0.0.1; they read there what the group reads on the target"
    ),
    Reason.of(ReasonCode.PROMOTE_ENDED): (
        "the gateway that worked on it was stopped, killed or replaced; ask again"
    ),
    Reason.of(ReasonCode.PROMOTE_LISTEN, text="port 9092 is taken"): (
        "clients could not reach the brokers of the target: port 9092 is taken"
    ),
    Reason.of(ReasonCode.PROMOTE_BEHIND, partition="orders-0", records=12): (
        "the target lacks 12 records of orders-0, too many to hold producers for"
    ),
    Reason.of(ReasonCode.PROMOTE_MEMBERS_DIRECT, group="readers", count=2, member="m-1"): (
        "2 members of group readers did not come through this gateway, such as m-1; they would"
        " go on at the source"
    ),
    Reason.of(ReasonCode.PROMOTE_MEMBERS_LATE, group="readers", count=1, member="m-1"): (
        "1 member of group readers did not give back what they read in time, such as m-1"
    ),
    Reason.of(ReasonCode.PROMOTE_MEMBERS_THERE, group="readers", count=1, member="m-1"): (
        "group readers has 1 member on the cluster where it shall go on, such as m-1, of which this"
        " gateway never heard; stop it"
    ),
    Reason.of(ReasonCode.PROMOTE_LATE, hold="2 s", what="both were compared"): (
        "`gateway.hold` was over, 2 s, before both were compared"
    ),
    Reason.of(ReasonCode.PROMOTE_WRITTEN, partition="orders-0"): (
        "orders-0 grew at the source while producers were held: somebody writes to it who does"
        " not use the gateway"
    ),
    Reason.of(ReasonCode.PROMOTE_AHEAD, partition="orders-0", records=12): (
        "the target has 12 records of orders-0 more than the source: somebody else writes there"
    ),
    Reason.of(ReasonCode.PROMOTE_OFFSETS, group="group readers"): (
        "the target has other offsets of group readers than were written: somebody else writes them"
    ),
    Reason.of(ReasonCode.PROMOTE_STRAY, partition="orders-0", records=12, side="source"): (
        "12 records of orders-0 came to the source after it had moved, by a client that does"
        " not use the gateway; they are not copied, and the source keeps them as long as its"
        " configs say: a run of the link keeps them aside, or `towpath salvage keep FILE`, with"
        " the file of the link that copied from there"
    ),
    Reason.of(
        ReasonCode.PROMOTE_CONFIGS, topic="orders", configs="retention.ms=1000", why="no right"
    ): (
        "topic orders has moved without configs of its source, as no right; set retention.ms=1000"
        " on it"
    ),
    Reason.of(ReasonCode.PROMOTE_OPEN, text="stop its run; target: away"): (
        "the link may still write promoted topics: stop its run; target: away"
    ),
}
