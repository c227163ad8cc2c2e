"""The dependencies of clients at the source, and sentences about them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from towpath.model.amounts import counted, shortened
from towpath.model.findings import Note
from towpath.model.nouns import TopicName

PAGE = "docs/what-moves.md"
_NAMED = 3
_SHARE = "share"
_PROMOTED = "a promotion through the gateway moves them with their topics"


@dataclass(frozen=True, slots=True, kw_only=True)
class Staying:
    """The things that clients of mirrored topics use at the source and that are not copied.

    Attributes:
        groups: Consumer groups with commits on mirrored topics.
        share_groups: Share groups with start offsets on mirrored topics.
        streams_groups: Groups of the Streams protocol with commits on mirrored topics.
        schemas: Topics whose last records begin with a schema id, each with one such id.
        schemas_move: Whether the file asks for the schemas of the registry.
        transactional: Transactional ids of producers of mirrored topics.
        left_out: Topics that are not mirrored, each with the groups and producers that also use
            mirrored topics.
        unseen_groups: Why some consumer groups may be missing here, "" if none can be.
        unknown: What else could not be looked at, and why.
        chosen: Whether the file says which groups are brought over; these groups are not among
            them.
        relayed: Whether the file has a gateway, whose promotions move groups and transactional ids;
            share groups stay.
        through_query: Whether records go through a query, so that groups can go on only at the end.
    """

    groups: tuple[str, ...] = ()
    share_groups: tuple[str, ...] = ()
    streams_groups: tuple[str, ...] = ()
    schemas: Mapping[TopicName, int] = field(default_factory=dict)
    schemas_move: bool = False
    transactional: tuple[str, ...] = ()
    left_out: Mapping[TopicName, tuple[str, ...]] = field(default_factory=dict)
    unseen_groups: str = ""
    unknown: tuple[str, ...] = ()
    chosen: bool = False
    relayed: bool = False
    through_query: bool = False

    @property
    def of_groups(self) -> tuple[str, ...]:
        """Sentences about consumer groups, which a cutover must acknowledge.

        Groups that the file leaves out need no more than that.
        """
        found = [] if self.chosen else [*self._left()]
        if self.unseen_groups:
            found.append(f"could not look for all consumer groups: {self.unseen_groups}")
        return tuple(found)

    def _left(self) -> Iterator[str]:
        why = (
            "`groups` in the file leaves them out, so they begin anew on the target"
            if self.chosen
            else "the file has no section `groups`, so they would begin anew on the target; add"
            " `groups: {}` to bring them over"
        )
        if self.through_query and not self.chosen:
            why = (
                "the file has no section `groups`, so they would begin anew on the target; add"
                " `groups: {}` to let those that have read everything go on where the mirror topics"
                " end"
            )
        moved = f"{_PROMOTED}; without one, " if self.relayed else ""
        yield from (
            f"{counted(len(names), f'{kind} group')} with {offsets} on mirrored topics"
            f" ({_some(names)}): {moved if kind != _SHARE else ''}{why} ({PAGE})"
            for kind, offsets, names in (
                ("consumer", "commits", self.groups),
                (_SHARE, "start offsets", self.share_groups),
                ("streams", "commits", self.streams_groups),
            )
            if names
        )

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes for the time before the clients move, without those in `of_groups`."""
        return tuple(self._notes())

    def _notes(self) -> Iterator[Note]:
        if self.chosen:
            yield from (Note("groups", text) for text in self._left())
        if self.schemas and not self.schemas_move:
            topic, number = min(self.schemas.items())
            text = (
                f"records of {counted(len(self.schemas), 'topic')} ({_some(self.schemas)}) seem to"
                f" begin with the id of a schema, such as {number} in {topic}; the schema registry"
                " does not move without `schemas` in the file: clients on the target need one"
                " that has these ids"
            )
            yield Note("schemas", f"{text} ({PAGE})")
        if self.transactional:
            text = (
                f"{counted(len(self.transactional), 'transactional id')} of producers of mirrored"
                f" topics ({_some(self.transactional)}): "
                + (f"{_PROMOTED}; without one, " if self.relayed else "")
                + "the state of transactions does not move; their producers begin anew on the"
                " target"
            )
            yield Note("transactions", f"{text} ({PAGE})")
        for topic, users in sorted(self.left_out.items()):
            text = (
                f"the file leaves it out, but clients of mirrored topics use it ({_some(users)});"
                " add it to `topics.include` if they need it on the target"
            )
            yield Note(topic, text)
        for why in self.unknown:
            yield Note("source", f"could not look {why}")


def _some(names: Collection[str]) -> str:
    return shortened(sorted(names), _NAMED)
