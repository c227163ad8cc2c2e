"""Subjects that no topic refers to, where schema ids are rewritten. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from towpath.model.amounts import shortened
from towpath.model.findings import Note
from towpath.model.nouns import TopicName
from towpath.model.schemas import qualified
from towpath.model.subjects import KEY, VALUE
from towpath.schemas.observed_schemas import ObservedSchemas
from towpath.settings import LinkConfig, SchemaIds
from towpath.settings.sections.changes import section_of

_NAMED = 3


def unnamed_subjects(
    config: LinkConfig, topics: Collection[TopicName], seen: ObservedSchemas
) -> Iterator[Note]:
    """Yield a note if producers seem to name subjects differently than the file.

    Records whose ids are of other subjects than the topic's pass unchanged for ever, and no client
    of the target can read them. So this is asked before the first of them is copied.

    Args:
        config: The link's configuration.
        topics: The source topics that are mirrored.
        seen: Both registries.
    """
    if config.schemas is None or config.schemas.ids is not SchemaIds.TRANSLATE:
        return
    names = {qualified(each).name: each for each in seen.wanted}
    own = {f"{topic}-{part}": topic for topic in topics for part in (KEY, VALUE)}
    strange = sorted(names[each] for each in names.keys() - own.keys() - _referred_to(seen))
    having = {own[each] for each in names.keys() & own.keys()}
    without = sorted(each for each in topics if each not in having and not _says(config, each))
    if strange and without:
        yield Note(
            "schemas",
            "subjects that fit no topic by the names TOPIC-key and TOPIC-value:"
            f" {len(strange):,} ({_some(strange)}); topics without a subject: {len(without):,}"
            f" ({_some(without)}); where the records of these name them, set `changes.ids` to"
            " `{key: record, value: record}` or `topic-record` before they are copied, as"
            " ids that pass unchanged cannot be read on the target; where they have no schemas,"
            " `none`",
        )


def _says(config: LinkConfig, topic: TopicName) -> bool:
    """Whether the file says how the subjects of a topic are named."""
    section = section_of(config.changes, topic)
    return section is not None and section.ids is not None


def _referred_to(seen: ObservedSchemas) -> set[str]:
    """Return the subjects that other schemas refer to, which records need not name."""
    versions = (each for subject in seen.wanted for each in seen.source.get(subject, {}).values())
    return {qualified(ref.to.subject).name for each in versions for ref in each.references}


def _some(names: Sequence[str]) -> str:
    return shortened(names, _NAMED)
