"""Errors about a schema registry."""

from __future__ import annotations

from towpath.model.errors.base import TowpathError
from towpath.model.errors.cluster import ClusterError


class RegistryRefusedError(ClusterError):
    """A schema registry answered with an error.

    Args:
        side: `source` or `target`.
        what: What was being done, with its values.
        status: The HTTP status.
        error: The number of the error in the registry's answer; the status where it has none.
        why: What the registry said, without secrets.
        advice: What to do about it.
    """

    code = "REGISTRY_REFUSED"

    def __init__(
        self, side: str, what: str, status: int, error: int, why: str, advice: str = ""
    ) -> None:
        super().__init__(side, what, status, error, why, advice)
        self.side, self.what, self.status = side, what, status
        self.error, self.why, self.advice = error, why, advice

    def __str__(self) -> str:
        text = f"{self.side}: the schema registry: {self.what}: {self.why} ({self.error})"
        return f"{text}; {self.advice}" if self.advice else text


class SchemaNotKeptError(TowpathError):
    """The target's registry accepted a schema, but stored another one.

    Args:
        what: The schema that was sent, with its place.
        sent: What should be there.
        found: What is there.
        whole: Whether nothing more is written to this registry.
    """

    code = "SCHEMA_NOT_KEPT"
    exit_code = 3

    def __init__(self, what: str, sent: str, found: str, *, whole: bool = False) -> None:
        super().__init__(what, sent, found)
        self.what, self.sent, self.found, self.whole = what, sent, found, whole

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (self.what, self.sent, self.found, self.whole)

    def __str__(self) -> str:
        text = (
            f"target: the schema registry accepted {self.what}, which should have {self.sent}, and"
            f" has {self.found}"
        )
        if self.whole:
            return (
                f"{text}; it does not keep ids, so nothing more is written to it: use one that has"
                " the mode IMPORT, or set `schemas.ids: translate`"
            )
        return f"{text}; look who else writes to this subject, then plan again"


class SchemaHeldBackError(TowpathError):
    """A schema step must wait because another schema is missing.

    Args:
        missing: The schema, or its subject.
        own: Whether it is of the same subject.
    """

    code = "SCHEMA_HELD_BACK"
    exit_code = 3

    def __init__(self, missing: str, own: bool = False) -> None:
        super().__init__(missing, own)
        self.missing, self.own = missing, own

    def __str__(self) -> str:
        if self.own:
            why = "its versions could not be registered; mend what keeps them back"
        else:
            why = (
                f"it refers to {self.missing}, which could not be registered; mend what keeps that"
                " one back"
            )
        return f"target: {why}, then sync again"


def _again(what: str, sent: str, found: str, whole: bool) -> SchemaNotKeptError:
    return SchemaNotKeptError(what, sent, found, whole=whole)
