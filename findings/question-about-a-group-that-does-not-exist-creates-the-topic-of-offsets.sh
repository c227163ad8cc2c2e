#!/usr/bin/env bash
# Who asks a new cluster about a group that does not exist creates the topic of offsets.
#
# Belief: describing a group changes nothing, least of all where there is no such group; a program
#   that plans a migration may ask an empty target about the groups of the source.
# Behaviour: the client first asks which broker coordinates the group, and to answer that a broker
#   creates `__consumer_offsets` with all its partitions, 50 by default, as it is configured at that
#   moment: number of partitions and replicas are those of the first question, for good. The answer
#   about the group is an error all the same. A transactional id likewise brings
#   `__transaction_state`. Listing groups asks every broker, and creates nothing.
# Versions: Apache Kafka 4.4.0.
# Source: kafka.server.KafkaApis, getCoordinator; kafka.server.DefaultAutoTopicCreationManager.
# Output seen (30 November 2026):
#   topics behind a list of groups:
#   topics behind a question about a group: __consumer_offsets with 50 partitions
#   topics behind a question about a transactional id: __consumer_offsets __transaction_state
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
  <artifactId>asking</artifactId>
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
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
NODE
kafka kafka.tools.StorageTool format -t 4L6g3nShT-eMCtK--X86sw -c node.properties > format.log 2>&1
java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp 'jars/*' kafka.Kafka node.properties > node.log 2>&1 &
broker=$!

topics() {
    kafka org.apache.kafka.tools.TopicCommand --bootstrap-server "127.0.0.1:$client" "$@" >> topics.log 2>&1
}
for _ in $(seq 60); do
    if topics --list; then break; fi
    kill -0 "$broker" || { tail -5 node.log; exit 2; }
    sleep 1
done

groups() {
    kafka org.apache.kafka.tools.consumer.group.ConsumerGroupCommand --bootstrap-server "127.0.0.1:$client" "$@" >> groups.log 2>&1 || true
}
told() {
    kafka org.apache.kafka.tools.TopicCommand --bootstrap-server "127.0.0.1:$client" --list 2>> topics.log | sort | paste -sd ' '
}
groups --list
listed=$(told)
echo "topics behind a list of groups: $listed"
groups --describe --group there-is-none
asked=$(told)
count=$(kafka org.apache.kafka.tools.TopicCommand --bootstrap-server "127.0.0.1:$client" --describe --topic __consumer_offsets 2>> topics.log |
    sed -nE 's/.*PartitionCount: ([0-9]+).*/\1/p')
echo "topics behind a question about a group: $asked with $count partitions"
kafka org.apache.kafka.tools.TransactionsCommand --bootstrap-server "127.0.0.1:$client" describe --transactional-id there-is-none >> groups.log 2>&1 || true
both=$(told)
echo "topics behind a question about a transactional id: $both"
if [ "$listed|$asked|$count|$both" = "|__consumer_offsets|50|__consumer_offsets __transaction_state" ]; then
    echo "as stated"
else
    echo "different now"
    exit 1
fi
