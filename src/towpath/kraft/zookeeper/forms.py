"""Parsers of Kafka's znodes (`ZkData.scala`, `AclEntry.java` of Kafka 3.9). Pure.

Each function takes the bytes of a znode, and raises `FormError` where Kafka's own reader would fail
or would read something that it does not know.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote_to_bytes

from towpath.kraft.facts import digests
from towpath.kraft.facts.image import PartitionImage, Scram, Token
from towpath.model.acl import Acl, Operation, Pattern, Permission, Resource
from towpath.model.quota import Entity, EntityKind
from towpath.model.scram import Mechanism

DEFAULT = "<default>"
"""Name of the znode of a default (`ZooKeeperInternals.DEFAULT_STRING`)."""

_Kind = TypeVar("_Kind", Operation, Permission)

_WHOLE = re.compile(r"-?[0-9]+")
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_NUMBER = re.compile(r"[+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[dDfF]?")
_BYTES = ("salt", "stored_key", "server_key")
_SURROGATE = b"\\ud"
_ENCODED = re.compile(r"(?:^|,)encryptedPassword:")


class FormError(ValueError):
    """A znode's content is malformed; the message does not contain the content."""


@dataclass(frozen=True, slots=True)
class TopicZnode:
    """The content of a topic's znode; the id is "" if the znode has none."""

    id: str
    replicas: Mapping[int, tuple[int, ...]]
    adding: Mapping[int, tuple[int, ...]]
    removing: Mapping[int, tuple[int, ...]]


def name_of(znode: str) -> str:
    """Decode a name in a `/config` znode or in a token's field (`Sanitizer.java`).

    Raises:
        FormError: Kafka would not have written it so.
    """
    if _ESCAPE.search(znode):
        raise FormError("its name is not encoded as in a URL")
    try:
        return unquote_to_bytes(znode.replace("+", " ")).decode()
    except UnicodeDecodeError:
        raise FormError("its name encodes bytes that are not UTF-8") from None


def entity(kind: EntityKind, znode: str) -> Entity:
    """Return the entity of a quota, from the name of its znode."""
    return Entity(kind, None if znode == DEFAULT else name_of(znode))


def controller(data: bytes | None) -> tuple[int, int]:
    """Parse `/controller`: the controller's id, and its KRaft epoch (-1 of a broker)."""
    fields = _object(data)
    return _int(fields, "brokerid"), _int(fields, "kraftControllerEpoch", -1)


def number(data: bytes | None) -> int:
    """Parse a znode whose whole content is a number."""
    return _whole((data or b"").decode("latin-1"), "its content")


def migration(data: bytes) -> tuple[int, int, int, int]:
    """Parse `/migration`: controller id and epoch, and offset and epoch of the metadata log."""
    fields = _object(data)
    if (version := _int(fields, "version")) != 0:
        raise FormError(f"its version is {version}, only 0 is known")
    keys = "controller_id", "controller_epoch", "metadata_offset", "metadata_epoch"
    found = [_int(fields, f"kraft_{key}") for key in keys]
    return found[0], found[1], found[2], found[3]


def cluster_id(data: bytes | None) -> str:
    """Parse `/cluster/id`."""
    return _text(_object(data), "id")


def next_producer_id(data: bytes) -> int:
    """Parse the first producer id after the newest allocated block."""
    return _whole(_text(_object(data), "block_end"), "`block_end`") + 1


def reassigned(data: bytes | None) -> tuple[str, ...]:
    """Parse `/admin/reassign_partitions`; returns partitions as `topic-0`."""
    listed = _object(data).get("partitions")
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise FormError("`partitions` is not a list of objects")
    return tuple(f"{_text(each, 'topic')}-{_int(each, 'partition')}" for each in listed)


def assignment(data: bytes | None) -> TopicZnode:
    """Parse the partition assignment of a topic."""
    fields = _object(data)
    return TopicZnode(
        _text(fields, "topic_id", ""),
        *(_replicas(fields, key) for key in ("partitions", "adding_replicas", "removing_replicas")),
    )


def partition(told: TopicZnode, index: int, state: bytes | None, version: int) -> PartitionImage:
    """Return a partition, from its topic's assignment and its state znode.

    Args:
        told: The znode of its topic.
        index: Its number.
        state: The content of its state.
        version: How often the state was replaced, which Kafka takes as partition epoch.
    """
    fields = _object(state)
    return PartitionImage(
        replicas=told.replicas[index],
        adding=told.adding.get(index, ()),
        removing=told.removing.get(index, ()),
        isr=_ints(fields.get("isr"), "isr"),
        leader=_int(fields, "leader"),
        leader_epoch=_int(fields, "leader_epoch"),
        partition_epoch=version,
    )


def without_state(told: TopicZnode, index: int) -> PartitionImage:
    """Return a stateless partition as the copy begins it (`ZkTopicMigrationClient.scala`)."""
    replicas = told.replicas[index]
    if not replicas:
        raise FormError(f"partition {index} has neither a state nor replicas")
    return PartitionImage(
        replicas=replicas,
        adding=told.adding.get(index, ()),
        removing=told.removing.get(index, ()),
        isr=replicas,
        leader=replicas[0],
        leader_epoch=0,
        partition_epoch=0,
    )


def properties(data: bytes | None) -> Mapping[str, str]:
    """Parse the entries of a `/config` znode; one without content has none."""
    if not data:
        return {}
    found = _object(data).get("config")
    if found is None:
        return {}
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise FormError("`config` is not an object of texts")
    return found


def configs(data: bytes | None) -> Mapping[str, str]:
    """Parse dynamic configs as an image holds them, with secrets as digests."""
    return {key: _config(key, value) for key, value in properties(data).items()}


def _config(key: str, value: str) -> str:
    if key.endswith(digests.SECRET_CONFIGS) and _ENCODED.search(value):
        return digests.ENCODED
    return digests.value_or_digest(key, value)


def credentials(data: bytes | None) -> Mapping[Mechanism, Scram]:
    """Parse the SCRAM credentials in a user's znode."""
    found = properties(data)
    return {each: _credential(found[each]) for each in Mechanism if each in found}


def quotas(data: bytes | None) -> Mapping[str, float]:
    """Parse the quotas in a znode."""
    skipped = {str(each) for each in Mechanism}
    return {
        key: _double(key, value) for key, value in properties(data).items() if key not in skipped
    }


def acls(data: bytes | None, resource: Resource, name: str, pattern: Pattern) -> frozenset[Acl]:
    """Parse the ACLs in a resource's znode."""
    if not data:
        return frozenset()
    fields = _object(data)
    if (version := _int(fields, "version")) != 1:
        raise FormError(f"its version is {version}, only 1 is known")
    listed = fields.get("acls")
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise FormError("`acls` is not a list of objects")
    return frozenset(
        Acl(
            resource=resource,
            name=name,
            pattern=pattern,
            principal=_principal(_text(each, "principal")),
            host=_text(each, "host"),
            operation=_named(OPERATIONS, _text(each, "operation"), "operation"),
            permission=_named(PERMISSIONS, _text(each, "permissionType"), "permission"),
        )
        for each in listed
    )


def token(data: bytes | None) -> Token:
    """Parse a delegation token (`DelegationTokenManagerZk.scala`)."""
    fields = _object(data)
    version = _int(fields, "version")
    if not 1 <= version <= 3:
        raise FormError(f"its version is {version}, only 1 to 3 are known")
    owner = _principal(name_of(_text(fields, "owner")))
    requester = name_of(_text(fields, "tokenRequester")) if version >= 3 else owner
    renewers = fields.get("renewers")
    if not isinstance(renewers, list) or not all(isinstance(each, str) for each in renewers):
        raise FormError("`renewers` is not a list of texts")
    issued, expires, until = (
        _int(fields, key) for key in ("issueTimestamp", "expiryTimestamp", "maxTimestamp")
    )
    return digests.token(
        owner,
        _principal(requester),
        [_principal(name_of(each)) for each in renewers],
        (issued, expires, until),
    )


def _spelled(kind: Iterable[_Kind]) -> Mapping[str, _Kind]:
    """Names are written as `DescribeConfigs`, and read in any case (`SecurityUtils.java`)."""
    return {str(each).replace("_", "").upper(): each for each in kind}


RESOURCES = {"".join(part.capitalize() for part in each.split("_")): each for each in Resource}
"""Resource types by the names of their znodes, which have one spelling only."""
OPERATIONS = _spelled(Operation)
PERMISSIONS = _spelled(Permission)


def _named(kinds: Mapping[str, _Kind], name: str, what: str) -> _Kind:
    found = kinds.get(name.upper())
    if found is None:
        raise FormError(f"it has the unknown {what} {name!r}")
    return found


def _principal(text: str) -> str:
    if ":" not in text:
        raise FormError("it has a principal without a type, such as `User:`")
    return text


def _credential(text: str) -> Scram:
    parts = dict(each.partition("=")[::2] for each in text.split(","))
    if {*parts} != {*_BYTES, "iterations"}:
        raise FormError("it has a SCRAM credential of no known form")
    try:
        salt, stored, server = (base64.b64decode(parts[key], validate=True) for key in _BYTES)
    except ValueError:
        raise FormError("it has a SCRAM credential that is not base 64") from None
    iterations = _whole(parts["iterations"], "`iterations`")
    return digests.scram(iterations, salt, stored, server)


def _double(key: str, value: str) -> float:
    """Java's doubles may have a letter at their end, and blanks around."""
    text = value.strip()
    if not _NUMBER.fullmatch(text):
        raise FormError(f"the quota {key!r} is not a number")
    found = float(text.rstrip("dDfF"))
    if math.isnan(found):
        raise FormError(f"the quota {key!r} is not a number")
    return found


def _object(data: bytes | None) -> dict[str, Any]:
    try:
        found = json.loads((data or b"").decode())
        if _SURROGATE in (data or b"").lower():
            json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise FormError("it holds half a character (a surrogate alone)") from None
    except (ValueError, RecursionError):
        raise FormError("it holds no JSON" if data else "it has no content") from None
    if not isinstance(found, dict):
        raise FormError("it holds no JSON object")
    return found


def _whole(text: str, what: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise FormError(f"{what} is not a whole number")
    return int(text)


def _int(fields: Mapping[str, Any], key: str, default: int | None = None) -> int:
    found = fields.get(key, default)
    if isinstance(found, bool) or not isinstance(found, int):
        raise FormError(f"`{key}` is not a whole number")
    return found


def _text(fields: Mapping[str, Any], key: str, default: str | None = None) -> str:
    found = fields.get(key, default)
    if not isinstance(found, str):
        raise FormError(f"`{key}` is not a text")
    return found


def _ints(found: object, key: str) -> tuple[int, ...]:
    if not isinstance(found, list) or not all(type(each) is int for each in found):
        raise FormError(f"`{key}` is not a list of whole numbers")
    return tuple(found)


def _replicas(fields: Mapping[str, Any], key: str) -> Mapping[int, tuple[int, ...]]:
    found = fields.get(key, {})
    if not isinstance(found, dict):
        raise FormError(f"`{key}` is not an object")
    if not all(each.isascii() and each.isdigit() for each in found):
        raise FormError(f"`{key}` has a partition that is not a number")
    return {int(index): _ints(replicas, key) for index, replicas in found.items()}


Form = Callable[[bytes | None], Any]
"""A function from the content of a znode to a value."""
