#!/usr/bin/env bash
# A Java producer that hears of another address of its broker goes on at the old one.
#
# Belief: a client that hears, by Metadata, that a broker has another address now sends what follows
#   there. So an address is free, and its process may end, some seconds after every client has asked
#   for Metadata again (`metadata.max.age.ms`).
# Behaviour: Java's client compares nodes by their ids. A connection that it has is used for as long
#   as it lives, whatever address Metadata tells meanwhile. Only a connection that ends (by its idle
#   time, or by whoever serves the old address) lets it go to the new one. Librdkafka closes its
#   connection at the first answer with another address, and sends to the new one from then on.
#   So a producer that writes without a pause never leaves an old address by itself.
# Versions: kafka-clients 3.9.1 and 4.4.0, confluent-kafka (librdkafka) 2.16.0, Apache Kafka 4.4.0.
# Source: NetworkClient.ready and ClusterConnectionStates (keys are ids of nodes; KAFKA-20394);
#   rdkafka_broker.c, rd_kafka_broker_set_nodename: the broker thread disconnects.
# Output seen (30 November 2026):
#   java 3.9.1: in 20 s, 95 requests at the old address, 0 at the new
#   java 4.4.0: in 20 s, 95 requests at the old address, 0 at the new
#   librdkafka 2.16.0: in 20 s, 0 requests at the old address, 99 at the new
#   as stated
# Needs: Java 17 or newer, Maven, Python 3 with venv.
. "$(dirname "$0")/common/broker.sh"
fetch kafka_2.13:4.4.0 kafka-tools:4.4.0
mkdir older
mv jars newer
fetch kafka-clients:3.9.1
mv jars older/jars
mv newer jars
python3 -m venv env
env/bin/pip install -q --disable-pip-version-check confluent-kafka==2.16.0 > pip.log 2>&1 || { tail -5 pip.log; exit 2; }
begin
topics --create --topic orders --partitions 1 --replication-factor 1

cat > Writer.java <<'JAVA'
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/** Writes five records a second, for as long as it is let. */
class Writer {
    public static void main(String[] words) throws Exception {
        Properties told = new Properties();
        told.put("bootstrap.servers", words[0]);
        told.put("metadata.max.age.ms", "1000");
        told.put("key.serializer", StringSerializer.class.getName());
        told.put("value.serializer", StringSerializer.class.getName());
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(told)) {
            while (true) {
                producer.send(new ProducerRecord<>("orders", "a record")).get();
                Thread.sleep(200);
            }
        }
    }
}
JAVA

cat > writer.py <<'WRITER'
"""Writes five records a second, for as long as it is let."""

import sys
import time

from confluent_kafka import Producer

producer = Producer({"bootstrap.servers": sys.argv[1], "topic.metadata.refresh.interval.ms": 1000})
while True:
    producer.produce("orders", b"a record")
    producer.flush()
    time.sleep(0.2)
WRITER

cat > probe.py <<'PROBE'
"""Two addresses of one broker: Metadata tells the first, and from some moment on the second."""

import socket
import struct
import subprocess
import sys
import time
from functools import partial

from relay import relay

BROKER = "127.0.0.1", int(sys.argv[1])
PRODUCE, METADATA = 0, 3
SECONDS = 20
counts: dict[int, int] = {}
shown = 0


def answered(port: int, asked: bytes, answer: bytes) -> bytes:
    """Count what is produced at an address; show the present one in Metadata."""
    key = struct.unpack_from(">h", asked)[0]
    counts[port] = counts.get(port, 0) + (key == PRODUCE)
    if key != METADATA:
        return answer
    told = b"127.0.0.1" + struct.pack(">i", BROKER[1])  # the port stands behind the host
    assert told in answer
    return answer.replace(told, b"127.0.0.1" + struct.pack(">i", shown))


def free() -> socket.socket:
    for port in range(21_100, 32_000, 7):
        server = socket.socket()
        try:
            server.bind(("127.0.0.1", port))
        except OSError:
            server.close()
            continue
        server.listen()
        return server
    raise SystemExit(2)


def waited(what, seconds: float) -> bool:  # noqa: ANN001
    until = time.monotonic() + seconds
    while not what() and time.monotonic() < until:
        time.sleep(0.1)
    return bool(what())


servers = free(), free()
before, after = (each.getsockname()[1] for each in servers)
for server, port in zip(servers, (before, after), strict=True):
    relay(server, BROKER, partial(answered, port))
java = "java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp"
stayed = {}
for name, words in {
    "java 3.9.1": (*java, "older/jars/*", "Writer.java"),
    "java 4.4.0": (*java, "jars/*", "Writer.java"),
    "librdkafka 2.16.0": ("env/bin/python", "writer.py"),
}.items():
    shown = before
    counts.clear()
    with open("writer.log", "wb") as log:
        writer = subprocess.Popen([*words, f"127.0.0.1:{before}"], stdout=log, stderr=log)
    try:
        if not waited(lambda: counts.get(before, 0) > 20, 60):
            sys.exit(2)
        shown = after
        time.sleep(3)  # Metadata is asked for each second
        counts.clear()
        time.sleep(SECONDS)
        found = counts.get(before, 0), counts.get(after, 0)
    finally:
        writer.kill()
        writer.wait()
    print(f"{name}: in {SECONDS} s, {found[0]} requests at the old address, {found[1]} at the new")
    stayed[name] = found[0] > 20 and not found[1], not found[0] and found[1] > 20
java_stays = stayed["java 3.9.1"][0] and stayed["java 4.4.0"][0]
sys.exit(0 if java_stays and stayed["librdkafka 2.16.0"][1] else 1)
PROBE
if env/bin/python probe.py "$client"; then echo as stated; else code=$?; echo "changed, or not run ($code)"; exit $code; fi
