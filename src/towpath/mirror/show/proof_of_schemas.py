"""The display of the schema ids that `towpath verify --schemas` compared."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from towpath.cli.show.grid import Grid
from towpath.mirror.verify.schema_proof import IdAnswer, IdVerdict, SchemaProof
from towpath.model.amounts import count, counted
from towpath.wire.naming import IdSample

_HEADERS = ("topic", "part", "id", "records", "first", "answer", "why")
_NAMED = 50
"""Most ids that are shown as text; the report and JSON have all."""


def picture(proof: SchemaProof, sample: IdSample) -> Iterator[RenderableType]:
    """Yield the differing ids, holes and notes, and a closing sentence."""
    wrong = [each for each in proof.ids if each.verdict is not IdVerdict.EQUAL]
    if wrong:
        rows = map(_row, wrong[:_NAMED])
        yield Grid(_HEADERS, rows, right=("id", "records"), below=["why"])
    if len(wrong) > _NAMED:
        yield Text(f"and {counted(len(wrong) - _NAMED, 'id')} more, in the report")
    yield from map(Text, (*proof.holes, *proof.notes))
    yield Text(_sentence(proof, sample))


def _row(each: IdAnswer) -> tuple[str, ...]:
    first = f"{each.target_topic}-{each.partition}, offset {each.offset}"
    about = each.topic, each.part, str(each.id)
    return *about, count(each.records), first, str(each.verdict), each.why


def _sentence(proof: SchemaProof, sample: IdSample) -> str:
    equal = sum(each.verdict is IdVerdict.EQUAL for each in proof.ids)
    looked = f"{count(proof.records)} records looked at"
    some = f" (one in {count(sample.one_in)}, --seed {sample.seed})" if sample.one_in > 1 else ""
    ids = counted(len(proof.ids), "schema id")
    return f"schemas: the target answers equally for {equal} of {ids}; {looked}{some}"
