#!/usr/bin/env bash
# A share group has no start offset until it has accepted, rejected or released its first record.
#
# Belief: once a member of a share group was given records of a partition, the group has a start
#   offset there, which DescribeShareGroupOffsets tells; so a program that moves the group to
#   another cluster can take it from there, and what is in hand comes again.
# Behaviour: there is none, however long the records are in hand, as the broker writes the first
#   state of a partition with the first acknowledgement. Who sets no start offset elsewhere leaves
#   the place to `share.auto.offset.reset` there: with the default, `latest`, the records that were
#   in hand are never delivered again. After one record was accepted the start offset is told.
# Versions: Apache Kafka 4.4.0.
# Source: KIP-932 (share groups); it does not say it plainly.
# Output seen (30 November 2026):
#   delivered: 10
#   start offset with 10 records in hand: null
#   2 s later: null
#   start offset once one is accepted: 0
#   as stated
# Needs: Java 17 or newer, Maven, Python 3.
. "$(dirname "$0")/common/broker.sh"
fetch kafka_2.13:4.4.0 kafka-tools:4.4.0
begin share.coordinator.state.topic.replication.factor=1 share.coordinator.state.topic.min.isr=1

cat > Probe.java <<'PROBE'
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Probe {
    static Admin admin;

    static Long start() throws Exception {
        var asked = Map.of("workers", new ListShareGroupOffsetsSpec());
        var told = admin.listShareGroupOffsets(asked).partitionsToOffsetInfo("workers").get();
        var info = told.get(new TopicPartition("orders", 0));
        return info == null ? null : info.startOffset();
    }

    public static void main(String[] given) throws Exception {
        Map<String, Object> at = Map.of("bootstrap.servers", given[0]);
        admin = Admin.create(at);
        admin.createTopics(List.of(new NewTopic("orders", 1, (short) 1))).all().get();
        var group = new ConfigResource(ConfigResource.Type.GROUP, "workers");
        var earliest = new ConfigEntry("share.auto.offset.reset", "earliest");
        var set = List.of(new AlterConfigOp(earliest, AlterConfigOp.OpType.SET));
        admin.incrementalAlterConfigs(Map.of(group, set)).all().get();
        try (var producer = new KafkaProducer<>(at, new StringSerializer(), new StringSerializer())) {
            for (int n = 0; n < 10; n++) producer.send(new ProducerRecord<>("orders", 0, "k", "v"));
            producer.flush();
        }
        Map<String, Object> member = Map.of("bootstrap.servers", given[0], "group.id", "workers",
            "share.acknowledgement.mode", "explicit");
        var strings = new StringDeserializer();
        try (var consumer = new KafkaShareConsumer<>(member, strings, strings)) {
            consumer.subscribe(List.of("orders"));
            ConsumerRecords<String, String> got = ConsumerRecords.empty();
            for (int n = 0; n < 100 && got.isEmpty(); n++) got = consumer.poll(Duration.ofMillis(300));
            System.out.println("delivered: " + got.count());
            Long first = start();
            System.out.println("start offset with 10 records in hand: " + first);
            Thread.sleep(2000);
            Long later = start();
            System.out.println("2 s later: " + later);
            int n = 0;
            for (var record : got) {
                consumer.acknowledge(record, n++ == 0 ? AcknowledgeType.ACCEPT : AcknowledgeType.RELEASE);
            }
            consumer.commitSync();
            Long known = start();
            System.out.println("start offset once one is accepted: " + known);
            boolean same = got.count() == 10 && first == null && later == null && known != null && known == 0;
            System.out.println(same ? "as stated" : "different now");
            System.exit(same ? 0 : 1);
        }
    }
}
PROBE
kafka Probe.java "127.0.0.1:$client" 2> probe.log || { code=$?; tail -5 probe.log; exit "$code"; }
