"""Schema ids in records that the target's registry answers differently. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from towpath.mirror.verify.schema_proof import PROVEN, IdAnswer, SchemaProof
from towpath.model.amounts import counted

_NAMED = 20
"""Most ids that are named one by one; the report has all."""
_ACKNOWLEDGE = "to cut over all the same, add --without-schemas"


def unproven(proof: SchemaProof) -> Iterator[str]:
    """Yield a sentence for each schema id that clients could not resolve on the target."""
    wrong = [each for each in proof.ids if each.verdict not in PROVEN]
    yield from map(_sentence, wrong[:_NAMED])
    if len(wrong) > _NAMED:
        yield f"{counted(len(wrong) - _NAMED, 'schema id')} more, in the report; {_ACKNOWLEDGE}"
    yield from (f"schema ids were not looked at: {hole}; {_ACKNOWLEDGE}" for hole in proof.holes)


def _sentence(each: IdAnswer) -> str:
    where = f"{each.target_topic}-{each.partition}, offset {each.offset}"
    records = counted(each.records, "record")
    return (
        f"{each.topic}: schema id {each.id} of the {each.part} in {records}, the first at {where}:"
        f" {each.why}; {_ACKNOWLEDGE}"
    )
