#!/usr/bin/env bash
# MirrorMaker 2 never copies a topic whose name begins with the alias of the target and a dot.
#
# Belief: a topic that `topics` of a flow names is copied; what came from the target itself is told
#   by where it was copied from, and never goes back in a circle.
# Behaviour: where a topic came from is read from its name alone. For a flow from a to b, a topic
#   `b.orders` that applications of a made, with a dot in its name as many have, counts as one that
#   was copied from b: it is left out, also where `topics` names it, without an error or a warning.
# Versions: Apache Kafka 4.3.1 (MirrorMaker 2 with DefaultReplicationPolicy).
# Source: org.apache.kafka.connect.mirror.MirrorSourceConnector, isCycle and shouldReplicateTopic.
# Output seen (30 November 2026):
#   asked for: orders b.orders
#   copied within 20 s behind the first one: a.orders
#   warnings and errors that name the other: 0
#   as stated
# Needs: Java 17 or newer, Maven, Python 3.
. "$(dirname "$0")/common/broker.sh"
fetch kafka_2.13:4.3.1 kafka-tools:4.3.1 connect-mirror:4.3.1 org.apache.logging.log4j:log4j-slf4j-impl:2.25.4
begin

cat > mirror.properties <<MIRROR
clusters=a,b
a.bootstrap.servers=127.0.0.1:$client
b.bootstrap.servers=127.0.0.1:$client
a->b.enabled=true
a->b.topics=orders,b.orders
b->a.enabled=false
tasks.max=1
refresh.topics.interval.seconds=2
replication.factor=1
checkpoints.topic.replication.factor=1
heartbeats.topic.replication.factor=1
offset-syncs.topic.replication.factor=1
offset.storage.replication.factor=1
status.storage.replication.factor=1
config.storage.replication.factor=1
emit.heartbeats.enabled=false
emit.checkpoints.enabled=false
MIRROR
for topic in orders b.orders; do
    topics --create --topic "$topic" --partitions 1 --replication-factor 1
    printf 'one\n' | kafka org.apache.kafka.tools.ConsoleProducer --bootstrap-server "127.0.0.1:$client" --topic "$topic" > producer.log 2>&1
done
cat > log4j2.properties <<'LOG'
rootLogger.level = INFO
rootLogger.appenderRef.one.ref = out
appender.one.type = Console
appender.one.name = out
appender.one.layout.type = PatternLayout
appender.one.layout.pattern = %p %c{1} %m%n
LOG
java -Xmx384m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dlog4j2.configurationFile=log4j2.properties -cp 'jars/*' \
    org.apache.kafka.connect.mirror.MirrorMaker mirror.properties > mirror.log 2>&1 &
others=$!
copied() {
    kafka org.apache.kafka.tools.TopicCommand --bootstrap-server "127.0.0.1:$client" --list 2>> topics.log |
        grep -E '^a\.(b\.)?orders$' | paste -sd ' '
}
for _ in $(seq 60); do
    if [ -n "$(copied)" ]; then break; fi
    kill -0 "$others" || { tail -5 mirror.log; exit 2; }
    sleep 1
done
sleep 20
found=$(copied)
grep -q '^INFO' mirror.log || { echo "there is no log"; exit 2; }
warned=$(grep -E '^(WARN|ERROR)' mirror.log | grep -c 'b\.orders' || true)
echo "asked for: orders b.orders"
echo "copied within 20 s behind the first one: $found"
echo "warnings and errors that name the other: $warned"
if [ "$found" = a.orders ] && [ "$warned" = 0 ]; then
    echo "as stated"
else
    echo "different now"
    exit 1
fi
