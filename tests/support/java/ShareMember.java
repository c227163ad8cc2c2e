import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Reads as a member of a share group from its beginning; releases some offsets once, accepts all else. */
public final class ShareMember {
    /** Arguments: address, group, topic, number of deliveries, seconds, offsets to release. */
    public static void main(String[] given) throws Exception {
        String where = given[0], group = given[1];
        int wanted = Integer.parseInt(given[3]);
        List<String> released = List.of(given).subList(5, given.length);
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", where))) {
            ConfigEntry earliest = new ConfigEntry("share.auto.offset.reset", "earliest");
            admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, group),
                List.of(new AlterConfigOp(earliest, AlterConfigOp.OpType.SET)))).all().get();
        }
        List<Long> delivered = new ArrayList<>();
        Map<String, Object> configs = Map.of("bootstrap.servers", where, "group.id", group,
            "share.acknowledgement.mode", "explicit");
        var bytes = new ByteArrayDeserializer();
        try (var member = new KafkaShareConsumer<>(configs, bytes, bytes)) {
            member.subscribe(List.of(given[2]));
            long end = System.currentTimeMillis() + Long.parseLong(given[4]) * 1000;
            while (delivered.size() < wanted && System.currentTimeMillis() < end) {
                for (var record : member.poll(Duration.ofMillis(500))) {
                    delivered.add(record.offset());
                    boolean hole = released.contains(Long.toString(record.offset()));
                    member.acknowledge(record, hole ? AcknowledgeType.RELEASE : AcknowledgeType.ACCEPT);
                }
                member.commitSync();
            }
        }
        for (long offset : delivered) System.out.println(offset);
    }
}
