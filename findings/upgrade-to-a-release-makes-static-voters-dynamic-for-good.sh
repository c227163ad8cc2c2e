#!/usr/bin/env bash
# An upgrade of features by release turns static voters into dynamic ones, for good.
#
# Belief: `kafka-features.sh upgrade --release-version 4.4`, the command of the upgrade notes for the
#   last step of an upgrade, raises `metadata.version`. Whether the controllers are static voters
#   (`controller.quorum.voters`, `kraft.version` 0) or dynamic ones (KIP-853) is a decision of its
#   own, taken by `--feature kraft.version=1`; static ones may stay so.
# Behaviour: it also raises `kraft.version` from 0 to 1, while every file still has
#   `controller.quorum.voters`. The way back is refused. `--feature metadata.version=LEVEL` leaves
#   `kraft.version` alone.
# Versions: Apache Kafka 4.4.0 (a cluster that was formatted for 3.9, as behind a migration from
#   ZooKeeper).
# Source: KIP-853, KIP-1022; KAFKA-21426.
# Output seen (28 November 2026):
#   formatted for 3.9: kraft.version 0
#   metadata.version raised alone: kraft.version 0
#   raised by release: kraft.version 1
#   back to 0: refused
#   as stated
# Needs: Java 17 or newer, Maven, Python 3.
. "$(dirname "$0")/common/broker.sh"
fetch kafka_2.13:4.4.0 kafka-tools:4.4.0
format="--release-version 3.9"
begin
features() {
    kafka org.apache.kafka.tools.FeatureCommand --bootstrap-server "127.0.0.1:$client" "$@" 2>> features.log
}
level() { # the finalized level of kraft.version
    features describe | sed -n 's/^Feature: kraft.version.*FinalizedVersionLevel: \([0-9]*\).*/\1/p'
}

wrong=0
expect() { # what, found, expected
    echo "$1: $2"
    [ "$2" = "$3" ] || { echo "DIFFERENT: expected $3"; wrong=1; }
}
expect "formatted for 3.9" "kraft.version $(level)" "kraft.version 0"
features upgrade --feature metadata.version=30 > raised.log
expect "metadata.version raised alone" "kraft.version $(level)" "kraft.version 0"
features upgrade --release-version 4.4 > raised.log
expect "raised by release" "kraft.version $(level)" "kraft.version 1"
if features downgrade --feature kraft.version=0 > lowered.log; then back=done; else back=refused; fi
expect "back to 0" "$back" "refused"
[ "$wrong" = 0 ] && echo "as stated"
exit "$wrong"
