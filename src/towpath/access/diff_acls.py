"""The comparison of ACLs on both clusters. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from towpath.access.observe import PATHS, Both
from towpath.access.steps import ACLS, CreateAcl, DeleteAcl
from towpath.access.translate import Translated
from towpath.model.acl import EVERY, Acl, Operation, Pattern, Permission, Resource
from towpath.model.findings import Note

_DENIED = frozenset(
    {
        Operation.ALL,
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
    }
)
"""The operations that the link itself needs on mirror topics."""


def acl_steps(acls: Both[frozenset[Acl]], translated: Translated) -> Iterator[CreateAcl]:
    """Yield the ACLs to create, DENY before ALLOW, so that no extra right ever exists."""
    missing = [acl for acl in translated.wanted if acl not in acls.target]
    for acl in sorted(missing, key=_denied_first):
        yield CreateAcl(acl, str(translated.wanted[acl]))


def acls_gone(
    acls: Both[frozenset[Acl]], translated: Translated, ours: frozenset[str]
) -> Iterator[DeleteAcl]:
    """Yield the ACLs of this link to delete, ALLOW before DENY."""
    kept = translated.wanted.keys() | translated.spared
    gone = [acl for acl in acls.target if acl not in kept and str(acl) in ours]
    for acl in sorted(gone, key=_denied_first, reverse=True):
        yield DeleteAcl(acl)


def acl_notes(
    acls: Both[frozenset[Acl]], translated: Translated, login: str | None
) -> Iterator[Note]:
    """Yield notes on ACLs that are not copied, and on ACLs that reach further than expected."""
    for acl in translated.withheld:
        yield Note(str(acl), "stays at the source until `access.acls: full`")
    for acl in translated.narrowed:
        text = (
            "allows everything at the source; the target allows only reading (Describe, where"
            " there is nothing to read) until `access.acls: full`"
        )
        yield Note(str(acl), text)
    for acl in translated.unnamed:
        yield Note(str(acl), _unnamed(acl))
    for acl in translated.too_new:
        yield Note(str(acl), _TOO_NEW)
    for acl in translated.wanted:
        if acl not in acls.target and acl not in translated.guards:
            yield from _reaching_far(acl, login)
    for acl in translated.guards:
        if acl not in acls.target:
            yield Note(str(acl), _GUARD)
    if translated.elsewhere:
        text = f"{translated.elsewhere} ACLs of topics that are not mirrored are not copied"
        yield Note(PATHS[ACLS], text)


_TOO_NEW = "the target's brokers are too old to know such ACLs, so it is not copied"

_GUARD = (
    "is copied though the source's topics of these names are not mirrored, as an ACL that is copied"
    " allows more topics of the target than are"
)


def _unnamed(acl: Acl) -> str:
    denied = "; until then those whom it denies have access" * (acl.permission is Permission.DENY)
    return (
        "is not copied: under `topics.rename`, topics with the same prefix at the source have"
        f" different prefixes on the target; add ACLs for the mirror topics by hand{denied}"
    )


def _reaching_far(acl: Acl, login: str | None) -> Iterator[Note]:
    if acl.resource is not Resource.TOPIC:
        return
    if acl.about_all or acl.pattern is Pattern.PREFIXED:
        yield Note(str(acl), "also applies to other topics of the target whose names match")
    everybody = {f"User:{EVERY}", f"User:{login}"}
    if (
        acl.permission is Permission.DENY
        and acl.principal in everybody
        and acl.operation in _DENIED
    ):
        text = (
            "prevents this link itself from writing mirror topics, unless its login is a super user"
            " of the target; if it is not, let the link log in as another user"
        )
        yield Note(str(acl), text)


def _denied_first(acl: Acl) -> tuple[bool, Acl]:
    return acl.permission is not Permission.DENY, acl
