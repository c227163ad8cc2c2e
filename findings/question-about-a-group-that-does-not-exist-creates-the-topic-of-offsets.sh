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
. "$(dirname "$0")/common/broker.sh"
fetch kafka_2.13:4.4.0 kafka-tools:4.4.0
begin transaction.state.log.replication.factor=1 transaction.state.log.min.isr=1

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
