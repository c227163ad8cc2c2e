"""Objects in Azure Blob Storage.

Its REST API is asked directly (docs/decisions/0060). A large object is made of blocks that nobody
sees; the request that names them makes the object, and carries the condition.
"""

from __future__ import annotations

import base64
import hashlib
import io
import zlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from email.utils import formatdate, parsedate_to_datetime
from threading import Lock
from uuid import uuid4
from xml.etree.ElementTree import Element, fromstring

from towpath.model.errors import (
    ObjectChangedError,
    ObjectColdError,
    ObjectExistsError,
    ObjectMissingError,
    StoreError,
)
from towpath.settings import LockMode, StoreConfig
from towpath.store.azure.azure_client import AzureClient
from towpath.store.objects import Data, Put, StoredObject, ThawSpeed, Unfinished, Upload, filled
from towpath.store.requests import Errand

_NAME = "x-ms-meta-towpath_write"
"""Metadata that names the write of an object."""
_TYPE = "application/octet-stream"
_COLD = "Archive"
"""The access tier whose objects must be thawed."""
_WARM = "Hot"
_LOCKS = {LockMode.GOVERNANCE: "unlocked", LockMode.COMPLIANCE: "locked"}
"""What Azure calls the modes: its owner may still shorten or delete an unlocked policy."""
_PAGE = "1000"
_DELETES = 16
"""Objects that are deleted at once."""
_PAGES = 256
"""Places in lists that are remembered."""


@dataclass(frozen=True, slots=True)
class _Place:
    """The continuation of a listing: Azure's marker, and the key after which it began."""

    marker: str
    after: str


class AzureBackend:
    """Store backend for one container of Azure Blob Storage."""

    parallel = 4

    def __init__(self, config: StoreConfig) -> None:
        self._client = AzureClient(config)
        self._deletes = ThreadPoolExecutor(_DELETES, "delete")
        self._lock = Lock()
        self._places: OrderedDict[tuple[str, str], _Place] = OrderedDict()

    def close(self) -> None:
        """Close all connections."""
        self._deletes.shutdown()
        self._client.close()

    def put(self, key: str, data: Data, how: Put) -> StoredObject:
        """Write an object as a whole."""
        asked = Errand("write", key, how.only_new)
        headers = {"x-ms-blob-type": "BlockBlob", "content-md5": _md5(data), **write_headers(how)}
        try:
            answer = self._client.of_object("PUT", asked, headers, body=[data] if data else ())
        except ObjectChangedError:
            self.head(key)  # raises, if it is missing
            raise
        return _stored(key, len(data), answer.headers, how.storage_class)

    def upload(self, key: str, how: Put) -> Upload:
        """Begin to write an object in parts; the first part creates the upload."""
        return _AzureUpload(self._client, key, how)

    def get(self, key: str, first: int, end: int | None, tag: str) -> tuple[StoredObject, bytes]:
        """Return the bytes [first, end) of an object."""
        if first < 0:  # no range counts from the end here
            found, _ = self.head(key)
            if tag and tag != found.tag:
                raise ObjectChangedError(self._client.names.where(key), "read")
            if not found.size:
                return found, b""
            first, tag = max(0, found.size + first), found.tag
        headers = {"if-match": tag} if tag else {}
        if first or end is not None:
            headers["range"] = f"bytes={first}-{'' if end is None else end - 1}"
        answer = self._client.of_object("GET", Errand("read", key), headers)
        whole = answer.headers.get("content-range", "").rpartition("/")[2]
        return _stored(key, int(whole or len(answer.data)), answer.headers), answer.data

    def get_into(self, key: str, first: int, tag: str, out: memoryview) -> StoredObject:
        """Fill memory with an object's bytes from `first` on."""
        found, data = self.get(key, first, first + len(out), tag)
        filled(out, io.BytesIO(data), self._client.names.where(key))
        return found

    def head(self, key: str) -> tuple[StoredObject, str]:
        """Return an object's metadata, and the name of the write that created the object."""
        headers = self._client.of_object("HEAD", Errand("look at", key)).headers
        return _stored(key, int(headers["content-length"]), headers), headers.get(_NAME, "")

    def page(self, prefix: str, after: str) -> tuple[Sequence[StoredObject], bool]:
        """List the next objects with a prefix after a key; return also whether there are more.

        Azure continues a listing only by a marker of its own, which is remembered by the last key.
        A listing after any other key reads the prefix from its beginning.
        """
        place = self._place(prefix, after)
        while True:
            found, marker = self._listed(prefix, place.marker)
            found = [each for each in found if each.key.encode() > place.after.encode()]
            place = replace(place, marker=marker)
            if found or not marker:
                break
        if found and marker:
            self._remember(prefix, found[-1].key, place)
        return found, bool(marker)

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects, several at once; missing ones are ignored."""
        failed = [error for error in self._deletes.map(self._delete, keys) if error]
        if failed:
            raise failed[0]

    def thaw(self, found: StoredObject, days: int, speed: ThawSpeed) -> None:
        """Request that a cold object is moved permanently to a readable tier."""
        del days, speed  # Azure knows no end, and nothing slower than its standard
        headers = {"x-ms-access-tier": _WARM, "x-ms-rehydrate-priority": "Standard"}
        with suppress(ObjectColdError):  # asked for before
            self._client.of_object("PUT", Errand("thaw", found.key), headers, {"comp": "tier"})

    def require_lock(self) -> None:
        """Do nothing, as a container without version immutability rejects the first object."""

    def unfinished(self, prefix: str) -> Sequence[Unfinished]:
        """Return nothing, as Azure deletes uncommitted blocks by itself after a week.

        https://learn.microsoft.com/rest/api/storageservices/understanding-block-blobs--append-blobs--and-page-blobs
        """
        del prefix
        return ()

    def abort(self, upload: Unfinished) -> None:
        """Do nothing, as no unfinished upload is ever listed."""

    def _place(self, prefix: str, after: str) -> _Place:
        with self._lock:
            return self._places.get((prefix, after), _Place("", after))

    def _remember(self, prefix: str, last: str, place: _Place) -> None:
        with self._lock:
            self._places[prefix, last] = place
            while len(self._places) > _PAGES:
                self._places.popitem(last=False)

    def _listed(self, prefix: str, marker: str) -> tuple[list[StoredObject], str]:
        query = {"prefix": self._client.names.name(prefix), "maxresults": _PAGE}
        if marker:
            query["marker"] = marker
        told = fromstring(self._client.listed(Errand("list objects below", prefix), query))  # noqa: S314 - the store's own
        found = [
            _listed(self._client.names.key(each.findtext("Name", "")), each)
            for each in told.iterfind("Blobs/Blob")
            if each.findtext("Properties/ResourceType") != "directory"
        ]
        return found, told.findtext("NextMarker") or ""

    def _delete(self, key: str) -> StoreError | None:
        try:
            with suppress(ObjectMissingError):
                self._client.of_object("DELETE", Errand("delete", key))
        except StoreError as error:
            return error
        return None


class _AzureUpload:
    """An upload in blocks, whose ids no other upload uses."""

    def __init__(self, client: AzureClient, key: str, how: Put) -> None:
        self._client, self._key, self._how = client, key, how
        self._name = uuid4().hex
        self._sizes: dict[int, int] = {}

    def part(self, number: int, data: Data) -> int:
        """Upload part `number`, counted from 0. Returns the CRC-32 of its bytes."""
        query = {"comp": "block", "blockid": self._block(number)}
        asked = Errand("write a part of", self._key)
        self._client.of_object("PUT", asked, {"content-md5": _md5(data)}, query, [data])
        self._sizes[number] = len(data)
        return zlib.crc32(data)

    def complete(self) -> StoredObject:
        """Create the object from all parts."""
        blocks = "".join(
            f"<Latest>{self._block(number)}</Latest>" for number in sorted(self._sizes)
        )
        body = f'<?xml version="1.0" encoding="utf-8"?><BlockList>{blocks}</BlockList>'.encode()
        asked = Errand("complete", self._key, self._how.only_new)
        headers = {"x-ms-blob-content-type": _TYPE, "content-type": "application/xml"}
        headers |= {"content-md5": _md5(body), **write_headers(self._how)}
        query = {"comp": "blocklist"}
        try:
            answer = self._client.of_object("PUT", asked, headers, query, [body])
        except ObjectMissingError:
            # Whoever made the object meanwhile took the blocks of all others away.
            if self._how.only_new and self._is_there():
                raise ObjectExistsError(self._client.names.where(self._key), asked.what) from None
            raise
        size = sum(self._sizes.values())
        return _stored(self._key, size, answer.headers, self._how.storage_class)

    def abort(self) -> None:
        """Do nothing, as Azure deletes uncommitted blocks after a week."""

    def _block(self, number: int) -> str:
        return base64.b64encode(f"{self._name}-{number:05d}".encode()).decode()

    def _is_there(self) -> bool:
        try:
            self._client.of_object("HEAD", Errand("look at", self._key))
        except ObjectMissingError:
            return False
        return True


def write_headers(how: Put) -> dict[str, str]:
    """Return the request headers for an object's metadata and for conditions."""
    headers = {_NAME: how.name} if how.name else {}
    if how.storage_class:
        headers["x-ms-access-tier"] = how.storage_class
    if how.lock is not None:
        headers["x-ms-immutability-policy-mode"] = _LOCKS[how.lock.mode]
        until = how.lock.until // 1000
        headers["x-ms-immutability-policy-until-date"] = formatdate(until, usegmt=True)
    if how.only_new:
        headers["if-none-match"] = "*"
    elif how.instead_of:
        headers["if-match"] = how.instead_of
    return headers


def _md5(data: Data) -> str:
    return base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()


def _stored(key: str, size: int, headers: Mapping[str, str], tier: str = "") -> StoredObject:
    tier = headers.get("x-ms-access-tier", tier)
    modified = int(parsedate_to_datetime(headers["last-modified"]).timestamp() * 1000)
    return StoredObject(
        key=key,
        size=size,
        tag=headers["etag"],
        modified=modified,
        storage_class=tier,
        cold=tier == _COLD,
        thawing=bool(headers.get("x-ms-archive-status")),
    )


def _listed(key: str, each: Element) -> StoredObject:
    said = {found.tag.lower(): found.text or "" for found in each.iterfind("Properties/*")}
    said["x-ms-access-tier"] = said.get("accesstier", "")
    tag = said["etag"]
    # A list has the tag without the quotes that it has everywhere else.
    said["etag"] = tag if tag.startswith('"') else f'"{tag}"'
    return _stored(key, int(said["content-length"]), said)
