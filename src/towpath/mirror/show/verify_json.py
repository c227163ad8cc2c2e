"""The result of `towpath verify` as JSON for programs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from towpath.compare.work import Comparison, RecordDifference
from towpath.mirror.show.entries_json import open_as_json
from towpath.mirror.show.shapes import deleted_as_json, risks_as_json
from towpath.mirror.show.verify_shapes import (
    ComparedPartitionJson,
    DifferenceJson,
    DigestJson,
    GoneJson,
    IdAnswerJson,
    SchemaProofJson,
    StretchJson,
    VerifyJson,
    WriterJson,
)
from towpath.mirror.verify.gone import Gone
from towpath.mirror.verify.schema_proof import IdAnswer, SchemaProof
from towpath.mirror.verify.surplus import OtherWriter
from towpath.mirror.verify.verdict import PartitionVerdict, Verdict
from towpath.model.digest import Digest
from towpath.wire.naming import IdSample


def report(
    link: str, sample: int | None, rows: Sequence[PartitionVerdict], seconds: float
) -> VerifyJson:
    """Return the result of a comparison for programs.

    Args:
        link: The link.
        sample: Seed of the random sample, `None` if everything was compared.
        rows: The verdicts on its partitions.
        seconds: How long the comparison took.
    """
    return VerifyJson(
        link=link,
        equal=bool(rows) and all(row.verdict is Verdict.EQUAL for row in rows),
        seconds=round(seconds, 1),
        sample_seed=sample,
        bytes=sum(row.comparison.bytes for row in rows if row.comparison),
        records=sum(row.comparison.counts.equal for row in rows if row.comparison),
        behind=sum(row.behind for row in rows),
        deleted=sum(row.gone.deleted for row in rows),
        unstable=sum(row.open.offsets for row in rows if row.open),
        at_risk=risks_as_json({row.topic: row.risk for row in rows if row.risk}.values()),
        partitions=[_partition(row) for row in rows],
    )


def schemas_as_json(proof: SchemaProof, sample: IdSample) -> SchemaProofJson:
    """Return the comparison of schema ids for programs."""
    return SchemaProofJson(
        equal=proof.equal,
        records=proof.records,
        one_in=sample.one_in,
        seed=sample.seed,
        ids=[_answer(each) for each in proof.ids],
        holes=list(proof.holes),
        notes=list(proof.notes),
        requests=proof.requests,
    )


def hexadecimal(number: int) -> str:
    """Return a digest as 16 hexadecimal digits."""
    return f"{number:016x}"


def _partition(row: PartitionVerdict) -> ComparedPartitionJson:
    told = ComparedPartitionJson(
        topic=row.topic,
        partition=row.partition,
        target_topic=row.target_topic,
        mode=row.mode,
        verdict=str(row.verdict),
        why=row.why,
        codes=list(row.codes),
        behind=row.behind,
        notes=list(row.notes),
        others=_writers(row.others),
        clients=_writers(row.clients),
        gone=gone_as_json(row.gone),
        open_transaction=open_as_json(row.open) if row.open is not None else None,
    )
    if row.comparison is not None:
        _add(told, row.comparison)
    return told


def _add(told: ComparedPartitionJson, found: Comparison) -> None:
    """Add what a comparison found; the order of the keys is that of the output."""
    counts = found.counts
    told["first"] = found.first
    told["end"] = found.end
    told["source_digest"] = _digest(found.source_digest)
    told["target_digest"] = _digest(found.target_digest)
    told["difference"] = _difference(found.difference)
    told["equal"] = counts.equal
    told["unopened"] = counts.unopened
    told["changed"] = counts.changed
    told["missing"] = counts.missing
    told["extra"] = counts.extra
    told["compacted"] = counts.compacted
    told["compacted_there"] = counts.compacted_there
    told["deleted"] = counts.deleted
    told["due"] = counts.due
    told["expired"] = counts.expired
    told["replaced"] = counts.replaced
    told["foreign"] = counts.foreign
    told["untimed"] = counts.untimed
    told["twin"] = counts.twin
    told["uncommitted"] = counts.uncommitted
    told["doubled"] = found.doubled.records
    told["doubled_stretches"] = [
        StretchJson(first=each.first, end=each.end, records=each.records)
        for each in found.doubled.stretches
    ]
    told["beyond"] = found.beyond
    told["changes"] = dict(found.tally)


def _writers(found: Iterable[OtherWriter]) -> list[WriterJson]:
    return [
        WriterJson(link=each.link, producer=each.producer, records=each.records) for each in found
    ]


def gone_as_json(found: Gone) -> GoneJson:
    """Return the records that are missing on either side, for programs."""
    return GoneJson(
        target=deleted_as_json(found.target) if found.target is not None else None,
        source=found.source,
        both=found.both,
        compacted_target=found.compacted_target,
        compacted_source=found.compacted_source,
        cleaned=deleted_as_json(found.cleaned) if found.cleaned is not None else None,
    )


def _digest(digest: Digest) -> DigestJson:
    return DigestJson(
        records=digest.records,
        ordered=hexadecimal(digest.ordered),
        unordered=hexadecimal(digest.unordered),
    )


def _difference(found: RecordDifference | None) -> DifferenceJson | None:
    if found is None:
        return None
    return DifferenceJson(
        source_offset=found.source_offset, target_offset=found.target_offset, what=found.what
    )


def _answer(each: IdAnswer) -> IdAnswerJson:
    return IdAnswerJson(
        topic=each.topic,
        target_topic=each.target_topic,
        part=str(each.part),
        id=each.id,
        source_ids=list(each.source_ids),
        verdict=str(each.verdict),
        why=each.why,
        records=each.records,
        partition=each.partition,
        offset=each.offset,
    )
