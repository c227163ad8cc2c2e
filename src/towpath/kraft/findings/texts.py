"""The sentences of findings: what was found, and what to do. `{name}` is a value."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from towpath.kraft.findings.after_texts import AFTER_TEXTS
from towpath.kraft.findings.codes import FindingCode, FindingText, stop, warn
from towpath.kraft.findings.preflight_texts import PREFLIGHT_TEXTS

_STATES: Mapping[FindingCode, FindingText] = {
    FindingCode.NEVER_MIGRATABLE: stop(
        "a controller without `zookeeper.metadata.migration.enable` led the empty metadata log,"
        " so the log says that this cluster was made in KRaft mode",
        "roll back, which wipes the controllers, then start again; no data is lost",
    ),
    FindingCode.WIPE_AHEAD: stop(
        "ZooKeeper's `/migration` is at offset {offset}, and controllers have no metadata log that"
        " goes so far, of a migration before or as they were formatted anew; they would take the"
        " copy as done and delete all topics, ACLs, configs and users from ZooKeeper",
        "start no controller, and stop those that run now; `kraft rollback` does that, and deletes"
        " `/migration` where ZooKeeper is known to hold everything; where it is not, it changes"
        " nothing and says why",
    ),
    FindingCode.LOST_ANCHOR: stop(
        "the metadata log says that the migration runs, and ZooKeeper's `/migration` {found}, so"
        " the controllers no longer write to ZooKeeper",
        "change no topics, configs, ACLs or users; if both stores are equal, roll back; if not,"
        " do not restart anything before you know which changes ZooKeeper lacks",
    ),
    FindingCode.STRANDED: stop(
        "the migration was finalized while brokers {brokers} were not in KRaft mode; they get no"
        " more metadata",
        "roll these brokers to KRaft mode: `kraft run`; nothing leads back to ZooKeeper",
    ),
    FindingCode.FLAG_MISSING: stop(
        "controllers {controllers} run or would start without"
        " `zookeeper.metadata.migration.enable` while both stores are written; if one of them is"
        " elected, it finalizes the migration for good",
        "restart them with the flag: `kraft run`; restart no other controller before that",
    ),
    FindingCode.UNEQUAL: stop(
        "ZooKeeper and the metadata log differ in {count} things: {names}",
        "wait, if the cluster is busy; if they stay, changes did not reach ZooKeeper: the other"
        " alarms name known causes. Without one, read the errors in the log of the leading"
        " controller, and restart it with its flag: the next leader writes all that differs",
    ),
    FindingCode.QUOTAS_LEFT: stop(
        "the quotas of {quotas} were deleted, and ZooKeeper keeps them: the controllers of Kafka"
        " 3.9 fail at this deletion, and lose what was changed together with it",
        "a new leading controller writes all that differs: `kraft run` (or `kraft rollback`)"
        " restarts the leading controller for it; or set these quotas again, and delete them"
        " behind the migration",
    ),
    FindingCode.STATES_NOT_MADE: stop(
        "ZooKeeper has no state of {count} partitions that were added while a leading controller"
        " ended: {partitions}; a new leader of Kafka 3.9 writes such a state without making it, so"
        " it writes nothing behind it, and tries again for ever",
        "`kraft run` (or `kraft rollback`) makes these states as the metadata log has them, and"
        " restarts the leading controller, which then writes all that differs; restart it by hand"
        " before that, and it stops at the same place",
    ),
    FindingCode.ZOOKEEPER_BEHIND: stop(
        "the leading controller does not write to ZooKeeper: `/migration` is at offset {offset},"
        " and the metadata log ends at {end}; changes do not arrive, so that both are equal only"
        " until the next one",
        "wait, if the cluster is busy or this controller has just been elected; if it stays, read"
        " the errors in its log (`Encountered ZooKeeper error`, `zk migration fault`), and restart"
        " it with its flag: the next leader writes all that differs",
    ),
    FindingCode.UNWRITABLE: stop(
        "the metadata log holds ACLs, quotas or users under names that ZooKeeper cannot hold:"
        " {names}; from the next election of a controller on nothing is written to ZooKeeper",
        "delete these before anything is restarted, and create none before the migration is"
        " finalized",
    ),
    FindingCode.ENDS_BROKERS: stop(
        "ZooKeeper has {count} znodes at which brokers in ZooKeeper or migration mode end as they"
        " start: {paths}",
        "restart no such broker by hand. Below `/config/ips` they are connection quotas of"
        " addresses that ZooKeeper mode cannot read: to go back, delete them (`kafka-configs`,"
        " `--entity-type ips`), then these znodes with `zookeeper-shell`, as an empty one does the"
        " same. Below `/config/topics` they have topic configs that KRaft mode alone knows"
        " (`remote.log.copy.disable`, `remote.log.delete.on.disable`): delete these configs. A way"
        " on from where both stores are written needs none of it",
    ),
    FindingCode.KRAFT_ONLY: warn(
        "the metadata log holds {count} configs of kinds that ZooKeeper does not have: {names}; a"
        " rollback loses them",
        "write them down and delete them, or go on to the end; in ZooKeeper mode brokers know no"
        " such configs",
    ),
    FindingCode.USERS_DELETED: stop(
        "SCRAM users were deleted since the copy: {users}; a node that loads the metadata log may"
        " forget all other users of that mechanism by it, so that nobody can log in",
        "create them again before anything is restarted, with any password and no ACLs, and delete"
        " users only before or after the migration",
    ),
    FindingCode.NOTHING_SEEN: stop(
        "neither ZooKeeper nor the metadata log could be read",
        "make one of them reachable from here; change nothing before that",
    ),
    FindingCode.TWO_HEADS: stop(
        "the metadata log says that the controllers lead the cluster, and ZooKeeper's `/controller`"
        " {found}; both change metadata apart from each other",
        "somebody deleted `/controller` while controllers ran; stop all controllers, compare what"
        " was changed since, and only then delete `/migration`",
    ),
    FindingCode.BORN_IN_KRAFT: stop(
        "the metadata log says that the cluster was made in KRaft mode, and brokers {brokers} run"
        " in KRaft mode",
        "there is nothing to migrate; check the addresses in the file",
    ),
    FindingCode.NOBODY_REGISTERED: stop(
        "the metadata log says that the migration runs, and no broker is registered in it",
        "check that the controllers in the file are those of this cluster",
    ),
    FindingCode.KRAFT_WITHOUT_CONTROLLERS: stop(
        "brokers {brokers} are set to KRaft mode, and neither ZooKeeper nor a metadata log names a"
        " KRaft controller",
        "start the controllers with their own folders again; format none of them anew",
    ),
    FindingCode.FINAL_UNSEEN: stop(
        "the migration was finalized, and no controller tells the metadata log now, which alone"
        " knows the cluster",
        "start the controllers with their own folders. Where a majority of these is lost, start"
        " none that was formatted anew and restart no broker; keep every folder as it is, and bring"
        " back folders from their disks or copies. Nothing leads back, as ZooKeeper is old",
    ),
    FindingCode.METADATA_LOST: stop(
        "the controllers lead a metadata log that is not the one of this cluster, which is in KRaft"
        " mode: they were formatted anew, and its topics, ACLs and users are not in it",
        "stop these controllers at once, and restart no broker: one that loads such a log takes its"
        " partitions for strays. Keep every folder as it is, and bring back folders of a majority"
        " of the controllers from their disks or copies",
    ),
}

_UNSEEN: Mapping[FindingCode, FindingText] = {
    FindingCode.ZOOKEEPER_UNSEEN: stop(
        "ZooKeeper could not be read: {why}",
        "make it reachable and run again; brokers go on meanwhile, and what controllers write is"
        " written to ZooKeeper once it is back",
    ),
    FindingCode.NODES_UNSEEN: stop(
        "nothing is known of nodes {nodes}: {why}",
        "make their hosts reachable and run again; no step is safe with a node unseen. A broker"
        " that is gone for good: remove it from the file, and do what the next message says",
    ),
    FindingCode.QUORUM_UNSEEN: stop(
        "controllers {controllers} run, and their metadata log could not be read: {why}",
        "check that they have a leader, and that this login may read the log (ClusterAction)",
    ),
    FindingCode.HEALTH_UNSEEN: stop(
        "no broker told which partitions are in sync",
        "make a broker reachable under `cluster` and run again; nothing is restarted blindly",
    ),
    FindingCode.CONTROLLERS_ELSEWHERE: stop(
        "controller {controller} leads the quorum, and its driver says that it does not run",
        "mend `driver` in the file so that it finds the controllers' processes",
    ),
    FindingCode.NODES_ELSEWHERE: stop(
        "nodes {nodes} answer at their addresses, and their driver says that they do not run",
        "mend `driver` in the file (folder, unit, pod) so that it finds their processes, or"
        " `address` where another node listens there; else their files would be written, and each"
        " started a second time",
    ),
    FindingCode.NOT_COMPARED: stop(
        "ZooKeeper and the metadata log were not compared",
        "run again once both can be read",
    ),
}

_GATES: Mapping[FindingCode, FindingText] = {
    FindingCode.FLAG_NOT_TOLD: stop(
        "controllers {controllers} do not tell the flag `zookeeper.metadata.migration.enable`",
        "restart them with the flag: `kraft run`",
    ),
    FindingCode.VOTERS_DIFFER: stop(
        "the quorum has voters {voters}, and the file names controllers {controllers}",
        "name the same controllers in the file and in `controller.quorum.voters` of all nodes",
    ),
    FindingCode.ANCHOR_TAKEN: stop(
        "ZooKeeper's `/migration` is at offset {offset} before the first copy",
        "roll back, which deletes it, then start again",
    ),
    FindingCode.CLUSTER_ID: stop(
        "nodes {nodes} are formatted for another cluster than `{cluster}`",
        "mend the addresses or folders in the file, or move these away; nothing wipes them",
    ),
    FindingCode.BROKERS_NOT_SERVING: stop(
        "brokers {brokers} do not serve in the mode that their files name, or have files that are "
        "newer than their processes",
        "start or restart them, or wait until they are registered and not fenced; `touch` a file"
        " first whose time lies in the future",
    ),
    FindingCode.NOT_IN_SYNC: stop(
        "{count} partitions are offline or lack replicas: {partitions}",
        "wait until all replicas are in sync before the next restart",
    ),
    FindingCode.NOT_PROBED: stop(
        "no probe topic has passed from the metadata log to ZooKeeper under this leader",
        "run again: `kraft run` creates and deletes one",
    ),
    FindingCode.STILL_MIGRATING: stop(
        "brokers {brokers} are not in KRaft mode",
        "roll them to KRaft mode before finalizing; they would get no more metadata",
    ),
    FindingCode.SOAKING: stop(
        "both stores have been written and equal for {seconds} s, and `limits.soak` asks for"
        " {wanted} s",
        "wait, and finalize then",
    ),
    FindingCode.TOO_EARLY: stop(
        "the cluster is in stage {stage}, and `finalize` begins behind `towpath kraft run` only",
        "run `towpath kraft run`, which ends where both stores are written and all can still go"
        " back; look at the cluster there, and finalize then",
    ),
    FindingCode.TAKEOVER_PENDING: stop(
        "ZooKeeper's `/controller` names controller {named}, and controller {leader} leads the"
        " quorum",
        "look again in a few seconds; if it stays, read the log of the leader: it cannot write to"
        " ZooKeeper, and no broker must be stopped before it can",
    ),
    FindingCode.FLAGLESS_LEADER: stop(
        "controller {controller} leads the quorum without the flag, so the migration is being"
        " finalized",
        "look again in a few seconds; nothing leads back from there",
    ),
    FindingCode.CONTROLLERS_LOST: stop(
        "the folders of controllers {controllers} are not formatted, or their disks are lost",
        "look whether their volumes are mounted, and bring back their folders as they were. Where"
        " the disk of one is lost for good and the others are a majority, `kraft run --reformat ID`"
        " formats it anew while they lead, and `kraft rollback` goes on without it",
    ),
    FindingCode.CONTROLLERS_LOST_FINAL: stop(
        "the folders of controllers {controllers} are not formatted, or their disks are lost",
        "look whether their volumes are mounted, and bring back their folders as they were. Where"
        " the disk of one is lost for good and the others are a majority, `kraft run --reformat ID`"
        " formats it anew while they lead",
    ),
    FindingCode.LOG_UNPROVEN: stop(
        "controller {controller} would begin with an empty log, and controllers {holding} alone are"
        " seen to hold all that is committed, of which {wanted} are needed",
        "start the others, wait until they have caught up with their leader, and run again; else"
        " one could be elected that lacks what was changed last",
    ),
    FindingCode.LOGS_LOST: stop(
        "controllers {controllers} were formatted anew and lack the metadata log of this migration,"
        " and they are the majority, which can elect one of them",
        "start none of them; bring back folders of the majority as they were, from their disks or"
        " copies, and run again. Where these are lost for good and all brokers are in migration"
        " mode, `kraft rollback` releases ZooKeeper, if the journal says that it was equal; with"
        ' brokers in KRaft mode see "Metadata logs that are lost" in the guide',
    ),
    FindingCode.BROKERS_NOT_IN_FILE: stop(
        "brokers {brokers} belong to the cluster, and the file does not name them",
        "name every broker under `brokers`; each has to be restarted with the others. One that is"
        " gone for good: move its replicas to others, then `kafka-cluster.sh unregister --id ID`",
    ),
    FindingCode.CLUSTER_ELSEWHERE: stop(
        "the brokers at `cluster.bootstrap` are cluster {found}, and ZooKeeper holds cluster"
        " {cluster}",
        "correct the addresses in the file; a probe topic would be made in the other cluster",
    ),
    FindingCode.FINAL_FOR_GOOD: stop(
        "the metadata log says that the migration is finalized",
        "nothing leads back to ZooKeeper; a new cluster and a mirror would",
    ),
}

_FILES: Mapping[FindingCode, FindingText] = {
    FindingCode.BROKER_ID_UNSET: stop(
        "a broker's file has {found} as `broker.id`",
        "write its id there, as KRaft generates none; for one above `reserved.broker.max.id` add"
        " `broker.id.generation.enable=false`, and restart the broker",
    ),
    FindingCode.LISTENER_TAKEN: stop(
        "broker {broker} has a listener `{listener}` of its own",
        "name the controllers' listener otherwise, with `controllers.listener`",
    ),
    FindingCode.AUTHORIZER_UNKNOWN: stop(
        "broker {broker} has the authorizer {found}, which is not known to work in KRaft mode",
        "if it does, name it as `authorizer.class.name` in `controllers.properties`, too",
    ),
    FindingCode.CONTROLLER_KEYS_TAKEN: stop(
        "`controllers.properties` sets {keys}, which the migration sets itself",
        "remove these keys",
    ),
}

TEXTS: Mapping[FindingCode, FindingText] = MappingProxyType(
    {**_STATES, **_UNSEEN, **_GATES, **_FILES, **PREFLIGHT_TEXTS, **AFTER_TEXTS}
)
"""The texts of every kind of finding."""
