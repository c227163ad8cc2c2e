"""Load on a broker or a gateway in front of it, by a process of its own.

`python -m bench.relay_load ADDRESS '{"topic": ..., ...}'` prints figures as JSON. Requests are made
once and sent again, so that the load costs little beside what it loads.
"""

from __future__ import annotations

import asyncio
import json
import math
import ssl
import struct
import sys
import time
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

from kafka.protocol.consumer import FetchRequest
from kafka.protocol.producer import ProduceRequest

from towpath.runtime.clock import now_ms
from towpath.wire import plain

PARTITIONS = 8
_SIZE = struct.Struct(">i")
_PRODUCE, _FETCH = 9, 12


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked for.

    Attributes:
        topic: A topic; `partitions`, how many of it are used.
        kind: `produce`, `fetch`, or `idle`.
        batch: Bytes of a record batch, or of an answer to Fetch.
        connections: Number of connections.
        flying: Requests of a connection that wait for their answers.
        seconds: How long to measure; `warm`, how long before that.
        rate: Bytes in a second of all connections, 0 for as many as possible.
        tls: Whether through TLS; nothing is checked.
        ready: Whether to print a line once all connections are open, and wait for one on stdin;
            a second line ends the load.
    """

    topic: str
    kind: str = "produce"
    batch: int = 16_384
    connections: int = 10
    flying: int = 5
    seconds: float = 5.0
    warm: float = 1.0
    rate: float = 0.0
    tls: bool = False
    ready: bool = False
    partitions: int = PARTITIONS


class Connection(asyncio.BufferedProtocol):
    """A connection that keeps requests flying.

    Args:
        load: What is asked for.
        number: Which of its connections.
    """

    def __init__(self, load: Load, number: int) -> None:
        self._request = bytearray(_request(load, number % load.partitions))
        self._load, self._sent, self._times = load, 0, deque[float]()
        self._buffer = memoryview(bytearray(1 << 20))
        self._head, self._left = bytearray(), 0
        self.answers = self.total = 0
        self.latencies: list[float] = []
        self.due = 0
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """End the load if answers are due."""
        if self._times:
            raise SystemExit(f"a connection was closed with answers due: {exc}")

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer, which is used again."""
        del sizehint
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Count the answers, which are not looked at."""
        at = 0
        while at < nbytes:
            if self._left:
                took = min(self._left, nbytes - at)
                self._left -= took
                at += took
            else:
                need = _SIZE.size - len(self._head)
                self._head += self._buffer[at : at + need]
                at += min(need, nbytes - at)
                if len(self._head) == _SIZE.size:
                    (self._left,) = _SIZE.unpack(self._head)
                    self._head.clear()
            if not self._left and not self._head:
                self._answered()

    def _answered(self) -> None:
        self.latencies.append(time.perf_counter() - self._times.popleft())
        self.answers += 1
        self.total += 1
        self.go_on()

    def go_on(self) -> None:
        """Send what may be sent."""
        while len(self._times) < self._load.flying and (self.due or not self._load.rate):
            self.due -= bool(self._load.rate)
            struct.pack_into(">i", self._request, 8, self._sent)
            self._sent += 1
            self._times.append(time.perf_counter())
            self.transport.write(bytes(self._request))


def _request(load: Load, partition: int) -> bytes:
    asked: Any
    if load.kind == "fetch":
        topic = FetchRequest.FetchTopic
        part = topic.FetchPartition(
            partition=partition, current_leader_epoch=-1, fetch_offset=0, last_fetched_epoch=-1,
            log_start_offset=-1, partition_max_bytes=load.batch,
        )  # fmt: skip
        asked = FetchRequest(
            replica_id=-1, max_wait_ms=500, min_bytes=1, max_bytes=load.batch, isolation_level=0,
            session_id=0, session_epoch=-1, topics=[topic(topic=load.topic, partitions=[part])],
            forgotten_topics_data=[], rack_id="",
        )  # fmt: skip
        asked.API_VERSION = _FETCH
    else:
        kind = ProduceRequest.TopicProduceData
        data = kind.PartitionProduceData(index=partition, records=batch(load.batch))
        asked = ProduceRequest(
            transactional_id=None, acks=1, timeout_ms=30_000,
            topic_data=[kind(name=load.topic, partition_data=[data])],
        )  # fmt: skip
        asked.API_VERSION = _PRODUCE
    asked.with_header(correlation_id=0, client_id="towpath-bench")
    return bytes(asked.encode(header=True, framed=True))


def batch(size: int) -> bytes:
    """Return a batch of about so many bytes, of records of 1 KB."""
    record = min(1024, size)
    now = now_ms()
    records = [plain.Record(b"k", b"v" * record, (), now)] * max(1, size // record)
    return bytes(plain.encode(records))


async def play(address: str, load: Load) -> dict[str, Any]:
    """Put a load on an address; return the figures."""
    loop = asyncio.get_running_loop()
    host, port = address.rsplit(":", 1)
    context = None
    if load.tls:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    every: list[Connection] = []
    for number in range(load.connections):
        made = Connection(load, number)
        await loop.create_connection(lambda made=made: made, host, int(port), ssl=context)
        every.append(made)
    if load.ready:
        print("ready", flush=True)
        await loop.run_in_executor(None, sys.stdin.readline)
    if load.kind == "idle":
        return {}
    pacing = loop.create_task(_paced(every, load)) if load.rate else None
    for each in every:
        each.go_on()
    await asyncio.sleep(load.warm)
    for each in every:
        each.answers = 0
        each.latencies.clear()
    began, cpu = time.perf_counter(), time.process_time()
    if load.ready:
        await loop.run_in_executor(None, sys.stdin.readline)
    else:
        await asyncio.sleep(load.seconds)
    seconds = time.perf_counter() - began
    found = _figures(every, load, seconds) | {"cpu": time.process_time() - cpu}
    found |= {"total": sum(each.total for each in every) * load.batch}
    found |= {"whole_cpu": time.process_time()}
    if pacing is not None:
        pacing.cancel()
    for each in every:
        each._times.clear()  # noqa: SLF001
        each.transport.abort()
    return found


async def _paced(every: list[Connection], load: Load) -> None:
    began, sent = time.perf_counter(), 0
    while True:
        wanted = int((time.perf_counter() - began) * load.rate / load.batch)
        for number in range(sent, wanted):
            each = every[number % len(every)]
            each.due += 1
            each.go_on()
        sent = max(sent, wanted)
        await asyncio.sleep(0.001)


def _figures(every: list[Connection], load: Load, seconds: float) -> dict[str, Any]:
    times = sorted(each for connection in every for each in connection.latencies)
    count = sum(each.answers for each in every)

    def at(share: float) -> float:
        return 1000 * times[min(len(times) - 1, math.floor(share * len(times)))] if times else 0.0

    return {
        "requests": count / seconds,
        "mb": count * load.batch / seconds / 1e6,
        "p50": at(0.5),
        "p99": at(0.99),
        "p999": at(0.999),
        "longest": at(1.0),
        "seconds": seconds,
        "load": asdict(load),
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(play(sys.argv[1], Load(**json.loads(sys.argv[2]))))))
