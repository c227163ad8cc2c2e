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
  <artifactId>appended</artifactId>
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
topics() {
    kafka org.apache.kafka.tools.TopicCommand --bootstrap-server "127.0.0.1:$client" "$@" >> topics.log 2>&1
}
begin() { # NAME [PROPERTY]
    cat > node.properties <<NODE
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$control
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:$client,CONTROLLER://127.0.0.1:$control
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=$folder/log-$1
offsets.topic.replication.factor=1
${2:-}
NODE
    kafka kafka.tools.StorageTool format -t 4L6g3nShT-eMCtK--X86sw -c node.properties > format.log 2>&1
    java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp 'jars/*' kafka.Kafka node.properties > node.log 2>&1 &
    broker=$!
    for _ in $(seq 60); do
        if topics --list; then return; fi
        kill -0 "$broker" || { tail -5 node.log; exit 2; }
        sleep 1
    done
}

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
begin file log.cleanup.policy=compact
probe "by the brokers' file"
kill "$broker"
wait "$broker" || true
begin default
probe "by the cluster's default"
echo "as stated"
