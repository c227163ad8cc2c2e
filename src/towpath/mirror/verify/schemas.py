"""The comparison of both registries' answers for each schema id in records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.compare.decided import decided_ids
from towpath.ledger.ledger import Ledger
from towpath.mirror.verify.origins import IdOrigin, IdOrigins
from towpath.mirror.verify.schema_proof import PROVEN, WORST_FIRST, IdAnswer, IdVerdict, SchemaProof
from towpath.mirror.verify.verdict import PartitionVerdict, Verdict
from towpath.model.errors import ClusterError, ConfigError, ConfigProblem
from towpath.model.nouns import Side, TopicName
from towpath.model.schemas import DEFAULT_CONTEXT, Schema, SubjectName, qualified
from towpath.registry.pool import AskingPool
from towpath.registry.registry import Registry
from towpath.schemas.answers import RecordId, SchemaAnswers
from towpath.settings import LinkConfig, SchemasConfig
from towpath.settings.sections.changes import section_of
from towpath.wire.naming import MOST, NamedId, Part


class _Key(NamedTuple):
    topic: TopicName
    part: Part
    id: RecordId
    change: str


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an id is named."""

    row: PartitionVerdict
    named: NamedId


class Prover:
    """Requests the schema ids in records from both registries.

    Args:
        answers: What both registries answer.
        subjects: The subjects of the source, with their contexts.
        origins: Reads which ids the source's records had.
        context: Returns the context on the target of one of the source, `None` if it has none.
        without: Whether the file says that a part of the records of a topic has no schemas.
    """

    def __init__(
        self,
        answers: SchemaAnswers,
        subjects: Iterable[SubjectName],
        origins: Callable[[], IdOrigins] = IdOrigins,
        context: Callable[[str], str | None] = str,
        without: Callable[[TopicName, Part], bool] = lambda _topic, _part: False,
    ) -> None:
        self._answers, self._read_origins, self._context = answers, origins, context
        self._without = without
        self._origins = IdOrigins()
        self._contexts: dict[str, list[str]] = {}
        for name in sorted(subjects):
            parts = qualified(name)
            self._contexts.setdefault(parts.name, []).append(parts.context)

    def prove(self, rows: Sequence[PartitionVerdict]) -> SchemaProof:
        """Return the verdict on each id in the records of compared partitions."""
        topics: dict[TopicName, list[PartitionVerdict]] = {}
        for row in rows:
            topics.setdefault(row.topic, []).append(row)
        random = {
            (topic, part)
            for topic, some in topics.items()
            for part in Part
            if not self._has_subject(topic, part) and _is_random(some, part)
        }
        places: dict[_Key, list[_Place]] = {}
        for row in rows:
            for named in row.ids.named.ids if row.ids is not None else ():
                if (row.topic, named.part) not in random:
                    key = _Key(row.topic, named.part, named.id, named.change)
                    places.setdefault(key, []).append(_Place(row, named))
        if any(key.change for key in places):
            self._origins = self._read_origins()
        self._ask(places)
        return SchemaProof(
            ids=tuple(self._answer(key, places[key]) for key in sorted(places, key=_order)),
            records=sum(row.ids.named.looked for row in rows if row.ids is not None),
            holes=tuple(self._holes(rows)),
            notes=(*_random(random), *_glue(rows)),
            requests=self._answers.requests,
        )

    def _ask(self, keys: Iterable[_Key]) -> None:
        """Begin to ask both registries, several ids at once."""
        for key in keys:
            for ours, theirs in () if self._has_none(key) else self._where(key):
                names = self._origins.of(*key).ids
                self._answers.ask(Side.SOURCE, [(name, ours) for name in names])
                self._answers.ask(Side.TARGET, [(key.id, theirs)] if theirs is not None else ())

    def _where(self, key: _Key) -> list[tuple[str, str | None]]:
        """Return the contexts of the topic at the source, each with that on the target."""
        found = self._contexts.get(f"{key.topic}-{key.part}", [DEFAULT_CONTEXT])
        return [(each, self._context(each)) for each in found]

    def _answer(self, key: _Key, places: Sequence[_Place]) -> IdAnswer:
        first = min(places, key=lambda each: each.row.partition)
        origin = self._origins.of(*key)
        verdict, why = self._verdict(key, origin)
        return IdAnswer(
            topic=key.topic,
            target_topic=first.row.target_topic,
            part=key.part,
            id=key.id,
            source_ids=origin.ids,
            verdict=verdict,
            why=why,
            records=sum(each.named.records for each in places),
            partition=first.row.partition,
            offset=first.named.first,
        )

    def _verdict(self, key: _Key, origin: IdOrigin) -> tuple[IdVerdict, str]:
        if self._has_none(key):
            why = f"the file says that {key.part}s of {key.topic} have no schemas"
            return IdVerdict.NO_ID, f"{why}, and the source has no subject {key.topic}-{key.part}"
        try:
            places = self._where(key)
            if origin.given:
                return _given(self._target(key, places[0][1]))
            held = [each for each in places if self._has_any(origin.ids, each[0])]
            found = [
                self._judged(key, name, each, foreign=origin.foreign and name == key.id)
                for each in held or places[:1]
                for name in origin.ids
            ]
        except ClusterError as error:
            return IdVerdict.UNKNOWN, str(error)
        return min(found, key=lambda each: WORST_FIRST.index(each[0]))

    def _has_any(self, names: Iterable[RecordId], context: str) -> bool:
        asked = (self._answers.by_id(Side.SOURCE, name, context) for name in names)
        return any(each is not None for each in asked)

    def _target(self, key: _Key, context: str | None) -> Schema | None:
        return None if context is None else self._answers.by_id(Side.TARGET, key.id, context)

    def _judged(
        self, key: _Key, name: RecordId, contexts: tuple[str, str | None], *, foreign: bool
    ) -> tuple[IdVerdict, str]:
        """Return the verdict on an id at the source; one that passed unchanged is named so.

        Deserializers ask for an id, whatever its subject is: what the source answers for it counts,
        and not what the subjects of the topic are.
        """
        if not foreign:
            return self._compared(key, name, contexts)
        if self._answers.by_id(Side.SOURCE, name, contexts[0]) is None:
            return IdVerdict.NO_ID, "by the ledger, no schema that the records may use has it"
        verdict, why = self._compared(key, name, contexts)
        return verdict, f"{why}{_mend(key.part)}" if verdict not in PROVEN else why

    def _compared(
        self, key: _Key, name: RecordId, contexts: tuple[str, str | None]
    ) -> tuple[IdVerdict, str]:
        """Return what the registries answer: the source for `name`, the target for its own id."""
        target, topic = self._target(key, contexts[1]), key.topic
        source = self._answers.by_id(Side.SOURCE, name, contexts[0])
        if source is None:
            return self._without_source(topic, key.part, target)
        if target is None:
            return IdVerdict.MISSING, f"the target has no such id{self._whose(topic, name)}"
        differs = self._answers.difference(source, target)
        if not differs:
            return IdVerdict.EQUAL, ""
        return IdVerdict.DIFFERENT, f"the target has {differs}{self._whose(topic, name)}"

    def _without_source(
        self, topic: TopicName, part: Part, target: Schema | None
    ) -> tuple[IdVerdict, str]:
        if not self._has_subject(topic, part):
            return IdVerdict.NO_ID, f"the source has neither it nor a subject {topic}-{part}"
        if target is not None:
            return IdVerdict.DIFFERENT, "the source has no such id, but the target has"
        return IdVerdict.LOST, "neither registry has it"

    def _whose(self, topic: TopicName, name: RecordId) -> str:
        """Return whose id it is at the source, and whether it may be none, for a sentence."""
        users = self._answers.users(Side.SOURCE, name)
        if not users:
            return ""
        told = f"; at the source, id {name} is {users[0]}"
        if any(each.subject.startswith(f"{topic}-") for each in users):
            return told
        return f"{told}, and these bytes may be no id"

    def _has_subject(self, topic: TopicName, part: Part) -> bool:
        return f"{topic}-{part}" in self._contexts

    def _has_none(self, key: _Key) -> bool:
        """Whether there are no schemas by the file, and the source's registry does not object."""
        return self._without(key.topic, key.part) and not self._has_subject(key.topic, key.part)

    def _holes(self, rows: Iterable[PartitionVerdict]) -> Iterator[str]:
        for row in rows:
            seen, where = row.ids, f"{row.target_topic}-{row.partition}"
            if seen is None:
                if row.verdict is not Verdict.EQUAL:
                    yield f"{where}: no record was looked at: {row.why}"
                continue
            if seen.unread:
                yield f"{where}: {seen.unread:,} records from offset {seen.unread_at} are damaged"
            for part in Part:
                more = seen.named.more(part)
                if more and self._has_subject(row.topic, part):
                    yield (
                        f"{where}: {more:,} records name further ids in the {part}: the others name"
                        f" {MOST:,} different ones already"
                    )


@contextmanager
def proving(config: LinkConfig) -> Iterator[Prover]:
    """Open a prover for a file's registries, which must answer now.

    Raises:
        ClusterError: A registry cannot be asked.
        ConfigError: The file names no registries.
    """
    schemas = config.schemas
    if schemas is None:
        text = "is required for --schemas: the registries of both sides (docs/schemas.md)"
        raise ConfigError((ConfigProblem("schemas", text),))
    with ExitStack() as stack:
        pool = stack.enter_context(AskingPool(schemas.max_requests))
        source = Registry(schemas.source, Side.SOURCE, schemas.max_requests)
        stack.callback(source.close)
        target = Registry(schemas.target, Side.TARGET, schemas.max_requests)
        stack.callback(target.close)
        target.settings.mode()
        contexts = source.contexts() or {DEFAULT_CONTEXT}
        subjects = source.subjects(contexts, deleted=True)
        answers = SchemaAnswers(source, target, pool)
        contexts_there, without = _contexts(schemas), _without(config)
        yield Prover(answers, subjects, lambda: _origins(config), contexts_there, without)


def _without(config: LinkConfig) -> Callable[[TopicName, Part], bool]:
    def has_none(topic: TopicName, part: Part) -> bool:
        section = section_of(config.changes, topic)
        return section is not None and section.ids is not None and not section.ids.has(part)

    return has_none


def _contexts(config: SchemasConfig) -> Callable[[str], str | None]:
    def mapped(context: str) -> str | None:
        try:
            return config.target_context(context)
        except ConfigError:
            return None

    return mapped


def _order(key: _Key) -> tuple[str, str, bool, RecordId, str]:
    return key.topic, key.part, isinstance(key.id, str), key.id, key.change


def _mend(part: Part) -> str:
    """Return what to do about an id that passed unchanged, as no subject of the topic has it."""
    return (
        "; it passed unchanged, as the topic has no subject with it by the names of subjects in the"
        f" file: if it is an id, set `changes.ids.{part}: record` and copy the topic again under"
        f" another `link` name, if these bytes are none, set `changes.ids.{part}: none`"
    )


def _given(target: Schema | None) -> tuple[IdVerdict, str]:
    if target is None:
        return IdVerdict.MISSING, "the target has no such id, which the file gives"
    return IdVerdict.GIVEN, "the file gives it for a schema of AWS Glue, which was not asked"


def _origins(config: LinkConfig) -> IdOrigins:
    """Read which ids the source's records had."""
    with ExitStack() as stack:
        target = stack.enter_context(Admin(config.target, Side.TARGET))
        client = stack.enter_context(Client(config.target, Side.TARGET, target))
        ledger = Ledger(target, client)
        return IdOrigins(ledger.books(config.link).changes, decided_ids(ledger, config.link))


def _is_random(rows: Iterable[PartitionVerdict], part: Part) -> bool:
    return any(row.ids is not None and row.ids.named.more(part) for row in rows)


def _random(found: Iterable[tuple[TopicName, Part]]) -> Iterator[str]:
    for topic, part in sorted(found):
        yield (
            f"{topic}: the {part} begins with more than {MOST:,} different numbers and the source"
            f" has no subject {topic}-{part}, so they are no ids"
        )


def _glue(rows: Iterable[PartitionVerdict]) -> Iterator[str]:
    found: dict[TopicName, int] = {}
    for row in rows:
        if row.ids is not None and row.ids.named.glue:
            found[row.topic] = found.get(row.topic, 0) + row.ids.named.glue
    for topic, number in sorted(found.items()):
        yield (
            f"{topic}: {number:,} keys or values have the header of AWS Glue, whose schemas are in"
            " neither registry"
        )
