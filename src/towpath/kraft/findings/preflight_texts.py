"""The sentences of preflight findings; see `kraft/findings/texts.py`."""

from __future__ import annotations

from collections.abc import Mapping

from towpath.kraft.findings.codes import FindingCode, FindingText, note, stop, warn

PREFLIGHT_TEXTS: Mapping[FindingCode, FindingText] = {
    FindingCode.SOFTWARE_UNKNOWN: warn(
        "the version of brokers {nodes} is not known",
        "make sure that they run Kafka 3.9, the same patch level on all",
    ),
    FindingCode.SOFTWARE_OTHER: stop(
        "nodes {nodes} do not run Kafka 3.9",
        "upgrade them to 3.9.2 first; no other release is known to go the whole way",
    ),
    FindingCode.SOFTWARE_MIXED: stop(
        "nodes run different versions: {versions}",
        "finish the upgrade first, to the same patch level on all nodes",
    ),
    FindingCode.SOFTWARE_EARLY: warn(
        "nodes {nodes} run a patch level of Kafka 3.9 before 3.9.2",
        "upgrade them to 3.9.2 first; it mends faults of the migration, such as KAFKA-19480",
    ),
    FindingCode.BUILDS_UNKNOWN: note(
        "hosts do not tell the patch level of nodes {nodes}",
        "make sure that it is the same on all nodes; 3.9.2 is best",
    ),
    FindingCode.HEAPS: note(
        "the largest heaps are those of nodes {nodes}",
        "give controllers what brokers have; each controller keeps all metadata in memory",
    ),
    FindingCode.ANCHOR_NULL: stop(
        "ZooKeeper's `/migration` has no content, which Kafka 3.9.1 cannot read",
        "upgrade controllers to 3.9.2, or roll back, which deletes it",
    ),
    FindingCode.ANCHOR_EMPTY: warn(
        "ZooKeeper's `/migration` has no content; a tool for ACLs of znodes leaves it so",
        "nothing needs to be done with Kafka 3.9.2, which writes it anew",
    ),
    FindingCode.PROTOCOL_UNSET: stop(
        "`inter.broker.protocol.version` is not set on brokers {brokers}",
        "set it to the version that the cluster runs with, and restart these brokers",
    ),
    FindingCode.PROTOCOL_MIXED: stop(
        "brokers have different `inter.broker.protocol.version`: {versions}",
        "finish the upgrade first",
    ),
    FindingCode.PROTOCOL_OLD: stop(
        "`inter.broker.protocol.version` is {version}, and controllers need 3.6-IV2 or newer",
        "raise it to 3.9 first",
    ),
    FindingCode.LOG_DIRS_SEVERAL: stop(
        "brokers {brokers} have several log directories, which need "
        "`inter.broker.protocol.version` 3.7-IV2 or newer, not {version}",
        "raise it to 3.9 first",
    ),
    FindingCode.PROTOCOL_DIFFERS: stop(
        "brokers have `inter.broker.protocol.version` {version}, which is level {level}, "
        "and the controllers were formatted with level {formatted}",
        "roll back, which wipes the controllers, then start again; they are formatted "
        "with the brokers' version",
    ),
    FindingCode.BROKER_ID_DIFFERS: stop(
        "files of brokers name other ids: {brokers}",
        "name the same ids in the file of the migration",
    ),
    FindingCode.FILE_UNUSED: warn(
        "brokers were started with other files than `properties` names: {files}",
        "name the file that a broker is started with, unless both are one file; a file that is made"
        " anew at each start, as from variables of a container, cannot be used",
    ),
    FindingCode.FILE_FROM_VARIABLES: warn(
        "brokers have variables from which images of containers make their files: {variables}",
        "make sure that each is started with the file as it stands; one that is made anew at each"
        " start loses what a migration writes into it",
    ),
    FindingCode.FILE_OVERRIDDEN: stop(
        "command lines of brokers override what modes change in their files: {keys}",
        "move these keys from the command line (`--override`) into the file, and restart the"
        " brokers",
    ),
    FindingCode.FOLDER_TAKEN: stop(
        "folders are those of other nodes: {folders}",
        "name the right ones, for controllers in `data` of `controllers.nodes`; each has its own",
    ),
    FindingCode.CONTROLLER_ID_TAKEN: stop(
        "controllers have ids of brokers: {ids}",
        "give the controllers ids that no broker has; Kafka shows no error, and brokers "
        "would fail in KRaft mode",
    ),
    FindingCode.BROKERS_DIFFER: stop(
        "brokers have different values of {keys}",
        "make them the same on all brokers; controllers take one value for all",
    ),
    FindingCode.CONTROLLERS_DIFFER: warn(
        "`controllers.properties` gives controllers other values than brokers have: {keys}",
        "remove them there unless you are sure; controllers decide by their own values",
    ),
    FindingCode.BROKERS_ANONYMOUS: warn(
        "brokers have an authorizer, and the controllers' listener is PLAINTEXT, where brokers are"
        " User:ANONYMOUS, which is not among `super.users`",
        "secure that listener with `controllers.sasl` or `controllers.tls`, or allow User:ANONYMOUS"
        " ClusterAction; brokers could not register",
    ),
    FindingCode.CONTROLLERS_SCRAM: stop(
        "nodes would log in to controllers by SCRAM ({where}), whose users controllers know only"
        " once ZooKeeper is copied",
        "let the controllers' listener have PLAIN, OAUTHBEARER or GSSAPI, or certificates; other"
        " listeners may have SCRAM",
    ),
    FindingCode.CONTROLLERS_LOGIN: stop(
        "the controllers' listener is {protocol}, and files lack what nodes need there: {keys}",
        "add these keys to the brokers' files, where ZooKeeper mode does not use them, and to"
        " `controllers.properties`",
    ),
    FindingCode.POLICY_DIFFERENT: warn(
        "brokers have an `alter.config.policy.class.name`, which sees more in KRaft mode "
        "than before",
        "set `{key}` in `controllers.properties`, to true if the policy relies on the old "
        "way (KIP-1252)",
    ),
    FindingCode.TOKEN_KEY_MISSING: stop(
        "there are {count} delegation tokens, and no `delegation.token.secret.key` is in "
        "the brokers' files",
        "give controllers the key in `controllers.properties`; tokens would be refused",
    ),
    FindingCode.ENCODER_SECRET_MISSING: stop(
        "dynamic configs hold encrypted values ({keys}), and no `password.encoder.secret` "
        "is in the brokers' files",
        "give controllers the secret in `controllers.properties`; the values could not be read",
    ),
    FindingCode.KRAFT_KEYS_EARLY: warn(
        "files of brokers in ZooKeeper mode have keys of KRaft mode: {keys}",
        "they are replaced, and a rollback does not bring them back",
    ),
    FindingCode.VOTERS_OF_BROKERS: stop(
        "brokers {brokers} name other controllers than the file",
        "mend `controller.quorum.voters` there and restart these brokers; they would "
        "never register",
    ),
    FindingCode.SESSIONS_LONG: warn(
        "ZooKeeper keeps the sessions of killed brokers as long as `limits.start` ({limit} s) or"
        " longer: {brokers}",
        "raise `limits.start` above `zookeeper.session.timeout.ms`; a broker that was killed can"
        " start only once its session has ended",
    ),
    FindingCode.CONTROL_PLANE: warn(
        "brokers {brokers} have a `control.plane.listener.name`, which KRaft does not have",
        "nothing needs to be done: it stays until KRaft mode and is removed then",
    ),
    FindingCode.PROBE_STAYS: stop(
        "`delete.topic.enable` is false for {nodes}, so that the probe topic could not be deleted",
        "set it to true in the brokers' files and restart the brokers, or remove it from"
        " `controllers.properties`, until the migration is over",
    ),
    FindingCode.PROBE_POLICY: warn(
        "brokers have a `create.topic.policy.class.name`, which may refuse probe topics ({topic})",
        "make sure that it allows topics of such names with one partition and up to three replicas;"
        " no step is done without it once both stores are written",
    ),
    FindingCode.PROBES_LEFT: note(
        "there are topics with names of probe topics: {topics}",
        "those that the journal names, as a killed run has left them, are deleted before the next"
        " probe; others are never touched, so delete them yourself if a journal was lost",
    ),
    FindingCode.ZNODE_ACLS: warn(
        "znodes may be written by {writers} alone",
        "make sure that controllers log in to ZooKeeper as one of them; they get the brokers'"
        " `zookeeper.*` keys, and no JAAS file",
    ),
    FindingCode.ZNODES_FORBIDDEN: stop(
        "this login may not read {count} znodes: {paths}",
        "log in as a user who may, with `zookeeper.username`; unread contents cannot be compared",
    ),
    FindingCode.ZNODES_UNKNOWN: stop(
        "{count} znodes have a name or content of no known form: {paths}",
        "remove or mend them first; the copy may fail at them",
    ),
    FindingCode.TOPIC_IDS_MISSING: stop(
        "{count} topics have no id: {paths}",
        "restart the broker that is ZooKeeper's controller, which gives them ids; the copy fails"
        " without",
    ),
    FindingCode.STATES_MISSING: warn(
        "{count} partitions have no state: {paths}",
        "wait until they have a leader; the copy would take all of their replicas as in sync",
    ),
    FindingCode.MAY_END_BROKERS: warn(
        "connection quotas of host names: {paths}; a broker in ZooKeeper or migration mode whose"
        " host cannot resolve such a name ends as it starts",
        "look on each broker's host whether it resolves them (`getent hosts NAME`), or set the"
        " quotas of the addresses instead",
    ),
    FindingCode.CONFIGS_ORPHANED: warn(
        "{count} configs are of topics that do not exist: {paths}",
        "nothing needs to be done: the copy leaves them behind",
    ),
    FindingCode.BROKERS_AWAITED: stop(
        "ZooKeeper knows brokers {brokers}, by replicas or by configs, and the file does not",
        "name them, or move their replicas and delete their configs; the copy would wait for them"
        " for ever",
    ),
    FindingCode.CONTROLLERS_NUMBER: warn(
        "the quorum has {count} controllers",
        "use three or five; with one, a lost disk loses the cluster's metadata",
    ),
    FindingCode.ZOOKEEPER_SMALL: warn(
        "`zookeeper.connect` names fewer than three servers: {count}",
        "name all servers; with one alone, its loss stops the migration and the way back",
    ),
    FindingCode.ZOOKEEPER_SERVERS_AWAY: warn(
        "servers of ZooKeeper do not serve, or do not tell: {servers}",
        "start them, or allow `srvr` in `4lw.commands.whitelist`, so that it is seen how they are",
    ),
    FindingCode.ZOOKEEPER_NO_SPARE: warn(
        "{voting} of {size} voting servers of ZooKeeper serve as far as they tell, so it stands"
        " still when one more fails",
        "bring back the others first; without ZooKeeper there is no step, and no way back",
    ),
    FindingCode.ZOOKEEPER_NO_LEADER: warn(
        "no server of ZooKeeper in `zookeeper.connect` says that it leads",
        "name all servers there, and look whether they elect a leader",
    ),
    FindingCode.DATA_PASSING: warn(
        "folders of controllers may not survive a restart of their host: {folders}",
        "choose folders on disks that stay",
    ),
    FindingCode.DISK_LOW: warn(
        "little space is left on nodes {nodes}",
        "make room for the metadata log and its snapshots",
    ),
    FindingCode.LOG_DIRS_MISSING: stop(
        "log directories have no `meta.properties`, so they are offline or unused: {folders}",
        "bring them back first; in migration mode one failed disk stops a broker",
    ),
    FindingCode.LOG_DIRS_OFFLINE: stop(
        "brokers have lost log directories: {folders}",
        "bring them back first, and restart these brokers; in migration mode one lost directory"
        " stops a broker",
    ),
    FindingCode.LOG_DIRS_UNKNOWN: warn(
        "brokers did not tell whether their log directories are online: {why}",
        "allow the login of `cluster` to Describe the cluster, or look into the brokers' logs",
    ),
    FindingCode.PORTS_EPHEMERAL: warn(
        "addresses have ports that the kernel gives to clients: {addresses}",
        "choose other ports (by default those below 32768), or reserve these"
        " (net.ipv4.ip_local_reserved_ports); a client may connect to itself while "
        "a broker restarts",
    ),
    FindingCode.EPOCH_LOW: warn(
        "ZooKeeper's `/controller_epoch` is {epoch}, not above the controllers' {quorum}",
        "nothing needs to be done: a rollback raises it; restart controllers no more than needed",
    ),
    FindingCode.ACL_SLASH: stop(
        "ACLs on names that are legal in KRaft and no names of znodes, as those with '/', stop all "
        "writes to ZooKeeper: {names}",
        "delete them, and create none before the migration is finalized",
    ),
    FindingCode.DELETING: stop(
        "topics wait for their deletion: {topics}",
        "wait until they are deleted",
    ),
    FindingCode.REASSIGNING: stop(
        "partitions are being reassigned: {partitions}",
        "wait until that is done",
    ),
    FindingCode.REPLICAS_AWAY: stop(
        "partitions have replicas on brokers that are not in the file: {replicas}",
        "reassign them to brokers that exist; controllers would wait for these brokers for ever",
    ),
    FindingCode.DYNAMIC_LISTENERS: stop(
        "listeners are set as dynamic configs: {configs}",
        "move them to the brokers' files; a broker cannot start in KRaft mode with them",
    ),
    FindingCode.UNREACHED: stop(
        "hosts do not reach what their nodes must reach: {ways}",
        "open these ways (DNS, firewall, network policy): brokers connect to controllers, and"
        " controllers to each other, to brokers and to ZooKeeper",
    ),
    FindingCode.ADDRESS_TAKEN: stop(
        "something listens where no controller runs yet: {addresses}",
        "choose free ports for controllers, or stop what listens there: another listener of a"
        " broker, say",
    ),
    FindingCode.NAMES_DIFFER: warn(
        "hosts know the same name under different addresses: {names}",
        "correct `/etc/hosts` or DNS there; a controller listens on the address that its own host"
        " knows, and others connect to the one that they know",
    ),
    FindingCode.REACH_UNKNOWN: note(
        "hosts of nodes {nodes} do not tell what they reach",
        "look whether brokers and controllers reach each other there; `check` asks hosts that run,"
        " and have `timeout` and `bash` or `nc`",
    ),
    FindingCode.FOREIGN_CLIENTS: warn(
        "other programs than brokers are connected to ZooKeeper, from {hosts}",
        "move tools that read or write its znodes to the brokers (`--bootstrap-server`): what they"
        " write behind the copy reaches no broker, and what they read is old once it is finalized",
    ),
    FindingCode.CLIENTS_UNKNOWN: note(
        "servers of ZooKeeper do not tell who is connected: {servers}",
        "allow `cons` in `4lw.commands.whitelist`, or give the port of their AdminServer in"
        " `zookeeper.admin_port`, or look yourself for tools that read or write znodes",
    ),
    FindingCode.ZOOKEEPER_SHARED: note(
        "the ensemble of ZooKeeper also holds what is not this cluster's: {paths}",
        "keep its servers until nobody needs that; a migration reads and writes only below the path"
        " of `zookeeper.connect`",
    ),
    FindingCode.FIELDS_KEPT: stop(
        "other field managers keep the properties of brokers: {kept}",
        "let nothing apply these objects again (GitOps, Helm) until the migration is over, then"
        " name the field managers in `driver.take_from`",
    ),
    FindingCode.NOT_CHECKED: note(
        "nothing here can see ACLs of znodes besides those of topics",
        "check these yourself",
    ),
}
