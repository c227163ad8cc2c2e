"""Upload sessions for large objects of Google Cloud Storage.

A session answers how far it has got, so what was lost is sent again, and nothing twice. Its last
request has the size and the checksum of all bytes, and makes the object if the condition of the
session still holds.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import google_crc32c
import urllib3

from towpath.model.errors import StoreRefusedError
from towpath.store.gcs.gcs_client import GcsClient
from towpath.store.objects import Data, StoredObject
from towpath.store.requests import Errand

FIELDS = "generation,size,updated,storageClass,crc32c"
"""What is asked of an object."""
_GRAIN = 256 << 10
"""All requests of a session but the last one have a multiple of so many bytes."""
_MORE = 308
_CANCELLED = frozenset({204, 404, 410, 499})


def stored(key: str, told: Mapping[str, Any]) -> StoredObject:
    """Return the stored object that the API's JSON describes."""
    updated = told.get("updated")
    return StoredObject(
        key=key,
        size=int(told["size"]),
        tag=str(told["generation"]),
        modified=int(datetime.fromisoformat(updated).timestamp() * 1000) if updated else 0,
        storage_class=str(told.get("storageClass", "")),
    )


class GcsUpload:
    """A resumable upload, whose parts are sent in order.

    Args:
        client: Sends requests.
        key: The object.
        session: The URL of the session. Whoever has it can write the object.
        only_new: Whether the session demands that there is no such object.
    """

    def __init__(self, client: GcsClient, key: str, session: str, *, only_new: bool) -> None:
        self._client, self._session, self._key = client, session, key
        self._asked = Errand("write a part of", key, only_new)
        self._held: list[memoryview] = []
        self._begun = self._end = 0
        """Where the bytes begin and end that are held."""
        self._next = self._crc = 0
        self._unsure = False
        """Whether an answer was lost, so that nobody knows how far the session has got."""

    def part(self, number: int, data: Data) -> int:
        """Upload part `number`, counted from 0; a failed part may be given again.

        Returns:
            The CRC-32 of the bytes.
        """
        if number == self._next:
            self._next += 1
            self._crc = google_crc32c.extend(self._crc, bytes(data))
            self._held.append(memoryview(data))
            self._end += len(data)
        if self._unsure:
            self._looked()
        end = (self._end - 1) // _GRAIN * _GRAIN  # the last request has some bytes as well
        while self._begun < end:
            self._note(self._put(end, "*", {}))
        self._held = [memoryview(bytes(each)) for each in self._held]  # others may come there
        return zlib.crc32(data)

    def complete(self) -> StoredObject:
        """Create the object from all parts."""
        if self._unsure and (made := self._looked()):
            return made
        while True:
            headers = {"x-goog-hash": f"crc32c={_text(self._crc)}"}
            answer = self._put(self._end, str(self._end), headers)
            if answer.status != _MORE:
                return self._made(answer)
            self._note(answer)

    def abort(self) -> None:
        """End the session, and discard its bytes."""
        self._held.clear()
        asked = Errand("abort writing", self._key)
        answer = self._client.in_session("DELETE", self._session, asked, {"content-length": "0"})
        if answer.status not in _CANCELLED:
            self._client.check(answer, asked)

    def _looked(self) -> StoredObject | None:
        """Ask how far the session has got; return the object, if it is made."""
        headers = {"content-range": "bytes */*"}
        answer = self._client.in_session("PUT", self._session, self._asked, headers)
        if answer.status != _MORE:
            self._client.check(answer, self._asked)
            return self._made(answer)
        self._note(answer)
        self._unsure = False
        return None

    def _made(self, answer: urllib3.BaseHTTPResponse) -> StoredObject:
        """Return the object that the last request has made."""
        told = answer.json()
        if told["crc32c"] == _text(self._crc):
            return stored(self._key, told)
        query = {"ifGenerationMatch": str(told["generation"])}
        self._client.of_object("DELETE", Errand("delete", self._key), query)
        why = "the store got other bytes than were sent, as their checksum tells; they are deleted"
        raise StoreRefusedError(self._client.names.where(self._key), self._asked.what, why)

    def _put(self, end: int, whole: str, headers: Mapping[str, str]) -> urllib3.BaseHTTPResponse:
        """Send what is held, up to an end; return an answer that is no refusal."""
        sent = {"content-range": f"bytes {self._begun}-{end - 1}/{whole}", **headers}
        self._unsure = True
        body = self._between(end)
        answer = self._client.in_session("PUT", self._session, self._asked, sent, body)
        if answer.status != _MORE:
            self._client.check(answer, self._asked)
        self._unsure = False
        return answer

    def _between(self, end: int) -> list[memoryview]:
        """Return what is held, up to an end."""
        found, left = [], end - self._begun
        for each in self._held:
            found.append(each[:left])
            left -= len(found[-1])
        return [each for each in found if len(each)]

    def _note(self, answer: urllib3.BaseHTTPResponse) -> None:
        """Forget what the session has."""
        last = answer.headers.get("range", "").rpartition("-")[2]
        gone = (int(last) + 1 if last else 0) - self._begun
        if gone < 0 or gone > self._end - self._begun:
            why = f"it has the bytes up to {last or 0}, and had got those up to {self._begun}"
            raise StoreRefusedError(self._client.names.where(self._key), self._asked.what, why)
        self._begun += gone
        while gone:
            first = self._held[0][:gone]
            gone -= len(first)
            rest = self._held[0][len(first) :]
            self._held[:1] = [rest] if len(rest) else []


def _text(crc: int) -> str:
    return base64.b64encode(crc.to_bytes(4)).decode()
