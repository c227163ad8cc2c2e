"""The conditions of rules in the section `changes`: which records are dropped or kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field, StrictBool

from towpath.model.changes import BytesMatch, DropRule, Encoding
from towpath.settings.shape import Placed, Section, contradictions
from towpath.settings.times import Moment

MOST_NAME = 249
"""Upper bound on the length of a header's name, in characters."""


def encodable(text: str) -> str:
    """Return a text unchanged if it can be written as UTF-8.

    Raises:
        ValueError: It has half of a surrogate pair.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("has half of a surrogate pair, which no bytes stand for") from None
    return text


Text = Annotated[str, AfterValidator(encodable)]
HeaderName = Annotated[str, Field(min_length=1, max_length=MOST_NAME)]


class MatchConfig(Section):
    """The texts that a key or a header's value must equal or begin with."""

    equals: tuple[Text, ...] = Field((), description="It must be equal to one of these texts, ...")
    prefixes: tuple[Text, ...] = Field((), description="... or begin with one of these.")
    encoding: Encoding = Field(
        Encoding.TEXT,
        description="Whether these are `text` (UTF-8), or bytes in `hex`, two digits each.",
    )

    @contradictions
    def _no_bytes(self) -> Iterator[Placed]:
        for key in ("equals", "prefixes") if self.encoding is Encoding.HEX else ():
            for index, text in enumerate(getattr(self, key, ())):
                try:
                    bytes.fromhex(text)
                except ValueError:
                    yield Placed((key, index), "is not bytes in hex, such as 00ff")

    @property
    def is_empty(self) -> bool:
        """Whether the section gives no text."""
        return not (self.equals or self.prefixes)

    def match(self) -> BytesMatch | None:
        """Return the section as a condition, `None` if any bytes match."""
        if self.is_empty:
            return None
        return BytesMatch(equal=self.equals, prefixes=self.prefixes, encoding=self.encoding)


class HeaderMatchConfig(MatchConfig):
    """A header that a record must have; without texts, its value does not matter."""

    name: HeaderName = Field(description="Name of the header; its last one counts.")


class ConditionsConfig(Section):
    """The conditions of a rule, all of which must hold."""

    name: HeaderName | None = Field(
        None,
        description="Name of the rule in metrics and messages. Default: its conditions, such as"
        " `key+tombstones`.",
    )
    key: MatchConfig | None = Field(None, description="What the key must be.")
    header: HeaderMatchConfig | None = Field(
        None, description="A header that the record must have."
    )
    before: Moment | None = Field(
        None,
        description="The timestamp must be earlier than this: ISO 8601 with a zone, or milliseconds"
        " since 1970. Records without timestamp are never meant.",
    )
    since: Moment | None = Field(None, description="The timestamp must not be earlier than this.")
    provenance: HeaderName | None = Field(
        None,
        description="Name of a header that must name the target's cluster, alone or in a list with"
        " commas: such records come from there.",
    )
    tombstones: StrictBool = Field(False, description="The value must be null.")

    @contradictions
    def _conditions(self) -> Iterator[Placed]:
        if not self._given():
            yield Placed((), "would mean every record; give a condition, such as `key`")

    @contradictions
    def _key(self) -> Iterator[Placed]:
        if self.key is not None and self.key.is_empty:
            yield Placed(("key",), "needs `equals` or `prefixes`")

    @contradictions
    def _times(self) -> Iterator[Placed]:
        if self.before is not None and self.since is not None and self.before <= self.since:
            yield Placed(("before",), "is not later than `since`, so no record is meant")

    def _given(self) -> list[str]:
        timed = self.before is not None or self.since is not None
        given = {
            "key": self.key, "header": self.header, "timestamp": timed or None,
            "provenance": self.provenance, "tombstones": self.tombstones or None,
        }  # fmt: skip
        return [name for name, condition in given.items() if condition is not None]

    def rule(self) -> DropRule:
        """Return the rule that the section describes."""
        return DropRule(
            name=self.name or "+".join(self._given()),
            key=self.key.match() if self.key else None,
            header=self.header.name if self.header else None,
            value=self.header.match() if self.header else None,
            before=self.before,
            since=self.since,
            provenance=self.provenance,
            tombstone=self.tombstones,
        )


class DropConfig(ConditionsConfig):
    """A rule for records that are not copied: those for which all given conditions hold."""


class KeepConfig(ConditionsConfig):
    """A rule for records that are kept: those for which all given conditions hold."""
