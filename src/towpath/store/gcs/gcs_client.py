"""Requests to the JSON API of Google Cloud Storage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

import urllib3

from towpath.model.errors import ObjectMissingError
from towpath.settings import StoreConfig, Tls
from towpath.store.gcs.gcs_errors import no_bucket, store_error
from towpath.store.gcs.gcs_login import GoogleLogin
from towpath.store.names import ObjectNames
from towpath.store.objects import Data
from towpath.store.requests import Errand
from towpath.store.transport import Transport, unanswered

AT_ONCE = 32
"""Connections that are kept."""
_PROVIDER = "https://storage.googleapis.com"
_DONE = frozenset({200, 201, 204, 206})


class GcsClient:
    """Client for one bucket; thread-safe.

    Args:
        config: The store.

    Attributes:
        names: Names of its objects.

    Raises:
        StoreError: There are no usable credentials.
    """

    def __init__(self, config: StoreConfig) -> None:
        self._bucket = config.bucket
        self.names = ObjectNames(config)
        self._base = config.endpoint or _PROVIDER
        self._login = GoogleLogin(config)
        self._transport = Transport(config.tls or Tls(), config.request_timeout, AT_ONCE)
        self._found = False

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()
        self._login.close()

    def of_object(
        self, method: str, asked: Errand, query: Mapping[str, str], headers: Mapping[str, str] = {}
    ) -> urllib3.BaseHTTPResponse:
        """Send a request about an object, and return the answer.

        Raises:
            StoreError: It was refused, or none came.
        """
        path = f"/storage/v1/b/{self._bucket}/o/{quote(self.names.name(asked.key), safe='')}"
        return self._checked(method, path, asked, query, headers)

    def listed(self, asked: Errand, query: Mapping[str, str]) -> Any:
        """Return a page of the objects of the bucket.

        Raises:
            StoreError: It was refused, or none came.
        """
        return self._checked("GET", f"/storage/v1/b/{self._bucket}/o", asked, query).json()

    def uploaded(
        self,
        asked: Errand,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: Sequence[Data],
    ) -> urllib3.BaseHTTPResponse:
        """Send a request that creates an object or starts its upload; return the answer.

        Raises:
            StoreError: It was refused, or none came.
        """
        path = f"/upload/storage/v1/b/{self._bucket}/o"
        return self._checked("POST", path, asked, query, headers, body)

    def in_session(
        self,
        method: str,
        url: str,
        asked: Errand,
        headers: Mapping[str, str],
        body: Sequence[Data] = (),
    ) -> urllib3.BaseHTTPResponse:
        """Send a request to an upload session's URL, which needs no login; return the answer.

        Raises:
            StoreAwayError: None came.
        """
        try:
            return self._transport.ask(method, url, headers, body)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise unanswered(error, self.names.where(asked.key), asked.what) from None

    def check(self, answer: urllib3.BaseHTTPResponse, asked: Errand) -> None:
        """Raise if a request was refused.

        Raises:
            StoreError: It was.
        """
        if answer.status in _DONE:
            self._found = True
            return
        where = self.names.where(asked.key)
        error = store_error(answer.status, answer.data, where, asked.what, only_new=asked.only_new)
        if isinstance(error, ObjectMissingError) and not self._has_bucket():
            raise no_bucket(where, asked.what)
        raise error

    def _has_bucket(self) -> bool:
        """Whether there is a bucket: a missing one looks like a missing object."""
        if not self._found:
            asked = Errand("look for the bucket", "")
            path = f"/storage/v1/b/{self._bucket}/o"
            answer = self._answer("GET", path, asked, {"maxResults": "1", "fields": "kind"})
            self._found = answer.status != 404
        return self._found

    def _checked(
        self,
        method: str,
        path: str,
        asked: Errand,
        query: Mapping[str, str],
        headers: Mapping[str, str] = {},
        body: Sequence[Data] = (),
    ) -> urllib3.BaseHTTPResponse:
        answer = self._answer(method, path, asked, query, headers, body)
        self.check(answer, asked)
        return answer

    def _answer(
        self,
        method: str,
        path: str,
        asked: Errand,
        query: Mapping[str, str],
        headers: Mapping[str, str] = {},
        body: Sequence[Data] = (),
    ) -> urllib3.BaseHTTPResponse:
        url = f"{self._base}{path}?{urlencode(query, quote_via=quote)}"
        login = self._login.headers(method, url)
        try:
            return self._transport.ask(method, url, {**headers, **login}, body)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise unanswered(error, self.names.where(asked.key), asked.what) from None
