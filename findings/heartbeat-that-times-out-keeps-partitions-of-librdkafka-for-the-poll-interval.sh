#!/usr/bin/env bash
# One answer that librdkafka's KIP-848 consumer waits for in vain keeps others from its partitions.
#
# Belief: a member of the consumer protocol (KIP-848) whose heartbeat gets no answer in time tells
#   its coordinator wholly what it has with the next one, as it does behind a connection that ended;
#   so a rebalance takes some seconds longer.
# Behaviour: where the answer to a heartbeat times out (`socket.timeout.ms`), librdkafka sends the
#   same short heartbeat again, which says nothing of partitions. The coordinator takes the answer for
#   delivered, and tells the assignment of that answer no more. So the member keeps partitions that
#   it was to give back, and the member that should have them gets none, until the coordinator fences
#   the first one after `max.poll.interval.ms` (5 minutes by default). Where the connection ends
#   instead, all is told anew, and it takes seconds.
# Versions: confluent-kafka (librdkafka) 2.16.0, Apache Kafka 4.4.0.
# Source: rdkafka_cgrp.c, `rd_kafka_cgrp_handle_ConsumerGroupHeartbeat`: only errors that query for
#   the coordinator set RD_KAFKA_CGRP_CONSUMER_F_SEND_FULL_REQUEST; a time-out is retried as it was.
# Output seen (30 November 2026):
#   nothing is kept back: shared after 1 s
#   the connection ends in place of an answer: shared after 2 s
#   one answer never comes: shared after 41 s, of max.poll.interval.ms 40 s
#   as stated
# Needs: Java 17 or newer, Maven, Python 3 with venv.
. "$(dirname "$0")/common/broker.sh"
fetch kafka_2.13:4.4.0 kafka-tools:4.4.0
python3 -m venv env
env/bin/pip install -q --disable-pip-version-check confluent-kafka==2.16.0 > pip.log 2>&1 || { tail -5 pip.log; exit 2; }
is_up() { true; } # it shows the address of a relay, behind which the probe waits for it
begin "advertised.listeners=PLAINTEXT://127.0.0.1:$relay" \
    group.consumer.min.heartbeat.interval.ms=500 \
    group.consumer.heartbeat.interval.ms=1000

cat > probe.py <<'PROBE'
"""Two members of a group behind a relay that may keep back one answer to the first one."""

import socket
import struct
import sys
import time

from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic
from relay import relay

BROKER, RELAY = (("127.0.0.1", int(port)) for port in sys.argv[1:])
HEARTBEAT, POLL, TIMEOUT = 68, 40, 5
lost = {"how": "", "done": False}


def assigns(answer: bytes) -> bool:
    """Whether the answer to a heartbeat of the first member has an assignment."""
    at = 4 + 1 + 4 + 2  # correlation, tags, throttle, error
    for _ in range(2):  # message and member id: shorter than 127 bytes
        at += max(answer[at], 1)
    return struct.unpack_from(">b", answer, at + 8)[0] == 1


def answered(asked: bytes, answer: bytes) -> bytes | None:
    """Keep back one answer to a heartbeat of the first member."""
    key, _, _, size = struct.unpack_from(">hhih", asked)
    is_first = key == HEARTBEAT and asked[10 : 10 + size] == b"first"
    if not (is_first and lost["how"]) or lost["done"] or not assigns(answer):
        return answer
    lost["done"] = True
    if lost["how"] == "ends":
        raise ConnectionError
    return None


def member(group: str, name: str) -> Consumer:
    made = Consumer({
        "bootstrap.servers": f"{RELAY[0]}:{RELAY[1]}", "client.id": name, "group.id": group,
        "group.protocol": "consumer", "socket.timeout.ms": 1000 * TIMEOUT, "log_level": 0,
        "max.poll.interval.ms": 1000 * POLL,
    })
    made.subscribe(["orders"])
    return made


def seconds_until_shared(how: str) -> float:
    """Return after how many seconds each of two members has one of two partitions."""
    lost.update(how="", done=False)
    group = f"readers-{how or 'undisturbed'}"
    first = member(group, "first")
    while len(first.assignment()) < 2:
        first.poll(0.1)
    lost["how"] = how
    begun, second = time.monotonic(), member(group, "second")
    while not (len(first.assignment()) == len(second.assignment()) == 1):
        first.poll(0.1)
        second.poll(0.1)
        if time.monotonic() - begun > 3 * POLL:
            break
    took = time.monotonic() - begun
    assert not how or lost["done"], "an answer was kept back"
    first.close()
    second.close()
    return took


relay(socket.create_server(RELAY), BROKER, answered)
admin = AdminClient({"bootstrap.servers": f"{RELAY[0]}:{RELAY[1]}", "log_level": 0})
until = time.monotonic() + 60
while True:
    try:
        admin.list_topics(timeout=5)
        break
    except Exception as error:
        if time.monotonic() > until:
            print(f"the broker does not answer: {error}")
            sys.exit(2)
        time.sleep(1)
admin.create_topics([NewTopic("orders", 2, 1)])["orders"].result(30)
took = {how: seconds_until_shared(how) for how in ("", "ends", "lost")}
print(f"nothing is kept back: shared after {took['']:.0f} s")
print(f"the connection ends in place of an answer: shared after {took['ends']:.0f} s")
print(f"one answer never comes: shared after {took['lost']:.0f} s, of max.poll.interval.ms {POLL} s")
same = max(took[""], took["ends"]) < POLL / 2 < POLL - 10 < took["lost"]
print("as stated" if same else "different now")
sys.exit(0 if same else 1)
PROBE
env/bin/python probe.py "$client" "$relay" 2> probe.log || { code=$?; tail -5 probe.log; exit "$code"; }
