"""The verdict on partitions whose records go through Spark. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from towpath.compare.listed_rows import ListedRows, compare_lists
from towpath.compare.row_sums import Pair
from towpath.compare.work import Comparison, Counts, RecordDifference
from towpath.ledger.transformed import TransformedPosition
from towpath.mirror.status.transformed import DROPPED, READ
from towpath.mirror.transform.proof.others import Others
from towpath.mirror.transform.proof.stand import ProofStand
from towpath.mirror.transform.proof.sums import Proof, agrees, compared_pairs
from towpath.mirror.verify.surplus import OtherWriter
from towpath.mirror.verify.verdict import PartitionVerdict, Verdict
from towpath.model.amounts import counted
from towpath.model.digest import Digest
from towpath.model.nouns import TopicPartition
from towpath.model.reasons import ReasonCode
from towpath.runtime.clock import readable

VALUES_NOT = "positions compared, values not"


def verdict_of(stand: ProofStand, proof: Proof, *, may_delete: bool = False) -> PartitionVerdict:
    """Return the verdict on a source partition.

    Args:
        stand: The partition.
        proof: What was compared.
        may_delete: Whether the target is meant to keep less than the source.
    """
    return _Judging(stand, proof, may_delete=may_delete).verdict()


def _made_of(comparison: Comparison) -> Iterator[str]:
    """Yield what the query made of how many records."""
    tally = dict(comparison.tally)
    if tally:
        many = counted(tally[READ], "record")
        yield f"{many} of the source went through the query again, which drops {tally[DROPPED]:,}"


class _Judging:
    def __init__(self, stand: ProofStand, proof: Proof, *, may_delete: bool) -> None:
        self._stand, self._proof = stand, proof
        self._others, self._others_in = self._told(proof.beside.others)
        self._clients, self._clients_in = self._told(proof.beside.clients)
        self._values_not = 0
        self._may_delete = may_delete
        self._counts = Counts()
        self._reasons: list[str] = []
        self._notes: list[str] = []
        self._different = False
        self._unproven = 0
        self._doubled = 0
        self._missing, self._extra = Counter[int](), Counter[int]()
        self._moved, self._first = 0, -1

    def _told(self, others: Others) -> tuple[Counter[int], set[TopicPartition]]:
        """Return which of others' records are told with this partition, and where they lie."""
        found, where = Counter[int](), set[TopicPartition]()
        for (tp, producer), number in others.items():
            if tp.topic in self._stand.mirrors:
                found[producer] += number
                where.add(tp)
        return found, where

    def verdict(self) -> PartitionVerdict:
        """Return it."""
        stand, row = self._stand, self._stand.row
        at = stand.position
        if row.error:
            self._reasons.append(row.error)
        elif at is None:
            if row.lag_records:
                self._reasons.append("nothing of it was read yet")
        else:
            self._positions(at)
            if stand.first >= 0:
                self._values(at)
            else:
                self._values_not += 1
                self._reasons.append(f"{VALUES_NOT}: {self._why_not(at)}")
        self._beside()
        if row.lag_records and not row.error:
            self._reasons.append(row.behind if row.lag_records > 0 else "the source did not tell"
                                 " where it ends")  # fmt: skip
        return self._made(at)

    def _positions(self, at: TransformedPosition) -> None:
        """Compare how many records the position tells of with how many are there."""
        stand, proof = self._stand, self._proof
        there = sum(proof.both(pair)[1].count for pair in proof.pairs(stand.row.tp))
        if stand.unsettled:
            named = ", ".join(map(str, sorted(stand.unsettled)))
            self._reasons.append(f"not compared where a transaction stays open: {named}")
            return
        if there != at.written:
            told = (
                f"its position tells of {counted(at.written, 'record')}, the target has {there:,}"
            )
            if at.first < 0 or stand.shortened or stand.target_compacts:
                self._notes.append(told)
            else:
                self._different = True
                self._reasons.append(told)
        if at.lost:
            lost = counted(at.lost, "source offset")
            self._notes.append(f"{lost} were deleted before they were read")

    def _why_not(self, at: TransformedPosition) -> str:
        stand = self._stand
        if at.first < 0:
            return "an earlier version of Towpath wrote its records, and did not tell from where on"
        if stand.never:
            return stand.never
        if stand.other_query:
            return (
                "its records went through another query than that of the file, or the mirror topic"
                " had another number of partitions"
            )
        return "the source did not tell where it begins"

    def _values(self, at: TransformedPosition) -> None:
        stand, proof = self._stand, self._proof
        for pair in compared_pairs(proof, stand.row.tp, stand):
            self._pair(pair)
        self._differences()
        self._left(at)

    def _pair(self, pair: Pair) -> None:
        proof, counts = self._proof, self._counts
        here, to = proof.both(pair)
        if not proof.timed(pair):
            counts.untimed += here.count
        if agrees(proof, pair):
            counts.equal += min(here.count, to.count)
            counts.expired += max(0, to.count - here.count)
            counts.deleted += max(0, here.count - to.count)
        elif pair in proof.lists:
            allowed = self._stand.allowed(pair[1])
            made, there = proof.lists[pair]
            self._listed(compare_lists(made, there, allowed, timed=proof.timed(pair)), pair)
        else:
            self._different = True
            many = f"{here.count:,} and {to.count:,} records"
            self._reasons.append(
                f"{pair[1]}: the digests of {many} differ, which are too many to compare one by"
                " one; compare fewer of them, with --from"
            )

    def _listed(self, found: ListedRows, pair: Pair) -> None:
        counts = self._counts
        counts.equal += found.equal - found.moved
        counts.expired += found.expired
        counts.deleted += found.deleted
        counts.compacted += found.compacted
        counts.compacted_there += found.compacted
        self._missing += found.missing
        self._extra += found.extra
        self._doubled += found.doubled
        self._moved += found.moved
        self._unproven += found.unproven
        if self._first < 0 and found.first >= 0:
            self._first = found.first
            self._reasons.append(f"first at offset {found.first} of {pair[1]}")

    def _differences(self) -> None:
        """Tell what differs, once all pairs are known."""
        elsewhere = (self._missing & self._extra).total()
        missing, extra = self._missing.total() - elsewhere, self._extra.total() - elsewhere
        changed = min(missing, extra)
        counts = self._counts
        counts.missing, counts.extra = missing - changed, extra - changed + self._doubled
        counts.changed = changed + self._moved + elsewhere
        told = (
            (changed, "differ from what the query makes now"),
            (counts.missing, "are missing on the target"),
            (extra - changed, "are on the target alone"),
            (self._doubled, "are on the target more often than they should"),
            (self._moved, "are in another order"),
            (elsewhere, "are in other partitions than the query says"),
        )
        sentences = [f"{number:,} records {what}" for number, what in told if number]
        self._reasons[:0] = sentences
        self._different |= bool(sentences)
        if self._unproven:
            many = counted(self._unproven, "record")
            self._reasons.append(f"{many} may have been compacted away on the target")
        if self._different and (self._stand.python or self._stand.joins):
            what = "calls Python" if self._stand.python else "joins other data"
            self._reasons.append(
                f"the query {what}, so it may have made other records then"
                " (docs/howto/transform.md)"
            )

    def _left(self, at: TransformedPosition) -> None:
        """Tell what of the source was not made again, and what the target no longer has."""
        stand, counts = self._stand, self._counts
        since = at.queries[-1][0] if at.queries else at.first
        if since > max(at.first, stand.earliest, stand.since):
            self._values_not += 1
            self._reasons.append(
                f"source offsets before {since} went through another query, or to another number of"
                f" partitions: {VALUES_NOT}"
            )
        if counts.expired:
            self._notes.append(
                f"{counts.expired:,} records were made of source offsets that are not compared, or"
                " that the source no longer has: counted, values not compared"
            )
        gone = at.read - self._proof.read.get(stand.row.tp, 0)
        if stand.first == at.first and gone > 0:
            self._notes.append(f"{gone:,} records that were read are no more at the source")
        if counts.untimed:
            self._notes.append(
                f"{counts.untimed:,} records compared without timestamps, which are the moment of"
                " writing"
            )
        if counts.deleted:
            text = f"{counts.deleted:,} records are no more on the target, which deleted them"
            (self._notes if self._may_delete else self._reasons).append(text)

    def _beside(self) -> None:
        if self._others:
            named = ", ".join(map(str, sorted(self._others_in)))
            text = f"{counted(self._others.total(), 'record')} of other producers in {named}"
            (self._notes if self._stand.shared else self._reasons).append(text)
            self._different |= not self._stand.shared
        if self._clients and self._stand.row.cut is not None:
            named = ", ".join(map(str, sorted(self._clients_in)))
            many = f"{counted(self._clients.total(), 'record')} in {named}"
            when = readable(self._stand.row.cut.at)
            whose = ", ".join(map(str, _writers(self._clients)))
            self._notes.append(
                f"{many} behind the cutover of {when} are the clients' own ({whose})"
            )
        if self._proof.beside.unsure and self._stand.told:
            many = counted(self._proof.beside.unsure, "record")
            self._reasons.append(
                f"{many} on the target may be of others: a transaction that stays open hides the"
                " positions of the link; compare again once it has ended"
            )

    def _judged(self) -> Verdict:
        if self._different:
            return Verdict.DIFFERENT
        if self._counts.deleted and not self._may_delete:
            return Verdict.DELETED
        if self._unproven:
            return Verdict.NOT_PROVEN
        return Verdict.LEFT_OUT if self._reasons else Verdict.EQUAL

    def _codes(self) -> Iterator[str]:
        yield from self._stand.row.codes
        if self._different:
            yield str(ReasonCode.DOUBLED) if self._doubled else "DIFFERENT"
        if self._counts.deleted and not self._may_delete:
            yield str(ReasonCode.TARGET_DELETED)
        if self._unproven:
            yield str(Verdict.NOT_PROVEN.name)

    def _comparison(self, at: TransformedPosition) -> Comparison:
        stand, proof = self._stand, self._proof
        made = there = Digest()
        rows = 0
        for pair in compared_pairs(proof, stand.row.tp, stand):
            one, other = proof.digests(pair)
            made, there = made.then(one), there.then(other)
            rows += proof.both(pair)[0].count
        read = proof.read.get(stand.row.tp, 0)
        tally = ((DROPPED, max(0, read - rows)), (READ, read)) if stand.first >= 0 else ()
        place = None
        if self._different:
            place = RecordDifference(-1, self._first, self._reasons[0])
        return Comparison(
            source=stand.row.tp,
            target=TopicPartition(stand.row.target_topic, stand.row.partition),
            first=max(stand.first, 0) if stand.first >= 0 else max(at.first, 0),
            end=at.end,
            source_digest=made,
            target_digest=there,
            counts=replace(self._counts, foreign=self._others.total()),
            bytes=proof.bytes if self._stand.told else 0,
            difference=place,
            tally=tally,
        )

    def _made(self, at: TransformedPosition | None) -> PartitionVerdict:
        row = self._stand.row
        comparison = self._comparison(at) if at is not None and not row.error else None
        if comparison is not None:
            self._notes += _made_of(comparison)
        judged = self._judged()
        lag = row.lag_records > 0 and not row.error
        late = judged is Verdict.LEFT_OUT and lag
        return PartitionVerdict(
            topic=row.topic,
            partition=row.partition,
            target_topic=row.target_topic,
            mode=row.mode,
            verdict=judged,
            why="; ".join(self._reasons),
            behind=max(0, row.lag_records),
            comparison=comparison,
            late=late and len(self._reasons) == 1,
            codes=tuple(self._codes()),
            notes=tuple(self._notes),
            others=_writers(self._others),
            clients=_writers(self._clients),
            counted_only=judged is Verdict.LEFT_OUT
            and bool(self._values_not)
            and len(self._reasons) == self._values_not + lag,
        )


def _writers(found: Counter[int]) -> tuple[OtherWriter, ...]:
    return tuple(OtherWriter(None, who, number) for who, number in found.most_common())
