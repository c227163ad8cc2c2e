#!/usr/bin/env bash
# What is appended to a config that a topic inherits replaces what it inherits.
#
# Belief: IncrementalAlterConfigs with APPEND adds to the value that a topic has, and SUBTRACT takes
#   away from it, as DescribeConfigs shows it (KIP-339). Where brokers say `log.cleanup.policy=compact`,
#   `delete` appended for a topic makes it compact and delete.
# Behaviour: both begin with what is set for the topic itself, and where nothing is, with the default
#   that Kafka ships, whatever brokers say: by their file or by the dynamic default of the cluster.
#   The topic is not compacted any more, but deletes by retention. `compact` appended, which should
#   change nothing, adds `delete`. No error, and no warning.
# Versions: Apache Kafka 4.4.0.
# Source: org.apache.kafka.controller.ConfigurationControlManager, getParts.
# Output seen (30 November 2026):
#   by the brokers' file: compact, with delete appended: delete, with compact appended: delete,compact
#   by the cluster's default: compact, with delete appended: delete, with compact appended: delete,compact
#   as stated
# Needs: Java 17 or newer, Maven, Python 3.
. "$(dirname "$0")/common/broker.sh"
fetch kafka_2.13:4.4.0 kafka-tools:4.4.0

cat > Probe.java <<'PROBE'
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.config.ConfigResource;

public class Probe {
    static Admin admin;

    static void alter(ConfigResource.Type kind, String name, AlterConfigOp.OpType how, String key, String value)
            throws Exception {
        var op = new AlterConfigOp(new ConfigEntry(key, value), how);
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(kind, name), List.of(op))).all().get();
    }

    static String policy(String topic) throws Exception {
        var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        return admin.describeConfigs(List.of(resource)).all().get().get(resource).get("cleanup.policy").value();
    }

    static String shown(String topic, String value, String wanted) throws Exception {
        alter(ConfigResource.Type.TOPIC, topic, AlterConfigOp.OpType.APPEND, "cleanup.policy", value);
        for (int n = 0; n < 40 && !policy(topic).equals(wanted); n++) Thread.sleep(250);
        return policy(topic);
    }

    public static void main(String[] given) throws Exception {
        admin = Admin.create(Map.of("bootstrap.servers", given[0]));
        if (given[1].equals("by the cluster's default")) {
            alter(ConfigResource.Type.BROKER, "", AlterConfigOp.OpType.SET, "log.cleanup.policy", "compact");
        }
        var both = List.of("one", "two");
        admin.createTopics(both.stream().map(each -> new NewTopic(each, 1, (short) 1)).toList()).all().get();
        for (int n = 0; n < 40 && !policy("one").equals("compact"); n++) Thread.sleep(250);
        String before = policy("one");
        String one = shown("one", "delete", "delete");
        String two = shown("two", "compact", "delete,compact");
        System.out.println(given[1] + ": " + before + ", with delete appended: " + one + ", with compact appended: " + two);
        boolean same = before.equals("compact") && one.equals("delete") && two.equals("delete,compact");
        System.exit(same ? 0 : 1);
    }
}
PROBE
probe() {
    kafka Probe.java "127.0.0.1:$client" "$1" 2> probe.log || { code=$?; echo "different now"; tail -5 probe.log; exit "$code"; }
}
begin log.cleanup.policy=compact
probe "by the brokers' file"
begin
probe "by the cluster's default"
echo "as stated"
