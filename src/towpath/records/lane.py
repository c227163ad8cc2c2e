"""One partition on its way through a slice. Pure: batches in, batches out, acknowledgements in.

    fetched bytes --take--> waiting --next_batch--> flying --acknowledge--> position, runs, digest

Invariants: items keep source order; at most five batches fly, as brokers remember the last five
of a producer id (KIP-98); the position moves only over what was acknowledged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from towpath.cluster.channel import Frame
from towpath.cluster.fetch import Fetched
from towpath.cluster.produce import Produced
from towpath.ledger.entries import Receipt, Run
from towpath.model.clock import now_ms
from towpath.model.errors import NotIdenticalError
from towpath.model.nouns import LinkName, Mode
from towpath.records.oldformat import modernise
from towpath.records.passed import NotHereError, Passed
from towpath.records.queue import Batch, BecomeMapped, Fill, Queue, RunBuilder
from towpath.records.reshape import merge, open_row
from towpath.records.work import Assignment, Position
from towpath.wire import batch as wire
from towpath.wire.digest import Hashes, record_hashes

FLYING = 5
SMALL = 4096
"""Batches below this many bytes are worth merging."""
MERGED = 256 << 10

_TAKEN = "target offset {} was taken by another writer (our record lies at {})"
_DIGEST_PRIME = 0x100000001B3
_64 = (1 << 64) - 1


@dataclass(slots=True)
class Standing:
    """What opening or resuming a partition found out."""

    position: Position
    mode: Mode
    reason: str
    run: Run
    records: int = 0
    bytes: int = 0
    first_time: int = -1
    last_time: int = -1
    digest: int = 0
    passed: Passed = field(default_factory=Passed)
    """Records that the target holds behind `position` already."""


class Lane:
    """The state of one partition; see the module for the way of a batch.

    Attributes:
        error: What keeps the partition from moving now, for people; "" when nothing does.
        stopped: It moves no more in this round.
        unanswered: Batches on their way whose answer did not come yet.
        refused: The first answer that was an error; nothing is sent until it is dealt with.
        busy: A blocking call (opening, fill) is under way for it.
        failures: Errors in a row, for the back-off.
    """

    def __init__(self, work: Assignment, standing: Standing) -> None:
        self.work = work
        self.queue = Queue()
        self.runs = RunBuilder(standing.run)
        self.records, self.bytes, self.digest = standing.records, standing.bytes, standing.digest
        self.first_time, self.last_time = standing.first_time, standing.last_time
        self.error = ""
        self.stopped = False
        self.unanswered = 0
        self.refused: Produced | None = None
        self.busy = False
        self.failures = 0
        self.high_watermark = -1
        self.copied_records = self.copied_bytes = 0
        self.changed = False
        self.stand(standing)

    def stand(self, standing: Standing) -> None:
        """Go on from `standing`; everything queued is dropped, to be fetched again."""
        self.queue.clear()
        self.position = standing.position
        self.mode, self.reason = standing.mode, standing.reason
        self.expected = standing.position.source
        self._sequence = standing.position.sequence
        self._passed = standing.passed
        self._aborted: set[int] = set()

    def resume(self, standing: Standing) -> None:
        """Go on from where the target and the ledger say, after our own idea was wrong."""
        self.runs.closed.append(self.runs.growing)
        self.runs.growing = standing.run
        self.records, self.bytes, self.digest = standing.records, standing.bytes, standing.digest
        self.error = ""
        self.stand(standing)

    def jump(self, source: int, reason: str) -> None:
        """Go on at another source offset; the records between cannot be had."""
        self.queue.put(BecomeMapped(self.expected, reason))
        self.queue.put(Fill(self.expected, source))
        if self._passed:
            self._settle()
        self.expected, self._taken_epoch = source, -1
        self._aborted.clear()

    @property
    def fetch_epoch(self) -> int:
        """Leader epoch of the last batch taken in, or -1."""
        return self._taken_epoch if self.expected != self.position.source else self.position.epoch

    _taken_epoch = -1

    @property
    def done(self) -> bool:
        """Whether the offset at which the run ends is reached."""
        return self.work.end is not None and self.position.source >= self.work.end

    # Taking in

    def take(self, frame: Frame, said: Fetched) -> None:
        """Queue the batches of a fetch response that are new.

        Raises:
            CorruptBatchError: The response holds bytes that are no batches.
        """
        self.high_watermark = said.last_stable if said.last_stable >= 0 else said.high_watermark
        if said.start == said.end:
            return
        if frame.buffer[said.start + 16] < wire.MAGIC:
            self._take_old(frame, said)
            return
        table = wire.scan(frame.buffer, said.start, said.end)
        aborted = deque(sorted(said.aborted, key=lambda pair: pair[1]))
        at = 0
        while at < len(table):
            plain = 0 if self._passed else wire.plain_prefix(table[at:], self.expected)
            if plain:
                self._send_on(frame, table[at : at + plain])
            else:
                self._take_odd(frame, table[at : at + 1], aborted)
            at += plain or 1

    def _take_old(self, frame: Frame, said: Fetched) -> None:
        """Old formats come first in a log; what they become is taken like any batch."""
        data = modernise(frame.view[said.start : said.end])
        newer = frame.instead(data)
        self.take(newer, replace(said, start=0, end=len(data)))
        newer.release()

    def _send_on(self, frame: Frame, table: wire.Table) -> None:
        """Queue whole dense batches as they are."""
        wire.stamp(frame.buffer, table, self.work.producer_id, self._sequence)
        view = frame.buffer.data
        for position, length, base, last, count, _, _, time, epoch, crc in table.tolist():
            self.queue.put(
                Batch(
                    view[position : position + length], frame.hold(), base, last + 1,
                    count, self._sequence, crc, epoch, time,
                )
            )  # fmt: skip
            self._sequence = (self._sequence + count) % wire.SEQUENCES
        self.expected, self._taken_epoch = last + 1, epoch

    def _take_odd(self, frame: Frame, table: wire.Table, aborted: deque[tuple[int, int]]) -> None:
        row: list[int] = table[0].tolist()
        base, last, attributes = row[wire.BASE], row[wire.LAST], row[wire.ATTRIBUTES]
        producer = row[wire.PRODUCER]
        while aborted and aborted[0][1] <= last:
            self._aborted.add(aborted.popleft()[0])
        if last < self.expected:
            return
        if base > self.expected:
            self._hole(self.expected, base)
        if attributes & wire.CONTROL:
            self._aborted.discard(producer)
            self._nothing_until(last + 1, row[wire.LEADER_EPOCH])
        elif attributes & wire.TRANSACTIONAL and producer in self._aborted:
            self._nothing_until(last + 1, row[wire.LEADER_EPOCH])
        elif self._passed:
            self._pass_over(frame, row)
        elif base == self.expected and self._whole(row):
            self._send_on(frame, table)
        else:
            self._open(frame, row, self.expected)

    def _whole(self, row: Sequence[int]) -> bool:
        dense = row[wire.LAST] - row[wire.BASE] + 1 == row[wire.COUNT]
        by_clock = row[wire.ATTRIBUTES] & wire.LOG_APPEND_TIME
        return dense and (not by_clock or self.work.keep_append_time)

    def _nothing_until(self, end: int, epoch: int) -> None:
        if self._passed and self._passed.first < end and self.mode is Mode.IDENTICAL:
            self.become_mapped(_TAKEN.format(self.expected, self._passed.first))
        self.queue.put(Fill(self.expected, end, epoch))
        self.expected, self._taken_epoch = end, epoch
        if self._passed:
            self._settle()

    def _hole(self, first: int, end: int) -> None:
        if self.mode is Mode.IDENTICAL:
            reason = f"the source has no records at offsets {first} to {end - 1} (compaction)"
            self.queue.put(BecomeMapped(first, reason))
        self._nothing_until(end, -1)

    def _open(self, frame: Frame, row: Sequence[int], first: int) -> None:
        made = open_row(
            frame.buffer, row, first, self.work.max_batch, self.work.producer_id, self._sequence
        )
        held = sum(batch.count for batch in made)
        if held != row[wire.LAST] + 1 - first and self.mode is Mode.IDENTICAL:
            reason = f"the source batch at offset {first} has lost records (compaction)"
            self.queue.put(BecomeMapped(first, reason))
        for batch in made:
            self.queue.put(batch)
        self._sequence = (self._sequence + held) % wire.SEQUENCES
        if not made:
            self.queue.put(Fill(self.expected, row[wire.LAST] + 1, row[wire.LEADER_EPOCH]))
        self.expected, self._taken_epoch = row[wire.LAST] + 1, row[wire.LEADER_EPOCH]

    def _pass_over(self, frame: Frame, row: Sequence[int]) -> None:
        """Acknowledge records that an earlier copier wrote, and send on the rest of the batch."""
        end = row[wire.POSITION] + row[wire.LENGTH]
        offsets, hashes = record_hashes(frame.buffer[row[wire.POSITION] : end].data)
        fresh = offsets >= self.expected
        offsets, hashes = offsets[fresh], hashes[fresh]
        try:
            done = self._pass(offsets, hashes)
        except NotHereError as error:
            fresh = offsets >= self.expected
            offsets, hashes = offsets[fresh], hashes[fresh]
            self.become_mapped(_TAKEN.format(int(offsets[0]), error))
            done = self._pass(offsets, hashes)
        if done == len(offsets):
            self.expected = row[wire.LAST] + 1
            self._move(self.expected, row[wire.LEADER_EPOCH])
        else:
            self._move(int(offsets[done]), row[wire.LEADER_EPOCH])
            self._open(frame, row, int(offsets[done]))

    def _pass(self, offsets: wire.Table, hashes: Hashes) -> int:
        """Acknowledge the leading records that the target holds; return how many they are."""
        done = 0
        for step in self._passed.match(offsets, hashes, identical=self.mode is Mode.IDENTICAL):
            self._vanish(step.vanished)
            if step.count:
                self._note(step.source, step.target, step.count)
                self._advance(step.count)
                self.expected = step.source + step.count
            done += step.count
        return done

    def _vanish(self, count: int) -> None:
        """The target holds records of ours that the source has no more."""
        position = self.position
        sequence = (position.sequence + count) % wire.SEQUENCES
        self.position = replace(position, target=position.target + count, sequence=sequence)
        self.records += count
        self._advance(count)

    def _advance(self, count: int) -> None:
        self._sequence = (self._sequence + count) % wire.SEQUENCES

    def _settle(self) -> None:
        """What waits lies before records that the target holds, so it is done already."""
        while self.queue.waiting:
            item = self.queue.waiting.popleft()
            if isinstance(item, BecomeMapped):
                self.become_mapped(item.reason)
            elif isinstance(item, Fill):
                self.queue.flying.append(item)
                self._land_fills()

    # Sending

    def next_batch(self) -> Batch | None:
        """Return the next batch to send, which flies from now on; `None` when nothing may fly."""
        waiting, flying = self.queue.waiting, self.queue.flying
        if self.refused is not None or self.stopped or self.busy:
            return None
        while waiting and len(flying) < FLYING:
            head = waiting[0]
            if isinstance(head, Batch):
                self._merge_head()
                batch = waiting.popleft()
                assert isinstance(batch, Batch)  # noqa: S101  # for the type checker
                flying.append(batch)
                self.unanswered += 1
                return batch
            if isinstance(head, Fill) and self.mode is Mode.MAPPED:
                waiting.popleft()
                flying.append(head)
                self._land_fills()
            elif isinstance(head, BecomeMapped) and not flying:
                waiting.popleft()
                self.become_mapped(head.reason)
                if self.stopped:
                    return None
            else:
                return None
        return None

    def _merge_head(self) -> None:
        small = self.queue.small_head(SMALL, min(MERGED, self.work.max_batch // 2))
        if small:
            made = merge(small, self.work.max_batch, self.work.producer_id)
            self.queue.replace_head(small, made)

    @property
    def fill_due(self) -> Fill | None:
        """The fill that must be done before anything else may be sent."""
        if self.refused is not None or self.stopped or self.busy:
            return None
        head = self.queue.waiting[0] if self.queue.waiting and not self.queue.flying else None
        return head if isinstance(head, Fill) and self.mode is Mode.IDENTICAL else None

    def filled(self, end: int) -> None:
        """The due fill is in the target's log up to `end`; it may have grown since it was due."""
        fill = self.queue.waiting.popleft()
        assert isinstance(fill, Fill)  # noqa: S101  # `fill_due` said so
        if fill.end > end:
            self.queue.waiting.appendleft(Fill(end, fill.end, fill.epoch))
            fill = Fill(fill.base, end)
        self.queue.flying.append(fill)
        self._land_fills()

    def become_mapped(self, reason: str) -> None:
        """Offsets differ from here on."""
        if self.mode is Mode.IDENTICAL and self.work.must_be_identical:
            self.stop(str(NotIdenticalError(str(self.work.source), reason)))
        elif self.mode is Mode.IDENTICAL:
            self.mode, self.reason = Mode.MAPPED, reason
            self.changed = True

    def stop(self, error: str) -> None:
        """Move no more in this round; `error` tells why."""
        self.error, self.stopped = error, True
        self.changed = True
        self.queue.clear()

    # Acknowledging

    def acknowledge(self, base_offset: int) -> None:
        """The first flying batch lies on the target from `base_offset` on."""
        batch = self.queue.flying.popleft()
        assert isinstance(batch, Batch)  # noqa: S101  # fills land at once
        if self.mode is Mode.IDENTICAL and base_offset != batch.base:
            self.become_mapped(_TAKEN.format(batch.base, base_offset))
        if batch.pieces is None:
            self._note(batch.base, base_offset, batch.count)
        else:
            target = base_offset
            for source, length in batch.pieces:
                self._note(source, target, length)
                target += length
        self.bytes += batch.size
        self.copied_bytes += batch.size
        self.digest = (self.digest * _DIGEST_PRIME ^ batch.crc) & _64
        self.first_time = batch.time if self.first_time < 0 else self.first_time
        self.last_time = max(self.last_time, batch.time)
        self._move(batch.end, batch.epoch)
        self.queue.done(batch)
        self._land_fills()

    def _note(self, source: int, target: int, length: int) -> None:
        self.runs.add(source, target, length, across=self.mode is Mode.IDENTICAL)
        self.records += length
        self.copied_records += length
        sequence = (self.position.sequence + length) % wire.SEQUENCES
        self.position = replace(self.position, target=target + length, sequence=sequence)

    def _move(self, source: int, epoch: int) -> None:
        self.position = replace(self.position, source=source, epoch=epoch)
        self.changed = True

    def _land_fills(self) -> None:
        flying = self.queue.flying
        while flying and isinstance(flying[0], Fill):
            fill = flying.popleft()
            end, epoch = fill.end, fill.epoch
            target = end if self.mode is Mode.IDENTICAL else self.position.target
            self.position = replace(self.position, source=end, target=target, epoch=epoch)
            self.changed = True

    def receipt(self, link: LinkName) -> Receipt:
        """Return what is to be written to the ledger now."""
        self.changed = False
        position = self.position
        return Receipt(
            link, self.work.source.topic, self.work.source.partition, self.work.producer_id,
            position.source, position.epoch, position.target, position.sequence, self.records,
            self.bytes, self.first_time, self.last_time, self.digest, self.mode, self.reason,
            self.runs.growing, self.error, now_ms(),
        )  # fmt: skip
