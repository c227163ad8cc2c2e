"""The principals who may write to topics, by ACLs, besides the link."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from towpath.cluster.admin import Admin
from towpath.model.acl import EVERY, Acl, Operation, Pattern, Permission, Resource
from towpath.model.amounts import counted, shortened
from towpath.model.errors import ClusterError
from towpath.model.quoting import quoted

_WRITING = {Operation.WRITE, Operation.ALL}
_NAMED = 3
EVERYBODY = f"User:{EVERY}"


def writers_of(acls: Iterable[Acl], topics: Collection[str]) -> dict[str, list[str]]:
    """Return the topics that each principal may write to from some host, sorted.

    A denial counts where it holds for all hosts. Super users are in no ACL.
    """
    about = [acl for acl in acls if acl.resource is Resource.TOPIC and acl.operation in _WRITING]
    denied = [each for each in about if each.permission is Permission.DENY and each.host == EVERY]
    allowed = [each for each in about if each.permission is Permission.ALLOW]
    found: dict[str, list[str]] = {}
    for topic in sorted(topics):
        barred = {each.principal for each in denied if _fits(each, topic)}
        if EVERYBODY in barred:
            continue
        for who in sorted({each.principal for each in allowed if _fits(each, topic)} - barred):
            found.setdefault(who, []).append(topic)
    return found


def _fits(acl: Acl, topic: str) -> bool:
    if acl.pattern is Pattern.PREFIXED:
        return topic.startswith(acl.name)
    return acl.name in {topic, EVERY}


def told_writers(cluster: Admin, login: str, topics: Collection[str]) -> Iterator[str]:
    """Yield sentences on who else may write to the link's topics on its target.

    Args:
        cluster: The target.
        login: The user name of the link there, "" if it is not known.
        topics: The mirror topics.

    Raises:
        UnreachableError: The cluster does not answer.
    """
    if not topics:
        return
    until = "before they are promoted"
    try:
        listing = cluster.acls.describe()
    except ClusterError as error:
        yield f"who else may write the mirror topics {until} is unknown: {error}"
        return
    if listing is None:
        yield (
            f"the target has no authorizer: whoever reaches it may write the mirror topics {until}"
        )
        return
    for who, names in sorted(writers_of(listing.known, topics).items()):
        if who == f"User:{login}":
            continue
        also = "" if login else ", if that is not the link itself"
        yield (
            f"{quoted(who)} may write {counted(len(names), 'mirror topic')} {until}{also}:"
            f" {shortened(names, _NAMED)}"
        )
