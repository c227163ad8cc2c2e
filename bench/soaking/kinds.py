"""The kinds of topics of a soak: their records, the change a link makes, and what must come out.

What must come out is computed here from the record at the source, by none of Towpath's code.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

Headers = tuple[tuple[str, bytes | None], ...]

KEYS = 5_000
DROPPED = b"tmp-"
"""Keys that begin so belong to records that a rule drops."""
REDACTED = b"REDACTED"
ID_HEADER = "__value_schema_id"


@dataclass(frozen=True, slots=True)
class Row:
    """A record, as a producer sends it or a consumer gets it; new ones have no offset and time."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    offset: int = -1
    timestamp: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Facts:
    """What a change depends on.

    Attributes:
        cluster: Id of the source's cluster.
        ids: Schema ids of the target by those of the source.
    """

    cluster: bytes
    ids: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of topic.

    Attributes:
        name: Part of the topics' names.
        about: What it is, for the page.
        change: The link's entry of `changes`, without its topics.
        made: Makes a record from randomness, its number, its filling and the frame of an id.
        wanted: Returns the record that the target must have, `None` for none.
        codec: Of its producers.
        transactional: Whether it is written in transactions, of which some are aborted.
        framed: Whether its subject has schemas.
        mapped: Whether offsets differ on both sides from the start.
    """

    name: str
    about: str
    change: str
    made: Callable[[random.Random, int, bytes, bytes], Row]
    wanted: Callable[[Row, Facts], Row | None]
    codec: str = "lz4"
    transactional: bool = False
    framed: bool = False
    mapped: bool = False


def _framed(rng: random.Random, number: int, fill: bytes, frame: bytes) -> Row:
    trace = ("trace", b"%016x" % rng.getrandbits(64))
    headers = (trace, ("env", b"test")) if number % 4 == 0 else (trace,)
    return Row(_key(rng), b"\0" + frame + b"%d|" % number + fill, headers)


def _with_headers(rng: random.Random, number: int, fill: bytes, _frame: bytes) -> Row:
    choices: Sequence[bytes | None] = (b"Bearer abc", b"", None)
    headers: Headers = (
        ("authorization", rng.choice(choices)),
        ("none", None),
        ("authorization", b"Basic %d" % number),
    )
    if number % 3 == 0:
        headers += (("redpanda-migrator-provenance", b"elsewhere"),)
    return Row(_key(rng), b"%d|" % number + fill, headers)


def _plain(rng: random.Random, number: int, fill: bytes, _frame: bytes) -> Row:
    value = None if number % 50 == 0 else b"%d|" % number + fill
    return Row(_key(rng), value, (("n", b"%d" % number), ("null", None)))


def _in_transactions(rng: random.Random, number: int, fill: bytes, frame: bytes) -> Row:
    if number % 3 == 0:
        return Row(_key(rng), b"%d|" % number + fill, ((ID_HEADER, b"\0" + frame),))
    return Row(_key(rng), b"\0" + frame + b"%d|" % number + fill)


def _dropping(rng: random.Random, number: int, fill: bytes, _frame: bytes) -> Row:
    key = DROPPED + b"%d" % number if number % 3 == 0 else _key(rng)
    return Row(key, b"%d|" % number + fill)


def _key(rng: random.Random) -> bytes:
    return b"k%d" % rng.randrange(KEYS)


def _same(row: Row, _: Facts) -> Row:
    return row


def _framed_there(row: Row, facts: Facts) -> Row:
    headers = put(row.headers, "env", b"prod")
    headers = put(headers, "from-offset", b"%d" % row.offset)
    return replace(row, value=_translated(row.value, facts), headers=headers)


def _with_headers_there(row: Row, facts: Facts) -> Row:
    headers = tuple(
        (name, REDACTED if name == "authorization" and value else value)
        for name, value in row.headers
    )
    first = last(headers, "redpanda-migrator-provenance") or facts.cluster
    headers = put(headers, "redpanda-migrator-provenance", first)
    offset = row.offset.to_bytes(8, "big")
    return replace(row, headers=put(headers, "redpanda-migrator-offset", offset))


def _in_transactions_there(row: Row, facts: Facts) -> Row:
    named = last(row.headers, ID_HEADER)
    if named is not None:
        headers = put(row.headers, ID_HEADER, _translated(named, facts))
        return replace(row, headers=put(headers, "env", b"prod"))
    value = _translated(row.value, facts)
    return replace(row, value=value, headers=put(row.headers, "env", b"prod"))


def _dropping_there(row: Row, _: Facts) -> Row | None:
    return None if row.key is not None and row.key.startswith(DROPPED) else row


def put(headers: Headers, name: str, value: bytes | None) -> Headers:
    """Return headers with one in place of the last of its name, else behind all others."""
    places = [index for index, each in enumerate(headers) if each[0] == name]
    if not places:
        return (*headers, (name, value))
    return (*headers[: places[-1]], (name, value), *headers[places[-1] + 1 :])


def last(headers: Headers, name: str) -> bytes | None:
    """Return the value of the last header of a name, `None` if there is none."""
    values = [value for other, value in headers if other == name]
    return values[-1] if values else None


def _translated(framed: bytes | None, facts: Facts) -> bytes | None:
    if framed is None:
        return None
    there = facts.ids[int.from_bytes(framed[1:5], "big")]
    return framed[:1] + there.to_bytes(4, "big") + framed[5:]


KINDS = (
    Kind(
        "framed", "keys, schema ids before values, headers; lz4",
        "ids: {key: none}, headers: [{name: env, value: prod}, {name: from-offset, of: offset}]",
        _framed, _framed_there, framed=True,
    ),
    Kind(
        "headers", "many headers, some with secrets; zstd",
        "ids: {key: none, value: none}, redact: [authorization], redpanda: {}",
        _with_headers, _with_headers_there, codec="zstd",
    ),
    Kind(
        "plain", "headers and tombstones, copied as they are; no codec",
        "ids: {key: none, value: none}", _plain, _same, codec="none",
    ),
    Kind(
        "transactions", "one in seven aborted; schema ids in values or headers; lz4",
        "ids: {key: none}, headers: [{name: env, value: prod}]",
        _in_transactions, _in_transactions_there, transactional=True, framed=True,
    ),
    Kind(
        "dropping", "one third is dropped by its key, the rest becomes zstd; lz4",
        "ids: {key: none, value: none}, drop: [{key: {prefixes: [tmp-]}}], codec: zstd",
        _dropping, _dropping_there, mapped=True,
    ),
)  # fmt: skip


def kind_of(topic: str) -> Kind:
    """Return the kind of a topic by its name."""
    return next(kind for kind in KINDS if topic.split("-")[1] == kind.name)


def topic_names(count: int) -> list[str]:
    """Return the names of so many topics, their kinds in turn."""
    return [f"soak-{KINDS[n % len(KINDS)].name}-{n:02}" for n in range(count)]
