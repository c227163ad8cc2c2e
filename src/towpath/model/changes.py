"""Changes of a topic's records between source and target, as frozen values. Pure.

`settings/sections/changes.py` makes these values of the file, `wire/change.py` carries them out,
and the ledger keeps each definition once, under its digest.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from enum import StrEnum
from typing import Any

from towpath.model.nouns import ClusterId, LinkName, TopicName

VERSION = 1
"""Version of what the values below mean for the bytes of a record."""


class Malformed(StrEnum):
    """The policies for a record whose schema id is malformed."""

    PASS = "pass"  # noqa: S105, not a password
    QUARANTINE = "quarantine"
    STOP = "stop"


class Undeliverable(StrEnum):
    """The policies for a record that the target rejects, or that another policy sets aside."""

    QUARANTINE = "quarantine"
    STOP = "stop"
    SKIP = "skip"


class SubjectStrategy(StrEnum):
    """The rules that derive a schema's subject from the topic and the schema's name."""

    TOPIC = "topic"
    RECORD = "record"
    TOPIC_RECORD = "topic-record"


class Framing(StrEnum):
    """The ways in which keys and values refer to their schema, at the source and the target."""

    CONFLUENT = "confluent"
    FROM_GLUE = "from-glue"
    TO_GLUE = "to-glue"


class BadRecord(StrEnum):
    """The reasons why a record cannot be changed. Stored codes never change their meaning."""

    ID_CUT = "ID_CUT"
    """The bytes end inside the schema id."""
    ID_ZERO = "ID_ZERO"
    """The schema id is 0 or negative."""
    ID_NONE = "ID_NONE"
    """No schema that this topic may use has this id."""
    HEADER_MALFORMED = "HEADER_MALFORMED"
    """A header that should name the schema holds something else."""
    GLUE_MALFORMED = "GLUE_MALFORMED"
    """The second byte of a Glue header names no compression that Glue has."""
    GLUE_DAMAGED = "GLUE_DAMAGED"
    """The payload behind a Glue header cannot be decompressed, or is larger than 64 MiB."""
    ID_UNFIT = "ID_UNFIT"
    """The table gives a number where a UUID must stand, or the other way round."""


class HeaderContent(StrEnum):
    """The kinds of content of an added header."""

    CONSTANT = "constant"
    TOPIC = "topic"
    PARTITION = "partition"
    OFFSET = "offset"
    TIMESTAMP = "timestamp"
    CLUSTER = "cluster"
    CHAIN = "chain"
    REDPANDA_OFFSET = "redpanda-offset"
    REDPANDA_PROVENANCE = "redpanda-provenance"


class Encoding(StrEnum):
    """The encodings of bytes as text."""

    TEXT = "text"
    HEX = "hex"


@dataclass(frozen=True, kw_only=True)
class IdChange:
    """The rewriting of schema ids in keys, values and headers.

    Attributes:
        key: How subjects of keys are named, `None` if keys are left alone.
        value: How subjects of values are named, `None` if values are left alone.
        headers: Whether ids and GUIDs in the headers of newer serializers are rewritten, too.
        framing: What stands before the payload at the source, and what on the target.
        malformed: What becomes of a record whose id cannot be one.
        strict: Whether an id that stays unknown stops the partition. Otherwise it passes unchanged.
        wait_ms: How long a partition waits for an unknown id, in milliseconds.
    """

    key: SubjectStrategy | None = SubjectStrategy.TOPIC
    value: SubjectStrategy | None = SubjectStrategy.TOPIC
    headers: bool = True
    framing: Framing = Framing.CONFLUENT
    malformed: Malformed = Malformed.PASS
    strict: bool = False
    wait_ms: int = 60_000

    @property
    def in_headers(self) -> bool:
        """Whether ids in headers are rewritten; Glue has no ids there."""
        return self.headers and self.framing is Framing.CONFLUENT


@dataclass(frozen=True, kw_only=True)
class AddedHeader:
    """A header added to each record; it replaces the last header of the same name.

    Attributes:
        name: The name of the header.
        content: What its value is.
        text: The value of a constant.
    """

    name: str
    content: HeaderContent = HeaderContent.CONSTANT
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class BytesMatch:
    """The texts that a key or a header's value must equal or begin with.

    Attributes:
        equal: The bytes match that are equal to one of these.
        prefixes: The bytes match that begin with one of these.
        encoding: How these texts stand for bytes.
    """

    equal: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    encoding: Encoding = Encoding.TEXT


@dataclass(frozen=True, kw_only=True)
class DropRule:
    """A rule that selects records: those for which all given conditions hold.

    Attributes:
        name: The name of the rule in metrics and messages.
        key: What the key must be. A null key matches nothing.
        header: The name of a header that the record must have.
        value: What the value of its last header of that name must be.
        before: The timestamp must be less than this, in milliseconds since 1970.
        since: The timestamp must be at least this, in milliseconds since 1970.
        provenance: The name of a header whose last value must name the target's cluster: alone, or
            as an element of a list with commas.
        tombstone: Whether the value must be null.
    """

    name: str
    key: BytesMatch | None = None
    header: str | None = None
    value: BytesMatch | None = None
    before: int | None = None
    since: int | None = None
    provenance: str | None = None
    tombstone: bool = False


@dataclass(frozen=True, kw_only=True)
class RecordChange:
    """The change of one topic's records, applied in the order of the fields.

    Attributes:
        drop: Records that are left out, judged by what they are at the source.
        keep: If there are any, records that none of these rules means are left out, too.
        ids: How schema ids are rewritten.
        redact: Names of headers whose values are replaced by the text `REDACTED`.
        headers: Headers that are added, in this order.
        codec: The codec of the written batches, `None` for that of the source.
        undeliverable: What becomes of records that the target refuses.
        version: Version of the meaning of all this.
    """

    drop: tuple[DropRule, ...] = ()
    ids: IdChange | None = None
    redact: tuple[str, ...] = ()
    headers: tuple[AddedHeader, ...] = ()
    codec: str | None = None
    undeliverable: Undeliverable = Undeliverable.STOP
    version: int = VERSION
    keep: tuple[DropRule, ...] = ()

    @property
    def meaning(self) -> RecordChange:
        """The change without the settings that only affect how long a partition waits."""
        ids = self.ids and replace(self.ids, strict=False, wait_ms=IdChange.wait_ms)
        return replace(self, ids=ids, undeliverable=Undeliverable.STOP)

    @property
    def digest(self) -> str:
        """A digest of the change in 16 hex digits, "" if records stay as they are.

        Two changes of one digest make the same records of the same records. Fields that later
        versions add leave the digests of older definitions as they are, as long as their defaults
        mean what was done before.
        """
        if self.meaning == RecordChange(version=self.version):
            return ""
        written = json.dumps(_told(self.meaning), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(written.encode()).hexdigest()[:16]

    @property
    def drops(self) -> bool:
        """Whether the change may leave records out, so that offsets are mapped."""
        return bool(self.drop or self.keep)

    @property
    def rules(self) -> tuple[str, ...]:
        """The names of the rules that leave records out, in the order of their numbers."""
        kept = " or ".join(rule.name for rule in self.keep)
        return (*(rule.name for rule in self.drop), *([f"all but {kept}"] if kept else []))

    @property
    def only_ids(self) -> bool:
        """Whether only ids of equal size may change, so that no byte moves."""
        sized = self.ids is None or self.ids.framing is Framing.CONFLUENT
        return sized and not (self.drops or self.redact or self.headers)


NO_CHANGE = RecordChange()


@dataclass(frozen=True, kw_only=True)
class RecordOrigin:
    """The source and the target of a partition's records, the same for all its records.

    Attributes:
        link: Name of the link.
        topic: Topic at the source.
        partition: Partition at the source.
        source_cluster: Cluster id of the source.
        target_cluster: Cluster id of the target.
    """

    link: LinkName
    topic: TopicName
    partition: int
    source_cluster: ClusterId
    target_cluster: ClusterId


def _told(value: Any) -> Any:
    """Return a value as JSON, without fields that have their defaults."""
    if is_dataclass(value):
        return {
            field.name: _told(getattr(value, field.name))
            for field in fields(value)
            if field.name == "version" or not _is_default(field, getattr(value, field.name))
        }
    return [_told(each) for each in value] if isinstance(value, tuple) else value


def _is_default(field: Field[Any], value: Any) -> bool:
    return field.default is not MISSING and bool(value == field.default)
