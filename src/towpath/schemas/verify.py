"""Verification of schema ids: each is requested from the target, and compared."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass

from towpath.model.errors import ClusterError
from towpath.model.schemas import SchemaId, SchemaVersion, qualified
from towpath.registry.asking import answers
from towpath.registry.registry import Registry
from towpath.schemas.difference import SchemaDifference
from towpath.schemas.observed_schemas import ObservedSchemas

EQUAL, MISSING, DIFFERENT, UNKNOWN = "equal", "missing", "different", "unknown"


@dataclass(frozen=True, slots=True)
class ComparedVersion:
    """A version of the source, and its counterpart on the target.

    Attributes:
        at: Subject and version at the source.
        id: Its id at the source.
        place: Subject and version on the target, `None` if it is not there.
        target_id: Its id on the target, `None` if it is not there.
        verdict: `equal`, `missing`, `different`, or `unknown` where the target gave no answer.
        why: Why it is not equal, "" if it is.
    """

    at: SchemaVersion
    id: SchemaId
    place: SchemaVersion | None
    target_id: SchemaId | None
    verdict: str
    why: str = ""


def listed(seen: ObservedSchemas, found: SchemaDifference) -> Iterator[ComparedVersion]:
    """Yield all wanted versions with their target versions, from both registries' lists."""
    why: dict[str, str] = {}
    for problem in found.problems:
        why.setdefault(problem.about, problem.text)
    for name in sorted(seen.wanted):
        for number, each in sorted(seen.source[name].items()):
            at = SchemaVersion(name, number)
            place = found.places.get(at)
            if place is None:
                verdict = DIFFERENT if name in why else MISSING
                text = why.get(name, "it is not registered on the target yet")
                yield ComparedVersion(at, each.id, None, None, verdict, text)
                continue
            there = seen.target[place.subject][place.version]
            if place in seen.deleted and at not in seen.gone:
                text = "it is deleted on the target, so clients find it by its id alone"
                yield ComparedVersion(at, each.id, place, there.id, DIFFERENT, text)
            else:
                yield ComparedVersion(at, each.id, place, there.id, EQUAL)


def verified(
    seen: ObservedSchemas, found: SchemaDifference, target: Registry, pool: Executor
) -> Iterator[ComparedVersion]:
    """Yield all wanted versions after requesting every id from the target, as clients do."""
    rows = list(listed(seen, found))
    ids = {
        (row.target_id, qualified(row.place.subject).context)
        for row in rows
        if row.target_id is not None and row.place is not None
    }

    def body(each: tuple[SchemaId, str]) -> str:
        held = target.by_id(*each)
        return "" if held is None else held.body

    asked = dict(answers(pool, sorted(ids), body))
    for row in rows:
        if row.verdict != EQUAL or row.target_id is None or row.place is None:
            yield row
            continue
        wanted = seen.source[row.at.subject][row.at.version].body
        held = asked[row.target_id, qualified(row.place.subject).context]
        if isinstance(held, ClusterError):
            yield _other(row, UNKNOWN, str(held))
        elif not held:
            yield _other(row, MISSING, f"the target does not answer for id {row.target_id}")
        elif held != wanted:
            yield _other(row, DIFFERENT, f"the target has another schema under id {row.target_id}")
        else:
            yield row


def _other(row: ComparedVersion, verdict: str, why: str) -> ComparedVersion:
    return ComparedVersion(row.at, row.id, row.place, row.target_id, verdict, why)
