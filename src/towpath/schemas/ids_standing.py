"""The state of schema ids in records, from the ledger: decided and awaited ones. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from towpath.ledger.books.ids import IdBooks
from towpath.ledger.entries import AwaitedIds
from towpath.model.amounts import count, counted, shortened
from towpath.runtime.clock import readable
from towpath.settings import LinkConfig, SchemaIds

_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class IdsStanding:
    """The state of the schema id map of a link or a restore.

    Attributes:
        translated: How many ids of the source have an id on the target.
        untranslated: How many ids in records have none, by the code of the reason.
        awaited: What partitions wait for, in their order.
    """

    translated: int
    untranslated: Mapping[str, int]
    awaited: tuple[AwaitedIds, ...]

    @classmethod
    def of(cls, config: LinkConfig, books: IdBooks) -> Self | None:
        """Return the state of the id map, `None` for a link that keeps ids."""
        keeps = config.schemas is None or config.schemas.ids is SchemaIds.KEEP
        if keeps and not any(each.ids is not None and each.ids.by_file for each in config.changes):
            return None
        return cls.known(books)

    @classmethod
    def known(cls, books: IdBooks) -> Self:
        """Return the state of the id map in the ledger."""
        return cls(
            translated=sum(map(len, books.subjects.values())),
            untranslated=dict(sorted(books.passed.items())),
            awaited=tuple(each for _, each in sorted(books.awaited.items())),
        )

    def sentences(self) -> Iterator[str]:
        """Yield sentences about the id map, for people."""
        yield f"schemas: {count(self.translated)} ids of the source have an id on the target"
        for code, number in self.untranslated.items():
            yield f"schemas: {counted(number, 'id')} in records without one ({code})"
        for each in self.awaited:
            ids = [f"{id_} in keys" for id_ in each.keys]
            ids += [f"{id_} in values" for id_ in each.values]
            named = shortened(ids, _NAMED)
            yield f"{each.tp} waits for schema ids since {readable(each.at)}: {named}"
