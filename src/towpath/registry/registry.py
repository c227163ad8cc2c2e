"""What a schema registry is asked, in our values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from towpath.config import RegistryConfig
from towpath.model.errors import RegistryRefusedError
from towpath.model.nouns import Side
from towpath.model.schemas import (
    AVRO,
    IMPORT,
    RegisteredSchema,
    Schema,
    SchemaId,
    SchemaReference,
    SchemaVersion,
    SubjectConfig,
    SubjectName,
)
from towpath.registry.http import RegistryHttp

_NOT_THERE = 404
_NO_SUCH_CALL = frozenset({404, 405, 501})
_NOT_EMPTY = 422
_PAGE = 1_000
_OWN_PROPERTY = "confluent:version"
"""A property that registries add to metadata by themselves."""


class Registry:
    """One schema registry; threads may share it."""

    def __init__(self, config: RegistryConfig, side: Side, at_once: int) -> None:
        self._http = RegistryHttp(config, side, at_once)

    @property
    def requests(self) -> int:
        """How many requests were sent so far."""
        return self._http.requests

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def subjects(self, *, deleted: bool = False) -> frozenset[SubjectName]:
        """Return the names of all subjects.

        Args:
            deleted: Also those whose versions are all soft-deleted.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        found = self._http.call("list subjects", "GET", "/subjects", _deleted(deleted))
        return frozenset(map(SubjectName, found or ()))

    def all(self, *, deleted: bool = False) -> list[RegisteredSchema] | None:
        """Return all versions of all subjects in few requests; `None` if it has no such call.

        Metadata and rules may be missing in them.

        Args:
            deleted: Also soft-deleted ones.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        found: dict[SchemaVersion, RegisteredSchema] = {}
        while True:
            query = {"offset": str(len(found)), "limit": str(_PAGE)} | _deleted(deleted)
            try:
                page = self._http.call("list schemas", "GET", "/schemas", query) or []
            except RegistryRefusedError as error:
                if error.status in _NO_SUCH_CALL and not found:
                    return None
                raise
            if not all("subject" in each and "version" in each for each in page):
                return None
            # A registry may have smaller pages than were asked for, or none at all.
            more = {each.at: each for each in map(_registered, page) if each.at not in found}
            found |= more
            if not more or len(page) > _PAGE:
                return list(found.values())

    def versions(self, subject: SubjectName, *, deleted: bool = False) -> tuple[int, ...]:
        """Return the versions of a subject, none where there is no such subject.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        path = f"/subjects/{quote(subject, safe='')}/versions"
        found = self._if_any(f"list versions of {subject}", path, _deleted(deleted))
        return tuple(sorted(found or ()))

    def schema(self, at: SchemaVersion, *, deleted: bool = False) -> RegisteredSchema | None:
        """Return one version of a subject; `None` if it is not there.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        path = f"/subjects/{quote(at.subject, safe='')}/versions/{at.version}"
        found = self._if_any(f"read {at}", path, _deleted(deleted))
        return None if found is None else _registered(found)

    def by_id(self, number: SchemaId) -> Schema | None:
        """Return the schema with an id; `None` if there is none.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        found = self._if_any(f"read schema id {number}", f"/schemas/ids/{number}")
        return None if found is None else _schema(found)

    def find(
        self, subject: SubjectName, schema: Schema, *, normalize: bool = False
    ) -> RegisteredSchema | None:
        """Return the version of a subject that has a schema; `None` if none has.

        Args:
            subject: The subject.
            schema: The schema.
            normalize: Whether normalized forms are compared.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        path = f"/subjects/{quote(subject, safe='')}"
        try:
            query = _normalized(normalize)
            found = self._http.call(f"look up in {subject}", "POST", path, query, _body(schema))
        except RegistryRefusedError as error:
            if error.status == _NOT_THERE:
                return None
            raise
        return _registered(found)

    def register(
        self,
        at: SchemaVersion,
        schema: Schema,
        number: SchemaId | None = None,
        *,
        normalize: bool = False,
    ) -> SchemaId:
        """Register a schema, and return the id that the registry answers.

        Args:
            at: Subject and version. The version counts only with an id.
            schema: The schema.
            number: The id to have; `None` for any.
            normalize: Whether the registry normalizes it.

        Raises:
            ClusterError: The registry cannot be asked, or refuses.
        """
        body = _body(schema)
        if number is not None:
            body |= {"id": number, "version": at.version}
        path = f"/subjects/{quote(at.subject, safe='')}/versions"
        answer = self._http.call(f"register {at}", "POST", path, _normalized(normalize), body)
        return SchemaId(int(answer["id"]))

    def soft_delete(self, at: SchemaVersion) -> None:
        """Soft-delete a version: it stays readable by its id, and listed with deleted ones.

        Raises:
            ClusterError: The registry cannot be asked, or refuses.
        """
        path = f"/subjects/{quote(at.subject, safe='')}/versions/{at.version}"
        self._remove(f"soft-delete {at}", path)

    def config(self, subject: SubjectName) -> SubjectConfig:
        """Return what is set for a subject alone.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        found = self.compatibility(subject)
        return replace(found, mode=self.mode(subject))

    def compatibility(self, subject: SubjectName) -> SubjectConfig:
        """Return what is set for a subject alone, without its mode."""
        path = f"/config/{quote(subject, safe='')}"
        found = self._if_any(f"read the config of {subject}", path) or {}
        level = found.get("compatibilityLevel", found.get("compatibility"))
        return SubjectConfig(None, level, found.get("normalize"))

    def mode(self, subject: SubjectName | None = None) -> str | None:
        """Return the mode of a subject, `None` if it has none; without one, that of all.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        path = "/mode" if subject is None else f"/mode/{quote(subject, safe='')}"
        found = self._if_any(f"read the mode of {subject or 'all subjects'}", path)
        return None if found is None else str(found["mode"])

    def set_mode(self, subject: SubjectName, mode: str | None) -> None:
        """Set the mode of a subject, or let that of the whole registry hold for it again.

        Raises:
            ClusterError: The registry cannot be asked, or refuses.
        """
        path, what = f"/mode/{quote(subject, safe='')}", f"set the mode of {subject} to {mode}"
        if mode is None:
            self._remove(f"remove the mode of {subject}", path)
            return
        try:
            self._http.call(what, "PUT", path, None, {"mode": mode})
        except RegistryRefusedError as error:
            if mode != IMPORT or error.status != _NOT_EMPTY:
                raise
            # A subject that has versions goes into IMPORT by force alone.
            self._http.call(what, "PUT", path, {"force": "true"}, {"mode": mode})

    def set_compatibility(self, subject: SubjectName, wanted: SubjectConfig) -> None:
        """Set the compatibility of a subject and whether it normalizes; `None` removes both.

        Raises:
            ClusterError: The registry cannot be asked, or refuses.
        """
        path = f"/config/{quote(subject, safe='')}"
        body = {"compatibility": wanted.compatibility, "normalize": wanted.normalize}
        body = {key: value for key, value in body.items() if value is not None}
        if body:
            self._http.call(f"set the config of {subject}", "PUT", path, None, body)
        else:
            self._remove(f"remove the config of {subject}", path)

    def _remove(self, what: str, path: str) -> None:
        try:
            self._http.call(what, "DELETE", path)
        except RegistryRefusedError as error:
            if error.status != _NOT_THERE:
                raise

    def _if_any(self, what: str, path: str, query: Mapping[str, str] | None = None) -> Any:
        try:
            return self._http.call(what, "GET", path, query)
        except RegistryRefusedError as error:
            if error.status == _NOT_THERE:
                return None
            raise


def _deleted(wanted: bool) -> dict[str, str]:
    return {"deleted": "true"} if wanted else {}


def _normalized(wanted: bool) -> dict[str, str]:
    return {"normalize": "true"} if wanted else {}


def _registered(found: Mapping[str, Any]) -> RegisteredSchema:
    at = SchemaVersion(SubjectName(found["subject"]), int(found["version"]))
    return RegisteredSchema(at, SchemaId(int(found["id"])), _schema(found))


def _schema(found: Mapping[str, Any]) -> Schema:
    return Schema(
        str(found["schema"]),
        str(found.get("schemaType") or AVRO),
        tuple(_references(found.get("references") or ())),
        _metadata(found.get("metadata")),
        _json(found.get("ruleSet")),
    )


def _references(found: Iterable[Mapping[str, Any]]) -> Iterator[SchemaReference]:
    for each in found:
        yield SchemaReference(each["name"], SubjectName(each["subject"]), int(each["version"]))


def _metadata(found: Mapping[str, Any] | None) -> str:
    if not found:
        return ""
    rest = dict(found)
    own = dict(rest.pop("properties", None) or {})
    own.pop(_OWN_PROPERTY, None)
    return _json({**rest, **({"properties": own} if own else {})})


def _json(found: Any) -> str:
    held = {key: value for key, value in found.items() if value} if found else {}
    return json.dumps(held, sort_keys=True) if held else ""


def _body(schema: Schema) -> dict[str, Any]:
    body: dict[str, Any] = {"schema": schema.text}
    if schema.type != AVRO:
        body["schemaType"] = schema.type
    if schema.references:
        body["references"] = [each._asdict() for each in schema.references]
    if schema.metadata:
        body["metadata"] = json.loads(schema.metadata)
    if schema.rules:
        body["ruleSet"] = json.loads(schema.rules)
    return body
