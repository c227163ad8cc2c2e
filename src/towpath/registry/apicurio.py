"""Schema ids of Apicurio, which has two for each schema, through its own API."""

from __future__ import annotations

from threading import Lock
from urllib.parse import quote

from towpath.model.nouns import Side
from towpath.model.schemas import SchemaId, SchemaVersion, SubjectName
from towpath.registry.http import RegistryHttp
from towpath.settings import APICURIO_PATH, ApicurioId, RegistryConfig

_OWN = "/apis/registry/v3"
_GROUP = "/groups/default/artifacts"
"""Where its interface of Confluent's keeps subjects."""
_KEYS = {ApicurioId.CONTENT: "contentId", ApicurioId.GLOBAL: "globalId"}
_MOST = 500


class ApicurioIds:
    """Translates between versions and both kinds of ids; thread-safe.

    Which of the two numbers Apicurio answers at its interface of Confluent's is a setting of the
    server, so both come from its own interface.

    Args:
        config: The registry.
        side: Which registry it is.
        at_once: The most requests at the same time.
    """

    def __init__(self, config: RegistryConfig, side: Side, at_once: int) -> None:
        urls = tuple(f"{url}/".partition(APICURIO_PATH)[0] + _OWN for url in config.url)
        self.http = RegistryHttp(config.model_copy(update={"url": urls}), side, at_once)
        self._key = _KEYS[config.apicurio_id]
        self._ids: dict[SchemaVersion, SchemaId] = {}
        self._lock = Lock()

    def of(self, at: SchemaVersion) -> SchemaId | None:
        """Return the id of a version; `None` if there is no such version.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        with self._lock:
            found = self._ids.get(at)
        return self._read(at) if found is None else found

    def holding(self, number: SchemaId) -> SchemaVersion | None:
        """Return a version that has an id; `None` if there is none.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        query = {self._key: str(number), "groupId": "default", "limit": "1"}
        what = f"look up id {number}"
        found = self.http.call(what, "GET", "/search/versions", query)
        with self.http.reading(what):
            for each in found["versions"]:
                return SchemaVersion(SubjectName(each["artifactId"]), int(each["version"]))
        return None

    def _read(self, at: SchemaVersion) -> SchemaId | None:
        path = f"{_GROUP}/{quote(at.subject, safe='')}/versions"
        what, seen = f"read the ids of {at.subject}", 0
        while True:
            query = {"limit": str(_MOST), "offset": str(seen)}
            found = self.http.if_any(what, path, query) or {"versions": ()}
            with self._lock, self.http.reading(what):
                for each in found["versions"]:
                    place = SchemaVersion(at.subject, int(each["version"]))
                    self._ids[place] = SchemaId(int(each[self._key]))
            seen += len(found["versions"])
            if len(found["versions"]) < _MOST:
                return self._ids.get(at)
