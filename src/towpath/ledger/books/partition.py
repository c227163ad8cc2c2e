"""The state of one source partition of one link, accumulated from ledger entries."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from towpath.ledger.books.refused import disjoint
from towpath.ledger.entries import (
    ChangedAt,
    Cut,
    Gap,
    Opened,
    Receipt,
    RefusedRecords,
    Removed,
    Repaired,
    Run,
    Runs,
    Salvaged,
    TransactionalProducer,
)
from towpath.model.nouns import Mode, ProducerId, SourceOffset, TargetOffset

if TYPE_CHECKING:
    from towpath.ledger.offsets import Extent, OffsetMap
    from towpath.ledger.packed import Table

_Fact = (
    Opened | Receipt | Runs | Gap | RefusedRecords | TransactionalProducer | Repaired | Cut
    | Salvaged
)  # fmt: skip


@dataclass(slots=True)
class PartitionBooks:
    """The state of one source partition of one link, accumulated from ledger entries."""

    opened: Opened | None = None
    receipts: dict[tuple[ProducerId, str], Receipt] = field(default_factory=dict)
    """Receipts of all incarnations, by producer id and copier."""
    runs: dict[tuple[ProducerId, str], str] = field(default_factory=dict)
    """Packed runs of all incarnations that were read, by producer id and chunk."""
    noted: dict[tuple[ProducerId, SourceOffset], Gap] = field(default_factory=dict)
    """Gaps of all incarnations, by producer id and first offset."""
    noted_refused: dict[tuple[str | int, ...], RefusedRecords] = field(default_factory=dict)
    """Decisions to leave records out, of all incarnations, by `about`, in the ledger's order."""
    writers: dict[ProducerId, TransactionalProducer] = field(default_factory=dict)
    """Producer ids of our transactions; empty where the target accepts our private producer id."""
    repairs: list[Repaired] = field(default_factory=list)
    """The repairs from which the present incarnation came, in order."""
    cuts: dict[ProducerId, Cut] = field(default_factory=dict)
    """The last cutover of each incarnation, by producer id."""
    salvages: dict[tuple[str | int, ...], Salvaged] = field(default_factory=dict)
    """What was copied to salvage topics, of all incarnations, by `Salvaged.about()`."""
    _first: dict[tuple[ProducerId, int], str] = field(default_factory=dict)
    """Who told of a generation of an incarnation first, in the order of the ledger."""

    def copy(self) -> PartitionBooks:
        """Return a copy of the books that later entries do not change."""
        return replace(self, **collections_of(self))

    @property
    def receipt(self) -> Receipt | None:
        """The receipt of the present incarnation that reaches furthest."""
        return max(self.standing, key=lambda receipt: receipt.reach, default=None)

    @property
    def standing(self) -> tuple[Receipt, ...]:
        """All receipts of the present incarnation that the ledger holds."""
        return tuple(r for r in self.receipts.values() if self.is_of(r.producer_id))

    @property
    def mode(self) -> Mode | None:
        """Whether offsets are identical or mapped, `None` if the partition was never opened."""
        known = self.receipt or self.opened
        return known.mode if known is not None else None

    @property
    def generation(self) -> int:
        """The latest generation of the producer id."""
        return max((receipt.generation for receipt in self.standing), default=0)

    @property
    def change(self) -> str:
        """The digest of the present change of records, "" for unchanged records."""
        told = self._told_of_change
        return told.change if told is not None else self.opened.change if self.opened else ""

    @property
    def changed(self) -> tuple[ChangedAt, ...]:
        """Openings of the partition under another change of records, in order."""
        told = self._told_of_change
        return told.changed if told is not None else ()

    @property
    def named_changes(self) -> frozenset[str]:
        """The digests of all changes under which some copier may have written the partition."""
        named = {self.opened.change} if self.opened is not None else set()
        for receipt in self.standing:
            named |= {receipt.change, *(digest for _, _, digest in receipt.changed)}
        return frozenset(named)

    @property
    def _told_of_change(self) -> Receipt | None:
        """The receipt that tells the change.

        Each generation is written under one change. Whoever lost a race for it wrote nothing but a
        claim, which may name another change (docs/decisions/0034).
        """
        generation = self.generation
        latest = [each for each in self.standing if each.generation == generation]
        own = [each for each in latest if not each.claim]
        if own or not latest:
            return max(own, key=lambda receipt: receipt.reach, default=None)
        first = self._first.get((latest[0].producer_id, generation), "")
        return self.receipts.get((latest[0].producer_id, first), latest[0])

    def is_first(self, receipt: Receipt) -> bool:
        """Return whether `receipt` is the first of its generation, and of the latest one."""
        first = self._first.get((receipt.producer_id, receipt.generation))
        return first == receipt.copier and self.generation == receipt.generation

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """The gaps of the present incarnation, or of one that could not be opened."""
        here = self.opened.producer_id if self.opened else None
        return tuple(
            gap
            for (producer, _), gap in self.noted.items()
            if here in {None, producer} and not self._got_over(gap)
        )

    @property
    def refused(self) -> tuple[RefusedRecords, ...]:
        """The decisions to leave records out that apply now, without overlaps."""
        own = self.own if self.noted_refused else frozenset()
        known = (e for e in self.noted_refused.values() if e.producer_id in own)
        return disjoint(each for each in known if self._holds(each))

    @property
    def pending(self) -> tuple[RefusedRecords, ...]:
        """The decisions to leave records out that apply from the next producer id generation on."""
        reached = self.receipt.source_end if self.receipt is not None else SourceOffset(0)
        return tuple(
            each
            for each in self.noted_refused.values()
            if self.is_of(each.producer_id) and each.end > reached and not self._holds(each)
        )

    def _holds(self, each: RefusedRecords) -> bool:
        return each.generation < self._generation_of(each.producer_id)

    def _generation_of(self, producer: ProducerId) -> int:
        of = (r.generation for r in self.receipts.values() if r.producer_id == producer)
        return max(of, default=0)

    def _got_over(self, gap: Gap) -> bool:
        """Whether copying stopped at a gap and has continued since without leaving anything out."""
        if gap.went_on or self.opened is None:
            return False
        receipt = self.receipt
        known = receipt if receipt is not None else self.opened
        return known.at > gap.at and not (receipt is not None and receipt.trouble)

    def is_of(self, producer_id: ProducerId) -> bool:
        """Return whether a producer id belongs to the present incarnation of the partition."""
        return self.opened is not None and self.opened.producer_id == producer_id

    @property
    def own(self) -> frozenset[ProducerId]:
        """The producer id of generation 0 whose sequences count the copied records."""
        now = {self.opened.producer_id} if self.opened else set()
        return frozenset(now | {repair.producer_id for repair in self.repairs})

    @property
    def cut(self) -> Cut | None:
        """The last cutover of the present incarnation, or of one that a repair continued.

        Partitions of a link with `transform` are never opened, and have one cutover.
        """
        own = self.own or {Cut.THROUGH_QUERY}
        known = (self.cuts[each] for each in own if each in self.cuts)
        return max(known, key=lambda cut: cut.at, default=None)

    @property
    def salvaged(self) -> tuple[Salvaged, ...]:
        """Records copied to salvage topics for the present incarnation, oldest first."""
        known = (each for each in self.salvages.values() if each.producer_id in self.own)
        return tuple(sorted(known, key=lambda each: each.at))

    @property
    def start(self) -> SourceOffset:
        """The first source offset that was copied, also before repairs; 0 if never opened."""
        if self.repairs:
            return self.repairs[-1].start
        return self.opened.source_start if self.opened else SourceOffset(0)

    def heir(self, first: ProducerId) -> ProducerId:
        """Return the producer id to write under, given the id derived from both topic ids."""
        repaired = bool(self.repairs) and self.repairs[0].producer_id == first
        return self.repairs[-1].successor if repaired else first

    def take(self, entry: _Fact) -> None:
        """Add one ledger entry."""
        match entry:
            case Opened():
                self._open(entry)
            case Receipt():
                self._know(entry)
            case Gap():
                self.noted[entry.producer_id, entry.first] = entry
            case RefusedRecords():
                self._decide(entry)
            case Runs():
                chunk = entry.chunk or str(entry.about()[-1])
                self.runs[entry.producer_id, chunk] = entry.packed or _packed(entry)
            case TransactionalProducer():
                if self.is_of(entry.producer_id):
                    self.writers.setdefault(entry.writer, entry)
            case Cut() | Salvaged():
                self._part(entry)
            case Repaired():
                self.repairs.extend([entry] if self.is_of(entry.producer_id) else ())

    def _open(self, entry: Opened) -> None:
        if not self.is_of(entry.producer_id):
            self.opened, self.writers = entry, {}
            if self.repairs and self.repairs[-1].successor != entry.producer_id:
                self.repairs = []

    def _part(self, entry: Cut | Salvaged) -> None:
        if isinstance(entry, Cut):
            self.cuts[entry.producer_id] = entry
            return
        known = self.salvages.get(entry.about())
        if known is None or entry.end >= known.end:
            self.salvages[entry.about()] = entry

    def _decide(self, entry: RefusedRecords) -> None:
        late = 0 <= entry.generation < self._generation_of(entry.producer_id)
        if not late:
            self.noted_refused.setdefault(entry.about(), entry)

    def _know(self, entry: Receipt) -> None:
        key = entry.producer_id, entry.copier
        self._first.setdefault((entry.producer_id, entry.generation), entry.copier)
        known = self.receipts.get(key)
        if known is None or entry.reach >= known.reach:
            self.receipts[key] = entry

    def forget(self, removed: Removed) -> None:
        """Remove a receipt, or a chunk of the offset map."""
        if removed.kind == Receipt.kind:
            kept = self.receipts.items()
            self.receipts = {key: r for key, r in kept if r.about() != removed.key}
        elif removed.kind == Runs.kind:
            self.runs = {key: r for key, r in self.runs.items() if key != removed.key[2:]}

    def offsets(self, log_start: TargetOffset | None = None) -> OffsetMap:
        """Return the offset map of the present incarnation, from the runs read so far.

        Args:
            log_start: Where the target log begins now, if that is known.

        Raises:
            LedgerError: Packed runs are damaged.
        """
        # Commands that never ask for the map do not load numpy.
        import numpy as np  # noqa: PLC0415

        from towpath.ledger.offset_runs import joined  # noqa: PLC0415
        from towpath.ledger.offsets import OffsetMap  # noqa: PLC0415
        from towpath.ledger.packed import unpack  # noqa: PLC0415

        receipt = self.receipt
        few = [receipt.run] if receipt is not None else []
        few += self._behind_receipt()
        few += [(r.start, TargetOffset(r.start), r.offset - r.start) for r in self.repairs[-1:]]
        packed = [text for (producer, _), text in self.runs.items() if self.is_of(producer)]
        packed += [receipt.packed] if receipt is not None else []
        tables = [np.array(few, np.int64).reshape(-1, 3), *map(unpack, packed)]
        table = joined(np.concatenate(tables))
        return OffsetMap(table, self._extent(table), self.gaps, log_start)

    def _extent(self, runs: Table) -> Extent | None:
        from towpath.ledger.offsets import Extent  # noqa: PLC0415

        opened, receipt = self.opened, self.receipt
        if opened is None:
            return None
        # Before a repair the partition had identical offsets. Where the front could not be filled,
        # the first run is at a lower offset than it should have been.
        first = TargetOffset(int(runs[:, 1].min())) if len(runs) else opened.target_start
        began = TargetOffset(self.start) if self.repairs else min(first, opened.target_start)
        end = opened.source_start, opened.target_start
        if receipt is not None:
            end = receipt.source_end, receipt.target_end
        for start, there, length in self._behind_receipt():
            end = SourceOffset(start + length), TargetOffset(there + length)
        if self.receded is not None:
            end = self.receded.source_end, self.receded.target_end
        return Extent(self.start, began, *end)

    @property
    def receded(self) -> Cut | None:
        """The cut before the last receipt, as the target lost the records between them."""
        cut, receipt = self.cut, self.receipt
        if cut is None or receipt is None or cut.producer_id != receipt.producer_id:
            return None
        return cut if cut.at >= receipt.at and cut.target_end < receipt.target_end else None

    def _behind_receipt(self) -> list[Run]:
        """Return what a failover found on the target behind the last receipt, as a run.

        Before its first receipt, a partition was copied from where it was opened. Where offsets are
        mapped, nobody but the source knows which records these are.
        """
        cut, opened, receipt = self.cut, self.opened, self.receipt
        if cut is None or opened is None or self.mode is not Mode.IDENTICAL:
            return []
        source, target = opened.source_start, opened.target_start
        if receipt is not None:
            source, target = receipt.source_end, receipt.target_end
        more = cut.source_end - source
        alike = int(source) == target and int(cut.source_end) == cut.target_end
        return [(source, target, more)] if more > 0 and alike else []


def collections_of(books: Any) -> dict[str, Any]:
    """Return copies of the mutable fields of some books, by field name."""
    values = ((each.name, getattr(books, each.name)) for each in fields(books))
    return {name: value.copy() for name, value in values if isinstance(value, dict | list | set)}


def _packed(entry: Runs) -> str:
    """Return the runs of an entry of an older version as later versions write them."""
    from towpath.ledger.packed import Packer  # noqa: PLC0415

    return Packer(entry.runs).text()
