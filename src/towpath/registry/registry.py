"""Typed client of a schema registry."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from threading import Lock
from typing import TypeVar
from urllib.parse import quote
from uuid import UUID

from towpath.model.errors import RegistryRefusedError
from towpath.model.nouns import Side
from towpath.model.schemas import (
    DEFAULT_CONTEXT,
    QualifiedName,
    RegisteredSchema,
    Schema,
    SchemaId,
    SchemaVersion,
    SubjectName,
    qualified,
)
from towpath.registry import forms, listing
from towpath.registry.apicurio import ApicurioIds
from towpath.registry.http import NO_SUCH_CALL, NOT_THERE, RegistryHttp
from towpath.registry.kinds import Traits, traits
from towpath.registry.settings import RegistrySettings
from towpath.settings import RegistryConfig, RegistryKind

_ID_UNKNOWN = 40403
T = TypeVar("T")


class Registry:
    """Client of one schema registry; thread-safe.

    Subjects of contexts other than the default one have their contexts in their names. References
    have the whole names of the subjects that they mean.
    """

    def __init__(self, config: RegistryConfig, side: Side, at_once: int) -> None:
        self._config, self._http = config, RegistryHttp(config, side, at_once)
        self._side, self._at_once = side, at_once
        self._apicurio: ApicurioIds | None = None
        self._traits: Traits | None = None
        self._lock = Lock()
        self.settings = RegistrySettings(self._http, lambda: self.traits)

    @property
    def traits(self) -> Traits:
        """The features of this registry, detected once.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        with self._lock:
            if self._traits is None:
                self._traits = found = traits(self._config, self._http)
                if found.kind is RegistryKind.APICURIO:
                    self._apicurio = ApicurioIds(self._config, self._side, self._at_once)
            return self._traits

    @property
    def requests(self) -> int:
        """Number of requests sent so far."""
        own = self._apicurio
        return self._http.requests + (own.http.requests if own is not None else 0)

    def stop(self) -> None:
        """Stop sending requests; waiting calls fail at their deadline."""
        self._http.stop()
        if self._apicurio is not None:
            self._apicurio.http.stop()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()
        if self._apicurio is not None:
            self._apicurio.http.close()

    def contexts(self) -> frozenset[str] | None:
        """Return the default context and all that have subjects; `None` if it has no contexts.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        return listing.contexts(self._http) if self.traits.has_contexts else None

    def subjects(
        self, contexts: Iterable[str] = listing.ONE, *, deleted: bool = False
    ) -> frozenset[SubjectName]:
        """Return the names of all subjects.

        Args:
            contexts: The contexts to look at.
            deleted: Also those whose versions are all soft-deleted.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        return frozenset(listing.subjects(self._http, contexts, _deleted(deleted)))

    @property
    def away(self) -> bool:
        """Whether the registry does not answer at present."""
        return bool(self._http.away)

    def all(
        self,
        kept: Callable[[RegisteredSchema], T],
        contexts: Iterable[str] = listing.ONE,
        *,
        deleted: bool = False,
    ) -> dict[SchemaVersion, T] | None:
        """Return all versions of all subjects in few requests; `None` if unsupported.

        Args:
            kept: Returns what is kept of each version: all texts would be too much. Metadata and
                rules may be missing in what it gets.
            contexts: The contexts to look at.
            deleted: Also soft-deleted ones.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        return listing.versions(self._http, contexts, _deleted(deleted), kept)

    def latest(self, subject: SubjectName, *, deleted: bool = False) -> RegisteredSchema | None:
        """Return the last version of a subject; `None` if it has none.

        Args:
            subject: The subject.
            deleted: Also a soft-deleted one.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        return self._version(subject, "latest", deleted=deleted)

    def versions(self, subject: SubjectName, *, deleted: bool = False) -> tuple[int, ...]:
        """Return the versions of a subject, none if the subject does not exist.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        path = f"{forms.path_of('subjects', subject)}/versions"
        what = f"list versions of {subject}"
        found = self._http.if_any(what, path, _deleted(deleted))
        with self._http.reading(what):
            return tuple(sorted(forms.rows(found, int)))

    def schema(self, at: SchemaVersion, *, deleted: bool = False) -> RegisteredSchema | None:
        """Return one version of a subject; `None` if it does not exist.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        return self._version(at.subject, str(at.version), deleted=deleted)

    def _version(
        self, subject: SubjectName, number: str, *, deleted: bool
    ) -> RegisteredSchema | None:
        path = f"{forms.path_of('subjects', subject)}/versions/{number}"
        what = f"read {subject} version {number}"
        found = self._http.if_any(what, path, _deleted(deleted))
        if found is None:
            return None
        with self._http.reading(what):
            read = forms.registered(found, qualified(subject).context)
        return self._own(read)

    def by_id(self, number: SchemaId, context: str = DEFAULT_CONTEXT) -> Schema | None:
        """Return the schema with an id; `None` if there is none.

        Args:
            number: The id.
            context: The context; each has its own ids.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        what, path = f"read schema id {number}", f"/schemas/ids/{number}"
        if (own := self._own_ids) is not None:
            place = own.holding(number)
            held = self.schema(place) if place is not None else None
            return None if held is None else held.schema
        if context == DEFAULT_CONTEXT:
            found = self._http.if_any(what, path)
        else:
            try:
                found = self._http.call(what, "GET", f"/contexts/{quote(context)}{path}")
            except RegistryRefusedError as error:
                if error.status not in NO_SUCH_CALL:
                    raise
                # Another make has no such path, and takes the context from a subject.
                query = {"subject": QualifiedName(context, "").subject}
                found = None if error.error == _ID_UNKNOWN else self._http.if_any(what, path, query)
        with self._http.reading(what):
            return None if found is None else forms.schema(found, context)

    def by_guid(self, guid: str) -> Schema | None:
        """Return the schema with a GUID, as in headers of newer serializers.

        Returns:
            `None` if there is none, or if the registry has no such call.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        what = f"read schema {guid}"
        found = self._http.if_any(what, f"/schemas/guids/{guid}")
        with self._http.reading(what):
            return None if found is None else forms.schema(found, DEFAULT_CONTEXT)

    def ids_of_guid(self, guid: str) -> tuple[SchemaId, ...]:
        """Return the ids that a schema has in any context, none if it has none.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        what = f"list the ids of schema {guid}"
        found = self._http.if_any(what, f"/schemas/guids/{guid}/ids")
        with self._http.reading(what):
            return tuple(SchemaId(int(each["id"])) for each in found or ())

    def guid_of(self, number: SchemaId) -> UUID | None:
        """Return the GUID of the schema with an id, `None` for a registry without GUIDs.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        what = f"read schema id {number}"
        found = self._http.if_any(what, f"/schemas/ids/{number}") or {}
        with self._http.reading(what):
            return UUID(found["guid"]) if found.get("guid") else None

    def users(self, number: SchemaId) -> tuple[SchemaVersion, ...]:
        """Return the versions that use a schema id, none if the registry has no such call.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        if (own := self._own_ids) is not None:
            place = own.holding(number)
            return () if place is None else (place,)
        path = f"/schemas/ids/{number}/versions"
        what = f"list the versions with schema id {number}"
        found = self._http.if_any(what, path)
        with self._http.reading(what):
            return tuple(
                SchemaVersion(SubjectName(each["subject"]), int(each["version"]))
                for each in found or ()
            )

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
        path, context = forms.path_of("subjects", subject), qualified(subject).context
        body, what = forms.body(schema, context), f"look up in {subject}"
        try:
            query = _normalized(normalize)
            found = self._http.call(what, "POST", path, query, body)
        except RegistryRefusedError as error:
            if error.status == NOT_THERE:
                return None
            raise
        with self._http.reading(what):
            # Apicurio does not repeat the type.
            read = forms.registered({"schemaType": schema.type, **found}, context)
        return self._own(read)

    def register(
        self,
        at: SchemaVersion,
        schema: Schema,
        number: SchemaId | None = None,
        *,
        normalize: bool = False,
    ) -> SchemaId:
        """Register a schema, and return the id in the registry's answer.

        Args:
            at: Subject and version. The version counts only with an id.
            schema: The schema.
            number: The id to have; `None` for any.
            normalize: Whether the registry normalizes it.

        Raises:
            ClusterError: The registry cannot be asked, or refuses.
        """
        body = forms.body(schema, qualified(at.subject).context)
        if number is not None:
            body |= {"id": number, "version": at.version}
        path = f"{forms.path_of('subjects', at.subject)}/versions"
        what = f"register {at}"
        answer = self._http.call(what, "POST", path, _normalized(normalize), body)
        if self._own_ids is not None and number is None:
            held = self.find(at.subject, schema, normalize=normalize)
            if held is not None:
                return held.id
        with self._http.reading(what):
            return SchemaId(int(answer["id"]))

    @property
    def _own_ids(self) -> ApicurioIds | None:
        return self._apicurio if self.traits.kind is RegistryKind.APICURIO else None

    def _own(self, found: RegisteredSchema) -> RegisteredSchema:
        """Return a version with the id that clients of this registry write into records."""
        own = self._own_ids
        number = own.of(found.at) if own is not None else None
        return found if number is None else replace(found, id=number)

    def soft_delete(self, at: SchemaVersion) -> None:
        """Soft-delete a version: it stays readable by its id, and listed among deleted ones.

        Raises:
            ClusterError: The registry cannot be asked, or refuses.
        """
        path = f"{forms.path_of('subjects', at.subject)}/versions/{at.version}"
        self._http.remove(f"soft-delete {at}", path)


def _deleted(wanted: bool) -> dict[str, str]:
    return {"deleted": "true"} if wanted else {}


def _normalized(wanted: bool) -> dict[str, str]:
    return {"normalize": "true"} if wanted else {}
