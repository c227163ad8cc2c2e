"""Translation of Azure Blob Storage errors, by their codes and HTTP status."""

from __future__ import annotations

from towpath.model.errors import (
    ObjectChangedError,
    ObjectColdError,
    ObjectExistsError,
    ObjectMissingError,
    StoreAwayError,
    StoreError,
    StoreRefusedError,
)

_MISSING = frozenset({"BlobNotFound", "ResourceNotFound", "InvalidBlockList"})
_THERE = frozenset({"BlobAlreadyExists"})
_COLD = frozenset({"BlobArchived", "BlobBeingRehydrated"})
_CONDITION = frozenset({"ConditionNotMet", "TargetConditionNotMet"})
_AGAIN_CODES = frozenset({"Md5Mismatch", "ContainerBeingDeleted", "AccountBeingCreated"})
_AGAIN = frozenset({408, 429, 500, 502, 503, 504})
_ADVICE = {
    "ContainerNotFound": "create the container, or correct `store.url`",
    "ContainerDisabled": "enable the container",
    "AuthenticationFailed": "look at `store.azure`, at the clock of this machine, and whether a SAS"
    " has expired",
    "InvalidAuthenticationInfo": "look at `store.azure`, or at the identity of this machine",
    "BlobImmutableDueToPolicy": "let no policy of the container hold objects of an archive",
    "LeaseIdMissing": "break the lease of the object",
}
_FORBIDDEN = (
    "give the login the role Storage Blob Data Contributor on the container, or a SAS with the"
    " rights racwdl"
)


def store_error(
    status: int, code: str, where: str, what: str, *, only_new: bool = False
) -> StoreError:
    """Return the Towpath error for an error answer.

    Args:
        status: Its HTTP status.
        code: Its code; "" if it has none.
        where: The object as a URL.
        what: What was being done.
        only_new: Whether it was demanded that there is no such object; else, where anything was
            demanded, that it has a certain tag.
    """
    if code in _MISSING or (status == 404 and not code):
        return ObjectMissingError(where, what)
    if code in _THERE or code in _CONDITION or (status == 412 and not code):
        return (ObjectExistsError if only_new else ObjectChangedError)(where, what)
    if code in _COLD:
        return ObjectColdError(where, what)
    why = f"it answered {code or status}"
    if code in _AGAIN_CODES or status in _AGAIN:
        return StoreAwayError(where, what, why)
    rights = _FORBIDDEN if status in {401, 403} else ""
    return StoreRefusedError(where, what, why, _ADVICE.get(code, rights))
