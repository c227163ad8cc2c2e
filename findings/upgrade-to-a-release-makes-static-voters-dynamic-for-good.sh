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
set -euo pipefail
folder=$(mktemp -d)
broker=
leave() {
    if [ -n "$broker" ]; then kill "$broker" 2> "$folder/kill.log" && wait "$broker" || true; fi
    rm -rf "$folder"
}
trap leave EXIT
cd "$folder"

cat > pom.xml <<'POM'
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>findings</groupId>
  <artifactId>features</artifactId>
  <version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>4.4.0</version></dependency>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>4.4.0</version></dependency>
  </dependencies>
</project>
POM
mvn -q -B dependency:copy-dependencies -DoutputDirectory=jars > maven.log 2>&1 || { tail -5 maven.log; exit 2; }

kafka() {
    java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp 'jars/*' "$@"
}
read -r client control < <(python3 - <<'PORTS'
import socket

found = []
for port in range(21_000, 32_000, 7):
    with socket.socket() as tried:
        if len(found) < 2 and tried.connect_ex(("127.0.0.1", port)):
            found.append(port)
print(*found)
PORTS
)
cat > node.properties <<NODE
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$control
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:$client,CONTROLLER://127.0.0.1:$control
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=$folder/log
offsets.topic.replication.factor=1
NODE
kafka kafka.tools.StorageTool format -t 4L6g3nShT-eMCtK--X86sw -c node.properties --release-version 3.9 > format.log 2>&1
kafka kafka.Kafka node.properties > node.log 2>&1 &
broker=$!

features() {
    kafka org.apache.kafka.tools.FeatureCommand --bootstrap-server "127.0.0.1:$client" "$@" 2>> features.log
}
level() { # the finalized level of kraft.version
    features describe | sed -n 's/^Feature: kraft.version.*FinalizedVersionLevel: \([0-9]*\).*/\1/p'
}
for _ in $(seq 60); do
    if features describe > described.log; then break; fi
    kill -0 "$broker" || { tail -5 node.log; exit 2; }
    sleep 1
done

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
