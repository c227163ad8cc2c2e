"""The sentences about remaining work after a migration."""

from __future__ import annotations

from collections.abc import Mapping

from towpath.kraft.findings.codes import FindingCode, FindingText, note, warn

AFTER_TEXTS: Mapping[FindingCode, FindingText] = {
    FindingCode.ZOOKEEPER_UNUSED: note(
        "no node of this cluster uses ZooKeeper ({connect}) any more",
        "stop its servers, unless other clusters or programs use them, which `towpath kraft"
        " finalize` names; keep no process that still writes to this path",
    ),
    FindingCode.KEPT_KEYS: note(
        "files of brokers {brokers} still have what ZooKeeper mode needed, with its passwords, in"
        " lines that begin with `towpath.kept.`",
        "remove these lines whenever you like: Kafka ignores them, and nothing leads back",
    ),
    FindingCode.KEYS_GONE_IN_4: note(
        "files of nodes have {count} keys that Kafka 4 no longer knows: {keys}",
        "Kafka 4 ignores them. Remove them, and give the value of `delegation.token.master.key`, if"
        " it is among them, to `delegation.token.secret.key` first",
    ),
    FindingCode.VALUES_REFUSED_BY_4: warn(
        "files of nodes have values with which Kafka 4 does not start: {values}",
        "raise them before the upgrade; no broker or controller comes up with them",
    ),
    FindingCode.KAFKA_4_NEXT: note(
        "nodes {nodes} run Kafka 3.9, the last release with ZooKeeper",
        "upgrade one node at a time to Kafka 4 (Java 17, Log4j 2), controllers and brokers, and"
        ' leave `metadata.version` as it is until all run it; see "After the migration" in the'
        " documentation",
    ),
    FindingCode.METADATA_VERSION_NEXT: note(
        "all nodes run Kafka 4, and `metadata.version` is still at level {level}, that of Kafka"
        " 3.9 or older",
        "once you are content with the new version, raise it with `kafka-features.sh upgrade"
        " --feature metadata.version=LEVEL`; `--release-version` would also raise `kraft.version`,"
        " which turns static voters into dynamic ones and cannot be undone. Nothing leads back to"
        " Kafka 3.9 then",
    ),
    FindingCode.QUORUM_STATIC: note(
        "the controllers are static voters (`kraft.version` 0)",
        "they may stay so. With Kafka 4.1 or newer `kafka-features.sh upgrade --feature"
        " kraft.version=1` makes them dynamic (KIP-853), for good; write"
        " `controller.quorum.bootstrap.servers` into all files instead of"
        " `controller.quorum.voters` then",
    ),
    FindingCode.FILE_OF_OTHER_MODE: warn(
        "brokers run in another mode than their files would start them in: {brokers}",
        "restart none of them by hand; `towpath kraft run` or `rollback` restarts each in the mode"
        " that is safe, and writes its file",
    ),
}
