#!/usr/bin/env bash
# A header that MirrorMaker 2 adds turns all other headers of its records into Base64.
#
# Belief: `InsertHeader` in a flow of MirrorMaker 2 adds one header to each record and leaves the
#   others as they are. Its value is a text, which the default converter of headers refuses, so the
#   converter that Connect itself has by default, SimpleHeaderConverter, is set beside it.
# Behaviour: MirrorMaker 2 hands on the headers of the source as bytes, and that converter writes
#   bytes as the text of their Base64. So each header but the new one is another one on the target,
#   without an error or a line in the log. A flow without the converter stops at its first record.
# Versions: Apache Kafka 4.3.1 (MirrorMaker 2, InsertHeader, SimpleHeaderConverter).
# Source: org.apache.kafka.connect.mirror.MirrorSourceTask, convertHeaders;
#   org.apache.kafka.connect.data.Values, convertToString.
# Output seen (30 November 2026):
#   at the source: trace=order/3
#   at the target: trace=b3JkZXIvMw== env=prod
#   as stated
# Needs: Java 17 or newer, Maven, Python 3.
. "$(dirname "$0")/common/broker.sh"
fetch kafka_2.13:4.3.1 kafka-tools:4.3.1 connect-mirror:4.3.1 connect-transforms:4.3.1
begin

cat > mirror.properties <<MIRROR
clusters=a,b
a.bootstrap.servers=127.0.0.1:$client
b.bootstrap.servers=127.0.0.1:$client
a->b.enabled=true
a->b.topics=orders
b->a.enabled=false
tasks.max=1
replication.factor=1
checkpoints.topic.replication.factor=1
heartbeats.topic.replication.factor=1
offset-syncs.topic.replication.factor=1
offset.storage.replication.factor=1
status.storage.replication.factor=1
config.storage.replication.factor=1
emit.heartbeats.enabled=false
emit.checkpoints.enabled=false
header.converter=org.apache.kafka.connect.storage.SimpleHeaderConverter
a->b.transforms=env
a->b.transforms.env.type=org.apache.kafka.connect.transforms.InsertHeader
a->b.transforms.env.header=env
a->b.transforms.env.value.literal=prod
MIRROR
cat > Probe.java <<'PROBE'
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class Probe {
    static String headers(String at, String topic) {
        Map<String, Object> config = Map.of("bootstrap.servers", at, "auto.offset.reset", "earliest",
            "allow.auto.create.topics", "false");
        var bytes = new ByteArrayDeserializer();
        try (var consumer = new KafkaConsumer<>(config, bytes, bytes)) {
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            for (int n = 0; n < 300; n++) {
                for (var record : consumer.poll(Duration.ofMillis(300))) {
                    var found = new ArrayList<String>();
                    record.headers().forEach(h -> found.add(h.key() + "=" + new String(h.value())));
                    return String.join(" ", found);
                }
            }
        }
        return "nothing within 90 s";
    }

    public static void main(String[] given) throws Exception {
        Map<String, Object> at = Map.of("bootstrap.servers", given[0]);
        if (given.length == 1) {
            try (var admin = Admin.create(at)) {
                admin.createTopics(List.of(new NewTopic("orders", 1, (short) 1))).all().get();
            }
            var bytes = new ByteArraySerializer();
            try (var producer = new KafkaProducer<>(at, bytes, bytes)) {
                var record = new ProducerRecord<byte[], byte[]>("orders", 0, null, "v".getBytes());
                record.headers().add("trace", "order/3".getBytes());
                producer.send(record).get();
            }
            return;
        }
        String before = headers(given[0], "orders"), after = headers(given[0], "a.orders");
        System.out.println("at the source: " + before);
        System.out.println("at the target: " + after);
        boolean same = before.equals("trace=order/3") && after.equals("trace=b3JkZXIvMw== env=prod");
        System.out.println(same ? "as stated" : "different now");
        System.exit(same ? 0 : 1);
    }
}
PROBE
kafka Probe.java "127.0.0.1:$client" 2> probe.log || { tail -5 probe.log; exit 2; }
java -Xmx384m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp 'jars/*' \
    org.apache.kafka.connect.mirror.MirrorMaker mirror.properties > mirror.log 2>&1 &
others=$!
kafka Probe.java "127.0.0.1:$client" look 2> probe.log || { code=$?; tail -5 probe.log; exit "$code"; }
