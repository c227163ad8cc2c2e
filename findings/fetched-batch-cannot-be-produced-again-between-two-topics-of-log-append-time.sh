#!/usr/bin/env bash
# A batch that was fetched cannot be produced again where both topics set times by their own clock.
#
# Belief: a topic with `message.timestamp.type=LogAppendTime` replaces the times of what it gets,
#   whatever it is; so a program that copies between two such topics may send a fetched record batch
#   as it is, offsets and checksum included.
# Behaviour: it is the other way round. The fetched batch has the attribute that says that a broker
#   stamped it. A topic that stamps itself refuses a produced batch with that attribute, with
#   INVALID_TIMESTAMP (32); a topic of CreateTime, which replaces nothing else, takes it and clears
#   the attribute. With the bit cleared, and the checksum made anew, the first topic takes it, too.
# Versions: Apache Kafka 4.4.0.
# Source: org.apache.kafka.storage.internals.log.LogValidator, validateTimestamp; KIP-32.
# Output seen (29 November 2026):
#   as it was fetched, to LogAppendTime: error 32
#   as it was fetched, to CreateTime: error 0
#   there it is stamped by a broker: False
#   without the attribute, to LogAppendTime: error 0
#   as stated
# Needs: Java 17 or newer, Maven, Python 3.
. "$(dirname "$0")/common/broker.sh"
fetch kafka_2.13:4.4.0 kafka-tools:4.4.0
begin
for topic in from to; do
    topics --create --topic "$topic" --partitions 1 --replication-factor 1 --config message.timestamp.type=LogAppendTime
done
topics --create --topic created --partitions 1 --replication-factor 1
printf 'one\ntwo\n' | kafka org.apache.kafka.tools.ConsoleProducer --bootstrap-server "127.0.0.1:$client" --topic from > producer.log 2>&1

python3 - "$client" <<'COPY'
import socket
import struct
import sys

STAMPED = 0x08


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


def fetched(topic):  # Fetch, version 4
    body = struct.pack(">iiiibi", -1, 5000, 1, 1 << 20, 0, 1) + text(topic)
    answer = ask(1, 4, body + struct.pack(">iiqi", 1, 0, 0, 1 << 20))
    at = 4 + 4 + 2 + len(topic) + 4 + 4 + 2 + 8 + 8
    (aborted,) = struct.unpack_from(">i", answer, at)
    at += 4 + 16 * max(aborted, 0)
    (size,) = struct.unpack_from(">i", answer, at)
    return answer[at + 4 : at + 4 + size]


def produced(topic, batch):  # Produce, version 3
    body = struct.pack(">hhii", -1, -1, 20000, 1) + text(topic)
    answer = ask(0, 3, body + struct.pack(">iii", 1, 0, len(batch)) + batch)
    return struct.unpack_from(">h", answer, 4 + 2 + len(topic) + 4 + 4)[0]


def first(data):
    (length,) = struct.unpack_from(">i", data, 8)
    (attributes,) = struct.unpack_from(">h", data, 21)
    return data[: 12 + length], bool(attributes & STAMPED)


batch, stamped = first(fetched("from"))
assert stamped
(attributes,) = struct.unpack_from(">h", batch, 21)
cleared = struct.pack(">h", attributes & ~STAMPED) + batch[23:]
wrong = 0


def expect(what, found, expected):
    global wrong
    print(f"{what}: {found}")
    if found != expected:
        print(f"DIFFERENT: expected {expected}")
        wrong = 1


def sent(topic, data):
    return f"error {produced(topic, data)}"


expect("as it was fetched, to LogAppendTime", sent("to", batch), "error 32")
expect("as it was fetched, to CreateTime", sent("created", batch), "error 0")
expect("there it is stamped by a broker", first(fetched("created"))[1], False)
anew = batch[:17] + struct.pack(">I", crc32c(cleared)) + cleared
expect("without the attribute, to LogAppendTime", sent("to", anew), "error 0")
if not wrong:
    print("as stated")
sys.exit(wrong)
COPY
