"""Translation of S3 errors, by their codes and HTTP status."""

from __future__ import annotations

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    FlexibleChecksumError,
    HTTPClientError,
    IncompleteReadError,
    NoCredentialsError,
    ResponseStreamingError,
)

from towpath.model.errors import (
    ObjectChangedError,
    ObjectColdError,
    ObjectExistsError,
    ObjectMissingError,
    StoreAwayError,
    StoreError,
    StoreFullError,
    StoreRefusedError,
)
from towpath.model.foreign import printed
from towpath.store.transport import unanswered

_MISSING = frozenset({"NoSuchKey", "NoSuchUpload", "404", "NotFound"})
_FULL = frozenset(
    {"QuotaExceeded", "StorageFull", "XMinioStorageFull", "InsufficientStorage",
     "InsufficientCapacity"}
)  # fmt: skip
_AGAIN_CODES = frozenset(
    {"ConditionalRequestConflict", "OperationAborted", "RequestTimeout", "SlowDown", "Throttling",
     "ThrottlingException", "RequestLimitExceeded", "TooManyRequests", "BadDigest", "InternalError",
     "ServiceUnavailable", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch"}
)  # fmt: skip
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_FULL_STATUS = 507
_PRECONDITION = 412
_SAID = 300
"""Characters of an answer that an error repeats."""
LOCK_ADVICE = (
    "make a bucket with object lock (S3 can turn it on for one that has versions), or take"
    " `store.lock` out of the file"
)
NOT_ALLOWED = ("AccessDenied", "403")
"""Codes of a login that may not ask how a bucket locks objects."""
_ADVICE = {
    "NoSuchBucket": "create the bucket, or correct `store.url`",
    "InvalidBucketName": "correct `store.url`",
    "PermanentRedirect": "set `store.region` to the region of the bucket",
    "AuthorizationHeaderMalformed": "set `store.region` to the region of the bucket",
    "RequestTimeTooSkewed": "set the clock of this machine",
    "SignatureDoesNotMatch": "look at the secret under `store.keys`, or in the environment",
    "InvalidAccessKeyId": "look at `store.keys`, or at the keys in the environment",
    "ExpiredToken": "renew the temporary keys",
    "ObjectLockConfigurationNotFoundError": LOCK_ADVICE,
    "InvalidBucketObjectLockConfiguration": LOCK_ADVICE,
    "NotImplemented": "use a store that knows If-None-Match, multipart uploads and checksums",
}
FORBIDDEN = (
    "give the login the rights s3:GetObject, s3:PutObject, s3:DeleteObject,"
    " s3:AbortMultipartUpload, s3:ListBucket and s3:ListBucketMultipartUploads (without"
    " s3:ListBucket a missing object looks like a forbidden one)"
)

LOCKED = f"{FORBIDDEN}; or wait until the lock of the object is over"


def store_error(
    error: ClientError | BotoCoreError,
    where: str,
    what: str,
    *,
    only_new: bool = False,
    rights: str = FORBIDDEN,
    invalid: str = "",
) -> StoreError:
    """Return the Towpath error for an error of botocore.

    Args:
        error: An error of a request.
        where: The object as a URL.
        what: What was being done.
        only_new: Whether it was demanded that there is no such object; else, where anything was
            demanded, that it has a certain tag.
        rights: The advice where the login has too few rights.
        invalid: The advice where the store does not know what is asked for.
    """
    if isinstance(error, ClientError):
        return _answered(error, where, what, (rights, invalid), only_new=only_new)
    if isinstance(error, ResponseStreamingError | IncompleteReadError):
        return StoreAwayError(where, what, f"the answer broke off ({type(error).__name__})")
    if isinstance(error, HTTPClientError):
        return unanswered(error.kwargs.get("error") or error, where, what)
    if isinstance(error, NoCredentialsError):
        advice = "give `store.keys`, or keys in the environment (AWS_ACCESS_KEY_ID, ...)"
        return StoreRefusedError(where, what, "no AWS credentials were found", advice)
    if isinstance(error, FlexibleChecksumError):
        why = "its bytes do not match the checksum that the store keeps"
        return StoreRefusedError(where, what, why, "bring back another copy of the object")
    # Its text may repeat what a program of the user printed, as a login that failed.
    advice = "look at the AWS configuration of this machine"
    return StoreRefusedError(where, what, f"botocore: {type(error).__name__}", advice)


def _answered(
    error: ClientError, where: str, what: str, advices: tuple[str, str], *, only_new: bool
) -> StoreError:
    code = str(error.response.get("Error", {}).get("Code", ""))
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    why = f"{_message(error)} ({code or status})"
    if code in _MISSING:
        return ObjectMissingError(where, what)
    if status == _PRECONDITION:
        return (ObjectExistsError if only_new else ObjectChangedError)(where, what)
    if code == "InvalidObjectState":
        return ObjectColdError(where, what)
    if code in _FULL or status == _FULL_STATUS:
        return StoreFullError(where, what, why)
    if code in _AGAIN_CODES or status in _AGAIN:
        return StoreAwayError(where, what, why)
    rights, invalid = advices
    by_status = {401: rights, 403: rights, 400: invalid}
    general = rights if code == "AccessDenied" else by_status.get(status, "")
    advice = _ADVICE.get(code, general)
    return StoreRefusedError(where, what, why, advice)


def _message(error: ClientError) -> str:
    text = str(error.response.get("Error", {}).get("Message", ""))
    return printed(" ".join(text.split()))[:_SAID] or "no reason given"
