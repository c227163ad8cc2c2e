"""Objects in Google Cloud Storage.

Its JSON API is asked directly (docs/decisions/0059): conditions are generations there, and a large
object is one session in which bytes follow each other.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any
from uuid import uuid4

import google_crc32c
import urllib3

from towpath.model.errors import (
    ObjectChangedError,
    ObjectMissingError,
    StoreError,
    StoreRefusedError,
)
from towpath.settings import StoreConfig
from towpath.store.gcs.gcs_client import GcsClient
from towpath.store.gcs.gcs_upload import FIELDS, GcsUpload, stored
from towpath.store.objects import Data, Put, StoredObject, ThawSpeed, Unfinished, Upload, filled
from towpath.store.requests import Errand

_NAME = "towpath-write"
"""Metadata that names the write of an object."""
_TYPE = "application/octet-stream"
_PAGE = "1000"
_DELETES = 16
"""Objects that are deleted at once."""


class GcsBackend:
    """Store backend for one bucket of Google Cloud Storage."""

    parallel = 1

    def __init__(self, config: StoreConfig) -> None:
        self._client = GcsClient(config)
        self._deletes = ThreadPoolExecutor(_DELETES, "delete")

    def close(self) -> None:
        """Close all connections."""
        self._deletes.shutdown()
        self._client.close()

    def put(self, key: str, data: Data, how: Put) -> StoredObject:
        """Write an object as a whole."""
        asked = Errand("write", key, how.only_new)
        checksum = {"crc32c": _crc32c(data)}
        about = json.dumps(self._kept(key, how) | checksum).encode()
        mark = uuid4().hex.encode()
        body = [
            b"--%b\r\ncontent-type: application/json\r\n\r\n%b\r\n" % (mark, about),
            b"--%b\r\ncontent-type: %b\r\n\r\n" % (mark, _TYPE.encode()),
            data,
            b"\r\n--%b--\r\n" % mark,
        ]
        headers = {"content-type": f"multipart/related; boundary={mark.decode()}"}
        query = {"uploadType": "multipart", "fields": FIELDS, **_conditions(how)}
        try:
            answer = self._client.uploaded(asked, query, headers, body)
        except ObjectChangedError:
            self.head(key)  # raises, if it is missing
            raise
        return stored(key, answer.json())

    def upload(self, key: str, how: Put) -> Upload:
        """Begin to write an object in parts."""
        about = json.dumps(self._kept(key, how)).encode()
        headers = {"content-type": "application/json", "x-upload-content-type": _TYPE}
        query = {"uploadType": "resumable", "fields": FIELDS, **_conditions(how)}
        asked = Errand("begin to write", key, how.only_new)
        answer = self._client.uploaded(asked, query, headers, [about])
        return GcsUpload(self._client, key, answer.headers["location"], only_new=how.only_new)

    def get(self, key: str, first: int, end: int | None, tag: str) -> tuple[StoredObject, bytes]:
        """Return the bytes [first, end) of an object."""
        headers = {"accept-encoding": "identity"}
        if first or end is not None:
            headers["range"] = f"bytes={first}-{'' if end is None else end - 1}"
        if first < 0:
            headers["range"] = f"bytes={first}"
        query = {"alt": "media"} | ({"ifGenerationMatch": tag} if tag else {})
        asked = Errand("read", key)
        try:
            answer = self._client.of_object("GET", asked, query, headers)
        except StoreRefusedError:
            if first >= 0 or (empty := self.head(key)[0]).size:
                raise
            return empty, b""  # an empty object has no end that could be read
        found = _found(key, answer)
        if tag and found.tag != tag:
            raise ObjectChangedError(self._client.names.where(key), "read")
        return found, answer.data

    def get_into(self, key: str, first: int, tag: str, out: memoryview) -> StoredObject:
        """Fill memory with an object's bytes from `first` on."""
        found, data = self.get(key, first, first + len(out), tag)
        filled(out, io.BytesIO(data), self._client.names.where(key))
        return found

    def head(self, key: str) -> tuple[StoredObject, str]:
        """Return an object's metadata, and the name of the write that created the object."""
        query = {"fields": f"{FIELDS},metadata"}
        told = self._client.of_object("GET", Errand("look at", key), query).json()
        return stored(key, told), told.get("metadata", {}).get(_NAME, "")

    def page(self, prefix: str, after: str) -> tuple[Sequence[StoredObject], bool]:
        """List the next objects with a prefix after a key; return also whether there are more."""
        query = {
            "prefix": self._client.names.name(prefix),
            "maxResults": _PAGE,
            "fields": f"nextPageToken,items(name,{FIELDS})",
        }
        if after:
            query["startOffset"] = self._client.names.name(after)
        while True:
            told = self._client.listed(Errand("list objects below", prefix), query)
            items = [(self._client.names.key(each["name"]), each) for each in told.get("items", ())]
            found = [stored(key, each) for key, each in items if key != after]
            more = told.get("nextPageToken", "")
            if found or not more:
                return found, bool(more)
            query["pageToken"] = more  # a page may be empty although others follow

    def delete(self, keys: Sequence[str]) -> None:
        """Delete up to 1000 objects."""
        failed = [error for error in self._deletes.map(self._delete, keys) if error]
        if failed:
            raise failed[0]

    def thaw(self, found: StoredObject, days: int, speed: ThawSpeed) -> None:
        """Do nothing, as all objects can be read at once."""

    def require_lock(self) -> None:
        """Do nothing, as the config refuses locks for Google's stores."""

    def unfinished(self, prefix: str) -> Sequence[Unfinished]:
        """Return nothing, as Google lists no upload sessions, and ends each after a week.

        https://docs.cloud.google.com/storage/docs/resumable-uploads
        """
        del prefix
        return ()

    def abort(self, upload: Unfinished) -> None:
        """Do nothing, as no unfinished upload is ever listed."""

    def _delete(self, key: str) -> StoreError | None:
        try:
            with suppress(ObjectMissingError):
                self._client.of_object("DELETE", Errand("delete", key), {})
        except StoreError as error:
            return error
        return None

    def _kept(self, key: str, how: Put) -> dict[str, Any]:
        """Return what an object has besides its bytes."""
        kept: dict[str, Any] = {"name": self._client.names.name(key), "contentType": _TYPE}
        if how.name:
            kept["metadata"] = {_NAME: how.name}
        if how.storage_class:
            kept["storageClass"] = how.storage_class
        return kept


def _conditions(how: Put) -> dict[str, str]:
    if how.only_new:
        return {"ifGenerationMatch": "0"}
    return {"ifGenerationMatch": how.instead_of} if how.instead_of else {}


def _crc32c(data: Data) -> str:
    return base64.b64encode(google_crc32c.value(bytes(data)).to_bytes(4)).decode()


def _found(key: str, answer: urllib3.BaseHTTPResponse) -> StoredObject:
    """Return an object of which a part was read."""
    headers = answer.headers
    whole = headers.get("content-range", "").rpartition("/")[2]
    told = {
        "generation": headers["x-goog-generation"],
        "size": whole or headers.get("x-goog-stored-content-length") or len(answer.data),
        "storageClass": headers.get("x-goog-storage-class", ""),
    }
    modified: datetime = parsedate_to_datetime(headers["last-modified"])
    return replace(stored(key, told), modified=int(modified.timestamp() * 1000))
