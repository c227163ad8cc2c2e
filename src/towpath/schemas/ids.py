"""The pairs of schema ids of source and target, and why some have no counterpart. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from towpath.ledger.books.ids import IdBooks, SchemaName, Scope, written_ids
from towpath.ledger.entries import DecidedIds
from towpath.ledger.keys import new_name
from towpath.model.amounts import counted
from towpath.model.changes import SubjectStrategy
from towpath.model.errors import TowpathError, UnreachableError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import LinkName
from towpath.model.reasons import Reason, ReasonCode
from towpath.model.schemas import SchemaVersion, SubjectName, qualified
from towpath.model.subjects import may_use
from towpath.runtime.clock import now_ms
from towpath.schemas.observed_schemas import ObservedSchemas
from towpath.schemas.steps import SCHEMAS

Pairs = Mapping[SubjectName, Mapping[SchemaName, SchemaName]]
"""Ids on the target, by subject and id at the source."""
Places = Mapping[SchemaVersion, SchemaVersion]
_NONE: Scope = {}
TOGETHER = 1_000
"""Upper bound on the ids in one entry of the ledger."""
_LARGEST = 2**31 - 1
"""The largest id that the four bytes in a record hold."""


def pairs(seen: ObservedSchemas, places: Places) -> Pairs:
    """Return the id pairs of all source versions that the target holds.

    Args:
        seen: Both registries.
        places: Where versions of the source are on the target, as `diff` has compared them.
    """
    found: defaultdict[SubjectName, dict[SchemaName, SchemaName]] = defaultdict(dict)
    for at, place in sorted(places.items()):
        source = seen.source[at.subject][at.version]
        same = seen.same.get(at)
        there = same.id if same is not None else seen.target[place.subject][place.version].id
        if there <= _LARGEST:
            found[at.subject].setdefault(source.id, there)
    return found


def unusable(seen: ObservedSchemas, places: Places) -> Iterator[Problem]:
    """Yield a problem for each version whose target id does not fit into records."""
    for at, place in sorted(places.items()):
        there = seen.target.get(place.subject, {}).get(place.version)
        if there is not None and there.id > _LARGEST:
            text = (
                f"version {at.version} has id {there.id} on the target, and records have four bytes"
                f" for it, which hold {_LARGEST} at most; use a registry that gives smaller ids"
            )
            yield Problem(at.subject, text, Cause.SUBJECT)


def undecided(found: Pairs, books: IdBooks) -> dict[SubjectName, dict[SchemaName, SchemaName]]:
    """Return the id pairs without a decision in the ledger."""
    fresh = {
        subject: {
            name: becomes
            for name, becomes in ids.items()
            if name not in books.subjects.get(subject, _NONE)
        }
        for subject, ids in found.items()
    }
    return {subject: ids for subject, ids in fresh.items() if ids}


def conflicts(found: Pairs, books: IdBooks) -> Iterator[Note | Problem]:
    """Yield a finding for each id whose schema has changed, or differs between contexts.

    An id that is several under different subjects of a context is no conflict: each has its own.
    """
    contexts: defaultdict[SchemaName, set[str]] = defaultdict(set)
    for subject, ids in sorted(found.items()):
        decided = books.subjects.get(subject, _NONE)
        for name, becomes in ids.items():
            contexts[name].add(qualified(subject).context)
            if name in decided and decided[name].becomes != becomes:
                before = decided[name].becomes
                text = (
                    f"id {name} of the source was id {before} on the target when records were"
                    f" written with it, and is {becomes} now; records keep {before}, so register"
                    " the schema there under that id again"
                )
                yield Problem(subject, text, Cause.SUBJECT)
    several = [name for name, places in contexts.items() if len(places) > 1]
    if several:
        names = ", ".join(sorted({place for name in several for place in contexts[name]}))
        text = (
            f"{counted(len(several), 'id')} of the source mean other schemas in the contexts"
            f" {names}, and records do not tell their context: where records of a topic may name"
            " several of them, the id that was registered first counts"
        )
        yield Note(SCHEMAS, text)


def registered(link: LinkName, found: Pairs) -> list[DecidedIds]:
    """Return ledger entries for the ids of schemas that the target has."""
    made: list[DecidedIds] = []
    rows = [(subject, name, ids[name]) for subject, ids in found.items() for name in ids]
    for first in range(0, len(rows), TOGETHER):
        subjects: defaultdict[str, dict[SchemaName, SchemaName | None]] = defaultdict(dict)
        for subject, name, becomes in rows[first : first + TOGETHER]:
            subjects[subject][name] = becomes
        told = {subject: written_ids(ids) for subject, ids in subjects.items()}
        made.append(DecidedIds(link=link, name=new_name(), at=now_ms(), subjects=told))
    return made


def why_unknown(
    seen: ObservedSchemas,
    troubles: Mapping[str, str | TowpathError],
    scope: tuple[SubjectStrategy, str, str],
    name: SchemaName,
) -> Reason:
    """Return why a schema id has no target id, given both registries.

    Where a registry did not answer what the id hangs on, that is the reason, and says nothing of
    the id.

    Args:
        seen: Both registries.
        troubles: What keeps subjects from the target, by their names on either side.
        scope: How subjects are named, the source topic, and the part of its records.
        name: The id at the source.
    """
    if seen.trouble is not None:
        return Reason.of(ReasonCode.SCHEMAS_UNSEEN, why=str(seen.trouble))
    strategy, topic, part = scope
    having = [
        subject
        for subject, versions in sorted(seen.source.items())
        if any(each.id == name for each in versions.values())
    ]
    fitting = [each for each in having if may_use(strategy, topic, part, each)]
    for subject, error in sorted(seen.failed.items()):
        about = subject in fitting if fitting else may_use(strategy, topic, part, subject)
        if about and isinstance(error, UnreachableError):
            return Reason.of(ReasonCode.SCHEMAS_UNSEEN, why=str(error))
    if not having:
        return Reason.of(ReasonCode.SCHEMA_ID_ABSENT)
    if not fitting:
        return Reason.of(ReasonCode.SCHEMA_ID_ELSEWHERE, subject=having[0], strategy=str(strategy))
    wanted = [each for each in fitting if each in seen.wanted]
    if not wanted:
        return Reason.of(ReasonCode.SCHEMA_ID_LEFT_OUT, subject=fitting[0])
    return _not_registered(wanted, seen, troubles)


def _not_registered(
    wanted: Collection[SubjectName],
    seen: ObservedSchemas,
    troubles: Mapping[str, str | TowpathError],
) -> Reason:
    for subject in wanted:
        for about in (subject, seen.wanted[subject]):
            trouble = troubles.get(about)
            if isinstance(trouble, UnreachableError):
                return Reason.of(ReasonCode.SCHEMAS_UNSEEN, why=str(trouble))
            if trouble is not None:
                code = ReasonCode.SCHEMA_ID_NOT_REGISTERED
                return Reason.of(code, subject=subject, why=str(trouble))
    # Nothing keeps it back, so it was registered behind the last look, or is about to be.
    subject = next(iter(wanted))
    why = f"the target does not show the schema of {subject} yet"
    return Reason.of(ReasonCode.SCHEMAS_UNSEEN, why=why)
