"""Objects in S3, and in stores with the same interface.

Requests are those of botocore: it knows all of the interface that an archive needs (conditions
also where a multipart upload is completed, uploads that are listed and aborted, checksums), and
finds credentials wherever AWS's tools do (docs/decisions/0044).
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from towpath.model.errors import (
    ObjectExistsError,
    ObjectMissingError,
    StoreAwayError,
    StoreRefusedError,
)
from towpath.settings import StoreConfig, Tls
from towpath.store.names import ObjectNames
from towpath.store.objects import Data, Put, StoredObject, ThawSpeed, Unfinished, Upload, filled
from towpath.store.s3.aws import aws_client
from towpath.store.s3.s3_errors import FORBIDDEN, LOCK_ADVICE, LOCKED, NOT_ALLOWED, store_error
from towpath.store.transport import Body, Transport

AT_ONCE = 32
"""Connections that are kept."""
_NAME = "towpath-write"
"""Metadata that names the write of an object."""
_CHECKSUM = "CRC32"
"""What the store checks each part by; it is that of the commit log, too."""
_WHOLE = "FULL_OBJECT"
"""The kind of checksum that is one of all bytes, however they were written."""
_COLD = frozenset({"GLACIER", "DEEP_ARCHIVE"})
"""Storage classes whose objects must be thawed; those of `GLACIER_IR` can be read at once."""

_FOR_GOOD = frozenset({"INTELLIGENT_TIERING"})
"""Storage classes whose thawed objects stay readable until nobody reads them for long."""
_THAW_RIGHTS = "give the login the right s3:RestoreObject"


class S3Backend:
    """Store backend for one bucket of S3."""

    parallel = 4

    def __init__(self, config: StoreConfig) -> None:
        self._config, self._bucket = config, config.bucket
        self._names = ObjectNames(config)
        self._transport = Transport(config.tls or Tls(), config.request_timeout, AT_ONCE)
        with self._told("log in", ""):
            self._client = _client(config)
        self._client.meta.events.register("before-send.s3", self._transport.send)

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

    def put(self, key: str, data: Data, how: Put) -> StoredObject:
        """Write an object as a whole."""
        asked = {**self._at(key), **self._kept(how), **_conditions(how)}
        with (
            self.only_new(key, how),
            self._told("write", key, only_new=how.only_new, invalid=_lock_advice(how)),
        ):
            answer = self._client.put_object(**asked, **_summed(zlib.crc32(data)), Body=Body(data))
        return _stored(key, len(data), answer["ETag"], 0, how.storage_class)

    def upload(self, key: str, how: Put) -> Upload:
        """Begin to write an object in parts."""
        with self._told("begin to write", key, invalid=_lock_advice(how)):
            answer = self._client.create_multipart_upload(
                **self._at(key),
                **self._kept(how),
                ChecksumAlgorithm=_CHECKSUM,
                ChecksumType=_WHOLE,
            )
        return _S3Upload(self, key, answer["UploadId"], how)

    def get(self, key: str, first: int, end: int | None, tag: str) -> tuple[StoredObject, bytes]:
        """Return the bytes [first, end) of an object."""
        asked: dict[str, str] = {}
        if first or end is not None:
            asked["Range"] = f"bytes={first}-{'' if end is None else end - 1}"
        if first < 0:
            asked["Range"] = f"bytes={first}"
        if tag:
            asked["IfMatch"] = tag
        if "Range" not in asked:
            asked["ChecksumMode"] = "ENABLED"
        try:
            with self._told("read", key):
                answer = self._client.get_object(**self._at(key), **asked)
                with closing(answer["Body"]) as body:
                    data: bytes = body.read()
        except StoreRefusedError:
            if first >= 0 or (empty := self.head(key)[0]).size:
                raise
            return empty, b""  # an empty object has no end that could be read
        return _found(key, answer, _whole_size(answer)), data

    def get_into(self, key: str, first: int, tag: str, out: memoryview) -> StoredObject:
        """Fill memory with an object's bytes from `first` on."""
        asked = {"Range": f"bytes={first}-{first + len(out) - 1}"}
        if tag:
            asked["IfMatch"] = tag
        with self._told("read", key):
            answer = self._client.get_object(**self._at(key), **asked)
            with closing(answer["Body"]) as body:
                filled(out, body, self._names.where(key))
        return _found(key, answer, _whole_size(answer))

    def head(self, key: str) -> tuple[StoredObject, str]:
        """Return an object's metadata, and the name of the write that created the object."""
        with self._told("look at", key):
            answer = self._client.head_object(**self._at(key), ChecksumMode="ENABLED")
        found = replace(_found(key, answer, answer["ContentLength"]), crc=_crc(answer))
        return found, answer["Metadata"].get(_NAME, "")

    def page(self, prefix: str, after: str) -> tuple[Sequence[StoredObject], bool]:
        """List the next objects with a prefix after a key; return also whether there are more."""
        start = {"StartAfter": self._names.name(after)} if after else {}
        with self._told("list objects below", prefix):
            answer = self._client.list_objects_v2(
                Bucket=self._bucket, Prefix=self._names.name(prefix), **start
            )
        return [self._listed(each) for each in answer.get("Contents", ())], answer["IsTruncated"]

    def delete(self, keys: Sequence[str]) -> None:
        """Delete up to 1000 objects."""
        named = [{"Key": self._names.name(key)} for key in keys]
        rights = LOCKED if self._config.lock is not None else FORBIDDEN
        with self._told("delete objects, the first of which is", keys[0], rights=rights):
            answer = self._client.delete_objects(
                Bucket=self._bucket, Delete={"Objects": named, "Quiet": True}
            )
        for failed in answer.get("Errors", ()):
            error = ClientError({"Error": failed, "ResponseMetadata": {}}, "DeleteObjects")
            where = self._names.where(self._names.key(failed["Key"]))
            raise store_error(error, where, "delete", rights=rights)

    def thaw(self, found: StoredObject, days: int, speed: ThawSpeed) -> None:
        """Request that a cold object becomes readable for some days."""
        wish: dict[str, Any] = {"GlacierJobParameters": {"Tier": speed.capitalize()}}
        if found.storage_class not in _FOR_GOOD:
            wish["Days"] = days
        with self._told("thaw", found.key, rights=_THAW_RIGHTS):
            try:
                self._client.restore_object(**self._at(found.key), RestoreRequest=wish)
            except ClientError as error:
                if error.response["Error"]["Code"] != "RestoreAlreadyInProgress":
                    raise

    def require_lock(self) -> None:
        """Raise if the bucket lacks object lock, as far as the login may ask."""
        try:
            with self._told("look at the object lock of", ""):
                self._client.get_object_lock_configuration(Bucket=self._bucket)
        except StoreRefusedError as error:
            if any(code in error.why for code in NOT_ALLOWED):
                return  # the first object tells
            advice = LOCK_ADVICE
            raise StoreRefusedError(error.where, error.what, error.why, advice) from None
        except ObjectMissingError as error:
            why = "the bucket has no object lock"
            raise StoreRefusedError(error.where, error.what, why, LOCK_ADVICE) from None

    def unfinished(self, prefix: str) -> Sequence[Unfinished]:
        """Return the unfinished uploads with a prefix."""
        found: list[Unfinished] = []
        more: dict[str, str] = {}
        while True:
            with self._told("list unfinished uploads below", prefix):
                answer = self._client.list_multipart_uploads(
                    Bucket=self._bucket, Prefix=self._names.name(prefix), **more
                )
            found += map(self._unfinished, answer.get("Uploads", ()))
            if not answer.get("IsTruncated"):
                return found
            more = {
                "KeyMarker": answer["NextKeyMarker"],
                "UploadIdMarker": answer["NextUploadIdMarker"],
            }

    def abort(self, upload: Unfinished) -> None:
        """Remove the parts of an unfinished upload."""
        self.in_upload("abort_multipart_upload", "abort writing", upload.key, upload.id)

    def in_upload(
        self, call: str, what: str, key: str, upload: str, *, only_new: bool = False, **more: Any
    ) -> Any:
        """Send a request about an upload, and return the answer."""
        with self._told(what, key, only_new=only_new):
            return getattr(self._client, call)(**self._at(key), UploadId=upload, **more)

    @contextmanager
    def only_new(self, key: str, how: Put) -> Iterator[None]:
        """Translate the rejection of a conditional write: the object exists already.

        versitygw refuses to replace a locked object before it looks at the condition.

        Raises:
            ObjectExistsError: It is there, and `how` wants a new one.
        """
        try:
            yield
        except StoreRefusedError as error:
            # versitygw also writes what it cannot lock, and refuses it then.
            unlocked = error.advice == LOCK_ADVICE
            if how.only_new and how.lock is not None and not unlocked and self._is_there(key):
                raise ObjectExistsError(error.where, error.what) from None
            raise

    def _is_there(self, key: str) -> bool:
        with suppress(ObjectMissingError):
            self.head(key)
            return True
        return False

    def _at(self, key: str) -> dict[str, str]:
        return {"Bucket": self._bucket, "Key": self._names.name(key)}

    def _kept(self, how: Put) -> dict[str, Any]:
        """Return what an object has besides its bytes."""
        kept: dict[str, Any] = {"Metadata": {_NAME: how.name}} if how.name else {}
        if how.storage_class:
            kept["StorageClass"] = how.storage_class
        if how.lock is not None:
            kept["ObjectLockMode"] = how.lock.mode.upper()
            kept["ObjectLockRetainUntilDate"] = datetime.fromtimestamp(how.lock.until / 1000, UTC)
        if encryption := self._config.encryption:
            kept["ServerSideEncryption"] = encryption.mode.value
            if encryption.kms_key:
                kept["SSEKMSKeyId"] = encryption.kms_key
        return kept

    def _listed(self, each: Any) -> StoredObject:
        key = self._names.key(each["Key"])
        modified, storage_class = _ms(each["LastModified"]), each.get("StorageClass", "")
        return _stored(key, each["Size"], each["ETag"], modified, storage_class)

    def _unfinished(self, each: Any) -> Unfinished:
        key = self._names.key(each["Key"])
        return Unfinished(key=key, id=each["UploadId"], started=_ms(each["Initiated"]))

    @contextmanager
    def _told(
        self,
        what: str,
        key: str,
        *,
        only_new: bool = False,
        rights: str = FORBIDDEN,
        invalid: str = "",
    ) -> Iterator[None]:
        try:
            yield
        except (ClientError, BotoCoreError) as error:
            where = self._names.where(key)
            raise store_error(
                error, where, what, only_new=only_new, rights=rights, invalid=invalid
            ) from None


class _S3Upload:
    """A multipart upload."""

    def __init__(self, backend: S3Backend, key: str, upload: str, how: Put) -> None:
        self._backend, self._key, self._upload, self._how = backend, key, upload, how
        self._parts: dict[int, tuple[dict[str, Any], int]] = {}
        self._tried = False
        """Whether an attempt to complete it is behind us."""

    def part(self, number: int, data: Data) -> int:
        """Upload part `number`, counted from 0. Returns the CRC-32 of its bytes."""
        crc = zlib.crc32(data)
        about = {"PartNumber": number + 1, **_summed(crc)}
        answer = self._ask("upload_part", "write a part of", **about, Body=Body(data))
        # The store compares both again when the upload is completed.
        checked = ("ETag", f"Checksum{_CHECKSUM}")
        part = {"PartNumber": number + 1} | {
            name: answer[name] for name in checked if name in answer
        }
        self._parts[number] = part, len(data)
        return crc

    def complete(self) -> StoredObject:
        """Create the object from all parts."""
        made = [self._parts[number] for number in sorted(self._parts)]
        again, self._tried = self._tried, True
        with self._backend.only_new(self._key, self._how):
            answer = self._ask(
                "complete_multipart_upload",
                "complete",
                only_new=self._how.only_new,
                MultipartUpload={"Parts": [part for part, _ in made]},
                **_conditions(self._how),
            )
        if again:
            self._require_there()
        size = sum(size for _, size in made)
        return _stored(self._key, size, answer["ETag"], 0, self._how.storage_class)

    def abort(self) -> None:
        """Remove all parts."""
        self._ask("abort_multipart_upload", "abort writing")

    def _require_there(self) -> None:
        """Raise if an object that was made is not there.

        versitygw says at a second attempt that all is done, while the first one goes on.

        Raises:
            StoreAwayError: It is not there.
        """
        try:
            self._backend.head(self._key)
        except ObjectMissingError as error:
            why = "it said that the object was complete, and the object is not there so far"
            raise StoreAwayError(error.where, "complete", why) from None

    def _ask(self, call: str, what: str, **more: Any) -> Any:
        return self._backend.in_upload(call, what, self._key, self._upload, **more)


def _client(config: StoreConfig) -> Any:
    in_path = config.path_style if config.path_style is not None else bool(config.endpoint)
    return aws_client(
        "s3",
        keys=config.keys,
        profile=config.profile,
        region=config.region,
        endpoint=config.endpoint,
        s3={"addressing_style": "path" if in_path else "auto"} | _signing(config),
    )


def _signing(config: StoreConfig) -> dict[str, bool]:
    """Return whether bodies are signed. TLS protects them as well, and signing takes more time."""
    is_open = (config.endpoint or "").startswith("http:")
    return {} if is_open else {"payload_signing_enabled": False}


def _summed(crc: int) -> dict[str, str]:
    """Return the checksum of a body, as a store compares it."""
    return {f"Checksum{_CHECKSUM}": base64.b64encode(crc.to_bytes(4)).decode()}


def _lock_advice(how: Put) -> str:
    return LOCK_ADVICE if how.lock is not None else ""


def _conditions(how: Put) -> dict[str, str]:
    if how.only_new:
        return {"IfNoneMatch": "*"}
    return {"IfMatch": how.instead_of} if how.instead_of else {}


def _found(key: str, answer: Any, size: int) -> StoredObject:
    modified, storage_class = _ms(answer["LastModified"]), answer.get("StorageClass", "")
    found = _stored(key, size, answer["ETag"], modified, storage_class)
    thawing = 'ongoing-request="true"' in str(answer.get("Restore", ""))
    return replace(found, cold=is_cold(storage_class, answer), thawing=thawing)


def is_cold(storage_class: str, answer: Any) -> bool:
    """Return whether an object is in cold storage without a thawed copy."""
    archived = storage_class in _COLD or bool(answer.get("ArchiveStatus"))
    return archived and 'ongoing-request="false"' not in str(answer.get("Restore", ""))


def _stored(key: str, size: int, tag: str, modified: int, storage_class: str) -> StoredObject:
    return StoredObject(key=key, size=size, tag=tag, modified=modified, storage_class=storage_class)


def _crc(answer: Any) -> int | None:
    """Return the checksum that a store keeps of all bytes of an object; None for any other."""
    told = str(answer.get(f"Checksum{_CHECKSUM}", ""))
    if "-" in told or answer.get("ChecksumType", _WHOLE) != _WHOLE:
        return None  # one of the checksums of parts
    return int.from_bytes(base64.b64decode(told)) if told else None


def _whole_size(answer: Any) -> int:
    """Return the size of an object of which a part was read."""
    whole = str(answer.get("ContentRange", "")).rpartition("/")[2]
    return int(whole) if whole else int(answer["ContentLength"])


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
