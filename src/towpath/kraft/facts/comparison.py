"""The comparison of ZooKeeper with the metadata log, as a list of differences.

In dual-write the controllers write to ZooKeeper behind the log, so a difference may be there for a
moment; what is there in a quiet cluster, or stays, is a fault that no metric of Kafka shows. Some
things differ by design, and are taken as equal here (all from Kafka 3.9):

- the partition epoch: in ZooKeeper it is the version of the znode, which grows with each write. The
  controllers write once for several changes, and again for none after each election, since they
  compare with directories that ZooKeeper does not know (`PartitionRegistration.equals`);
- the order of an ISR, of replicas being added or removed;
- the next producer id: a write of the controllers makes that of ZooKeeper one block higher
  (`ZkMigrationClient.writeProducerId`);
- passwords that ZooKeeper holds encoded: both must have one, nobody can tell whether the same.

Not in either image, so not compared: topics that are being deleted, configs of topics that do not
exist, entries of `/config` without a value, encrypted HMACs of delegation tokens (neither store has
them).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping

from towpath.kraft.facts import digests
from towpath.kraft.facts.image import (
    ClusterImage,
    ImageComparison,
    ImageDifference,
    ImageKind,
    PartitionImage,
    Scram,
    Token,
)
from towpath.model.acl import Acl
from towpath.model.quoting import quoted

_RELATIVE = frozenset({".", ".."})
PRODUCER_ID_BLOCK = 1000
"""Number of producer ids that a broker takes at once (`ProducerIdsBlock.java`)."""

PASSING = frozenset({"leader", "leader epoch", "isr"})
"""Fields of a partition that change without anybody asking for it, so that a reading of both stores
may fall between the two writes."""

_REFUSED = ((0, 0x1F), (0x7F, 0x9F), (0xD800, 0xF8FF), (0xFFF0, 0xFFFF))
"""Ranges of UTF-16 units that ZooKeeper does not take in a path."""

_SECRET, _OTHER_SECRET = "a secret", "another secret"

Fields = Mapping[str, str]
"""What a thing consists of, by the names of its parts; a thing of one part has the name ""."""


def compare(zookeeper: ClusterImage, log: ClusterImage) -> ImageComparison:
    """Compare the contents of ZooKeeper with those of the metadata log.

    Args:
        zookeeper: The image of ZooKeeper.
        log: The image of the metadata log.

    Returns:
        What was compared, and all that differs, ordered.
    """
    shared = zookeeper.topics.keys() & log.topics.keys()
    compared: dict[ImageKind, int] = {}
    differences: list[ImageDifference] = []
    for kind, things in _THINGS.items():
        left, right = things(zookeeper), things(log)
        if kind is ImageKind.PARTITIONS:  # those of a missing topic go without saying
            left, right = (
                {name: fields for name, fields in side.items() if name[0] in shared}
                for side in (left, right)
            )
        compared[kind] = len(left.keys() | right.keys())
        for name in left.keys() | right.keys():
            differences += _differences(kind, _name(kind, name), left.get(name), right.get(name))
    ordered = tuple(sorted(differences))
    return ImageComparison(compared, digest(zookeeper), ordered, tuple(_unproven(zookeeper, log)))


def _unproven(zookeeper: ClusterImage, log: ClusterImage) -> Iterator[str]:
    """Yield the passwords of which only the presence in both stores was compared."""
    there = _configs(log)
    for name, fields in sorted(_configs(zookeeper).items()):
        if fields[""] == digests.ENCODED and name in there:
            yield _name(ImageKind.CONFIGS, name)


def unwritable(log: ClusterImage) -> tuple[Acl, ...]:
    """Return the ACLs of the metadata log that ZooKeeper cannot hold, ordered.

    Kafka puts their names into paths as they are. One that is no name of a znode is left out with a
    line in the controllers' log, and stops all writes to ZooKeeper from the next election of a
    controller on, until it is deleted.
    """
    return tuple(sorted(acl for acl in log.acls if not _is_znode(acl.name)))


def unwritable_names(log: ClusterImage) -> tuple[str, ...]:
    """Return the names in the metadata log that ZooKeeper cannot hold, ordered.

    Besides ACLs these are quotas and SCRAM users that are called `.` or `..`: all else in their
    names is encoded before it is put into a path (`Sanitizer.sanitize`), and these are not.
    """
    acls = {each.name for each in unwritable(log)}
    quotas = {
        f"quotas of {' with '.join(map(str, whose))}"
        for whose in log.quotas
        if any(each.name in _RELATIVE for each in whose)
    }
    users = {f"SCRAM user {each.user}" for each in log.users if each.user in _RELATIVE}
    return tuple(sorted(acls | quotas | users))


def _is_znode(name: str) -> bool:
    """Whether ZooKeeper takes a name as part of a path (`PathUtils.validatePath`, 3.8)."""
    if name in ("", ".", "..") or "/" in name:
        return False
    return not any(low <= char <= high for char in _utf_16(name) for low, high in _REFUSED)


def _utf_16(name: str) -> Iterator[int]:
    """Java looks at units of UTF-16; a character beyond the basic plane is two refused ones."""
    units = name.encode("utf-16-be", "surrogatepass")
    return (units[at] << 8 | units[at + 1] for at in range(0, len(units), 2))


def digest(image: ClusterImage) -> Mapping[ImageKind, str]:
    """Return a SHA-256 digest of each kind of contents, in hex.

    It is over what is compared, and depends neither on an order nor on the machine.
    """
    return {kind: _digest(things(image)) for kind, things in _THINGS.items()}


def _digest(things: Mapping[Key, Fields]) -> str:
    summed = hashlib.sha256()
    for name, fields in sorted(things.items()):
        texts = [*name, *(text for each in sorted(fields.items()) for text in each)]
        summed.update(digests.digest(*(text.encode() for text in texts)).encode())
    return summed.hexdigest()


def _differences(
    kind: ImageKind, name: str, left: Fields | None, right: Fields | None
) -> Iterator[ImageDifference]:
    if left is None or right is None:
        yield ImageDifference(kind, name, _summary(left), _summary(right))
        return
    for field in sorted(left.keys() | right.keys()):
        told, found = left.get(field, ""), right.get(field, "")
        if not _same(kind, told, found):
            about = f"{name}: {field}" if field else name
            passing = kind is ImageKind.PARTITIONS and field in PASSING
            yield ImageDifference(kind, about, *_shown(field, told, found), passing)


def _same(kind: ImageKind, told: str, found: str) -> bool:
    if kind is ImageKind.PRODUCER_IDS:
        return int(told) - int(found) in (0, PRODUCER_ID_BLOCK)
    return told == found or (told == digests.ENCODED and _is_digest(found))


def _shown(field: str, told: str, found: str) -> tuple[str, str]:
    if field == _SECRET or _is_digest(told) or _is_digest(found):
        return _SECRET if told else "", _OTHER_SECRET if found else ""
    return told, found


def _is_digest(text: str) -> bool:
    return len(text) == hashlib.sha256().digest_size * 2 and set(text) <= set("0123456789abcdef")


def _summary(fields: Fields | None) -> str:
    if fields is None:
        return ""
    told = (
        (field, _SECRET if _is_digest(text) or text == digests.ENCODED else text)
        for field, text in fields.items()
    )
    return (
        ", ".join(
            text if field in ("", _SECRET) else f"{field} {text}" for field, text in told if text
        )
        or "present"
    )


Key = tuple[str, ...]
"""What names a thing among those of its kind."""


def _name(kind: ImageKind, key: Key) -> str:
    if kind is ImageKind.PARTITIONS:
        return f"{key[0]}-{int(key[1])}"
    if kind is ImageKind.CONFIGS:
        of, name, entry = key
        whom = f"{of} {quoted(name)}" if name else f"default of all {of}s"
        return f"{whom}: {entry}"
    return ": ".join(key)


def _topics(image: ClusterImage) -> Mapping[Key, Fields]:
    return {
        (name,): {"id": topic.id, "partitions": str(len(topic.partitions))}
        for name, topic in image.topics.items()
    }


def _partitions(image: ClusterImage) -> Mapping[Key, Fields]:
    return {
        (name, f"{index:010}"): _partition(each)
        for name, topic in image.topics.items()
        for index, each in topic.partitions.items()
    }


def _partition(each: PartitionImage) -> Fields:
    """The order of replicas says which one is preferred; that of the others means nothing."""
    return {
        "replicas": _ids(each.replicas),
        "adding": _ids(sorted(each.adding)),
        "removing": _ids(sorted(each.removing)),
        "isr": _ids(sorted(each.isr)),
        "leader": str(each.leader),
        "leader epoch": str(each.leader_epoch),
    }


def _configs(image: ClusterImage) -> Mapping[Key, Fields]:
    return {
        (str(of), name, entry): {"": value}
        for (of, name), entries in image.configs.items()
        for entry, value in entries.items()
    }


def _acls(image: ClusterImage) -> Mapping[Key, Fields]:
    return {(str(acl),): {} for acl in image.acls}


def _users(image: ClusterImage) -> Mapping[Key, Fields]:
    return {(str(credential),): _scram(scram) for credential, scram in image.users.items()}


def _scram(scram: Scram) -> Fields:
    return {"iterations": str(scram.iterations), _SECRET: scram.digest}


def _quotas(image: ClusterImage) -> Mapping[Key, Fields]:
    return {
        (" with ".join(map(str, entities)), key): {"": repr(value)}
        for entities, limits in image.quotas.items()
        for key, value in limits.items()
    }


def _tokens(image: ClusterImage) -> Mapping[Key, Fields]:
    return {(name,): _token(token) for name, token in image.tokens.items()}


def _token(token: Token) -> Fields:
    return {
        "owner": token.owner,
        "requester": token.requester,
        "renewers": ", ".join(sorted(map(quoted, token.renewers))),
        "issued": str(token.issued),
        "expires": str(token.expires),
        "until": str(token.until),
    }


def _producer_ids(image: ClusterImage) -> Mapping[Key, Fields]:
    if image.producer_ids is None:
        return {}
    return {("next producer id",): {"": str(image.producer_ids)}}


def _ids(nodes: Iterable[int]) -> str:
    return ", ".join(map(str, nodes))


_THINGS: Mapping[ImageKind, Callable[[ClusterImage], Mapping[Key, Fields]]] = {
    ImageKind.TOPICS: _topics,
    ImageKind.PARTITIONS: _partitions,
    ImageKind.CONFIGS: _configs,
    ImageKind.ACLS: _acls,
    ImageKind.USERS: _users,
    ImageKind.QUOTAS: _quotas,
    ImageKind.TOKENS: _tokens,
    ImageKind.PRODUCER_IDS: _producer_ids,
}
