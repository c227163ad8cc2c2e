# Sourced by programs beside this folder: one broker of Kafka, in a folder that is removed at the end.
#
# It goes into that folder, and sets `folder`, three free ports (`client`, `control`, `relay`), and
#   fetch ARTIFACT:VERSION ...     gets the jars of Maven's packages of org.apache.kafka, or GROUP:ARTIFACT:VERSION
#   begin [PROPERTY=VALUE ...]     starts a broker with these properties at 127.0.0.1:$client, in place of one before
#   kafka CLASS [WORD ...]         runs a program of Kafka, or a source file of Java beside its jars
#   topics [WORD ...]              runs kafka-topics.sh; what it says goes to topics.log
# Python finds the relay beside this file. Words in `format` go to the formatting of the log, processes in `others` end before the broker.
set -euo pipefail
PYTHONPATH=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export PYTHONPATH
folder=$(mktemp -d)
broker=
others=
format=
leave() {
    for each in $others $broker; do kill "$each" 2> "$folder/kill.log" && wait "$each" || true; done
    rm -rf "$folder"
}
trap leave EXIT
cd "$folder"
read -r client control relay < <(python3 - <<'PORTS'
import socket

found = []
for port in range(21_000, 32_000, 7):
    with socket.socket() as tried:
        if len(found) < 3 and tried.connect_ex(("127.0.0.1", port)):
            found.append(port)
print(*found)
PORTS
)

fetch() {
    {
        echo '<project><modelVersion>4.0.0</modelVersion><groupId>findings</groupId>'
        echo '<artifactId>finding</artifactId><version>1</version><dependencies>'
        for each in "$@"; do
            IFS=: read -r group artifact version <<< "$each"
            if [ -z "$version" ]; then version=$artifact artifact=$group group=org.apache.kafka; fi
            echo "<dependency><groupId>$group</groupId><artifactId>$artifact</artifactId><version>$version</version></dependency>"
        done
        echo '</dependencies></project>'
    } > pom.xml
    mvn -q -B dependency:copy-dependencies -DoutputDirectory=jars > maven.log 2>&1 || { tail -5 maven.log; exit 2; }
}

kafka() {
    java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp 'jars/*' "$@"
}

topics() {
    kafka org.apache.kafka.tools.TopicCommand --bootstrap-server "127.0.0.1:$client" "$@" >> topics.log 2>&1
}

is_up() { # whether the broker answers; a program may tell it otherwise
    topics --list
}

begin() {
    if [ -n "$broker" ]; then
        kill "$broker"
        wait "$broker" || true
        rm -rf log
    fi
    {
        echo process.roles=broker,controller
        echo node.id=1
        echo "controller.quorum.voters=1@127.0.0.1:$control"
        echo controller.listener.names=CONTROLLER
        echo "listeners=PLAINTEXT://127.0.0.1:$client,CONTROLLER://127.0.0.1:$control"
        echo listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
        echo "log.dirs=$folder/log"
        echo offsets.topic.replication.factor=1
        if [ $# -gt 0 ]; then printf '%s\n' "$@"; fi
    } > node.properties
    # shellcheck disable=SC2086 # words
    kafka kafka.tools.StorageTool format -t 4L6g3nShT-eMCtK--X86sw -c node.properties $format > format.log 2>&1
    # Not by the function, in whose place a shell would be the process that is ended.
    java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp 'jars/*' kafka.Kafka node.properties > node.log 2>&1 &
    broker=$!
    for _ in $(seq 60); do
        if is_up; then return; fi
        kill -0 "$broker" || { tail -5 node.log; exit 2; }
        sleep 1
    done
}
