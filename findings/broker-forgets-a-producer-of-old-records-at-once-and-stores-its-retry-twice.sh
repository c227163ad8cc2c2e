#!/usr/bin/env bash
# A broker forgets an idempotent producer of old records while it writes, and stores a retry twice.
#
# Belief: `producer.id.expiration.ms`, one day by default, begins when a producer has written last;
#   so within a day a retry of a batch whose answer was lost is recognised, and stored once.
# Behaviour: it begins at the time that the last batch bears, which is the producer's own. One that
#   copies records of two days ago is forgotten at the broker's next look (every ten minutes by
#   default, each second here), whenever it wrote. A retry behind that is taken for the first batch
#   of an unknown producer, and appended again without an error. Records of now are recognised.
# Versions: Apache Kafka 4.4.0.
# Source: org.apache.kafka.storage.internals.log.ProducerStateManager, isProducerExpired and
#   removeExpiredProducers.
# Output seen (30 November 2026):
#   records of now: offset 0, a retry 0, a retry 4 s later 0
#   records of two days ago: offset 0, a retry 0, a retry 4 s later 1
#   as stated
# Needs: Java 17 or newer, Maven, Python 3.
. "$(dirname "$0")/common/broker.sh"
fetch kafka_2.13:4.4.0 kafka-tools:4.4.0
begin producer.id.expiration.check.interval.ms=1000
for topic in now old; do
    topics --create --topic "$topic" --partitions 1 --replication-factor 1 --config retention.ms=-1
done

python3 - "$client" <<'WRITE'
import socket
import struct
import sys
import time

DAY = 86_400_000
RECORD = bytes([14, 0, 0, 0, 1, 2, 118, 0])  # length 7, no key, value "v", no headers


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def text(value):
    return struct.pack(">h", len(value)) + value.encode()


def ask(key, version, body):
    request = struct.pack(">hhi", key, version, 1) + text("t") + body
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        stream = connection.makefile("rb")
        (size,) = struct.unpack(">i", stream.read(4))
        return stream.read(size)[4:]


def new_producer():  # InitProducerId, version 0
    for _ in range(60):
        error, number, epoch = struct.unpack_from(">hqh", ask(22, 0, struct.pack(">hi", -1, 60_000)), 4)
        if not error:
            return number, epoch
        time.sleep(0.5)
    sys.exit(2)


def batch(at):  # one record, the first one of a new producer
    number, epoch = new_producer()
    body = struct.pack(">hiqqqhii", 0, 0, at, at, number, epoch, 0, 1) + RECORD
    length = 4 + 1 + 4 + len(body)
    return struct.pack(">qiibI", 0, length, -1, 2, crc32c(body)) + body


def produced(topic, records):  # Produce, version 3, acks all
    body = struct.pack(">hhii", -1, -1, 20_000, 1) + text(topic)
    answer = ask(0, 3, body + struct.pack(">iii", 1, 0, len(records)) + records)
    error, offset = struct.unpack_from(">hq", answer, 4 + 2 + len(topic) + 4 + 4)
    return offset if not error else f"error {error}"


def retried(topic, what, at):
    records = batch(at)
    first, again = produced(topic, records), produced(topic, records)
    time.sleep(4)
    late = produced(topic, records)
    print(f"records of {what}: offset {first}, a retry {again}, a retry 4 s later {late}", flush=True)
    return first, again, late


clock = int(time.time() * 1000)
same = retried("now", "now", clock) == (0, 0, 0)
same &= retried("old", "two days ago", clock - 2 * DAY) == (0, 0, 1)
print("as stated" if same else "different now")
sys.exit(not same)
WRITE
