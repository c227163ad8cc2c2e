"""Translation of Google Cloud Storage errors, by their HTTP status and reason."""

from __future__ import annotations

import json
from typing import Any

from towpath.model.errors import (
    ObjectChangedError,
    ObjectExistsError,
    ObjectMissingError,
    StoreAwayError,
    StoreError,
    StoreRefusedError,
)
from towpath.model.foreign import printed

_AGAIN = frozenset({408, 429, 500, 502, 503, 504})
_AGAIN_REASONS = frozenset({"rateLimitExceeded", "userRateLimitExceeded"})
_MISSING, _GONE = 404, 410
_PRECONDITION = 412
_SAID = 300
"""Characters of an answer that an error repeats."""
_ADVICE = {
    "retentionPolicyNotMet": "let no retention policy of the bucket hold objects of an archive",
    "objectUnderActiveHold": "release the hold of the object",
    "accountDisabled": "look at the billing account of the project",
    "userProjectAccountProblem": "look at the billing account of the project",
}
_LOGIN = "look at `store.service_account`, or at the credentials of this machine"
_FORBIDDEN = (
    "give the login the role roles/storage.objectUser on the bucket (storage.objects.create, get,"
    " list, delete)"
)


def store_error(
    status: int, body: bytes, where: str, what: str, *, only_new: bool = False
) -> StoreError:
    """Return the Towpath error for an error answer.

    Args:
        status: Its HTTP status.
        body: Its body.
        where: The object as a URL.
        what: What was being done.
        only_new: Whether it was demanded that there is no such object; else, where anything was
            demanded, that it has a certain generation.
    """
    reason, message = _said(body)
    if status in {_MISSING, _GONE}:
        return ObjectMissingError(where, what)
    if status == _PRECONDITION:
        return (ObjectExistsError if only_new else ObjectChangedError)(where, what)
    why = f"{message} ({reason or status})"
    if status in _AGAIN or reason in _AGAIN_REASONS:
        return StoreAwayError(where, what, why)
    rights = {401: _LOGIN, 403: _FORBIDDEN}.get(status, "")
    return StoreRefusedError(where, what, why, _ADVICE.get(reason, rights))


def no_bucket(where: str, what: str) -> StoreRefusedError:
    """Return the error for a missing bucket."""
    why = "the bucket does not exist, or the login may not see it"
    return StoreRefusedError(where, what, why, "create the bucket, or correct `store.url`")


def _said(body: bytes) -> tuple[str, str]:
    """Return the reason and the message of an answer; "" where it has none."""
    try:
        error: Any = json.loads(body)["error"]
        reason = str(error["errors"][0]["reason"]) if error.get("errors") else ""
        text = str(error.get("message", ""))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        reason, text = "", body.decode(errors="replace")  # media are refused with a bare text
    return reason, printed(" ".join(text.split()))[:_SAID] or "no reason given"
