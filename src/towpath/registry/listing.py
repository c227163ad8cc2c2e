"""Listings of a schema registry: contexts, subjects and versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

from towpath.model.errors import RegistryRefusedError
from towpath.model.schemas import (
    DEFAULT_CONTEXT,
    QualifiedName,
    RegisteredSchema,
    SchemaVersion,
    SubjectName,
    qualified,
)
from towpath.registry import forms
from towpath.registry.http import NO_SUCH_CALL, RegistryHttp

ONE = frozenset({DEFAULT_CONTEXT})
"""The default context alone."""
_PAGE = 1_000
_ALL = "/subjects"
Query = Mapping[str, str]
T = TypeVar("T")


def contexts(http: RegistryHttp) -> frozenset[str] | None:
    """Return all contexts, with their dots."""
    try:
        found = http.call("list contexts", "GET", "/contexts")
    except RegistryRefusedError as error:
        if error.status in NO_SUCH_CALL:
            return None
        raise
    with http.reading("list contexts"):
        names = [each.strip(":") or DEFAULT_CONTEXT for each in forms.rows(found, str)]
    return ONE.union(name if name.startswith(".") else f".{name}" for name in names)


def subjects(http: RegistryHttp, contexts: Iterable[str], query: Query) -> Iterator[SubjectName]:
    """Yield the subjects of contexts."""
    for context in contexts:
        for path, where, own in _ways("subjects", context):
            names = _names(http, path, {**where, **query})
            here = [each for name in names if (each := qualified(name, own)).context == context]
            yield from (each.subject for each in here)
            if here:
                break


def _names(http: RegistryHttp, path: str, query: Query) -> list[str]:
    what = "list subjects"
    # Each registry has this list: without it, the address is that of something else.
    found = http.call(what, "GET", path, query) if path == _ALL else http.if_any(what, path, query)
    with http.reading(what):
        return forms.rows(found, str)


def versions(
    http: RegistryHttp,
    contexts: Iterable[str],
    query: Query,
    kept: Callable[[RegisteredSchema], T],
) -> dict[SchemaVersion, T] | None:
    """Return all versions in contexts, `None` if the registry has no such call."""
    found: dict[SchemaVersion, T] = {}
    for context in contexts:
        for path, where, own in _ways("schemas", context):
            part = _pages(http, path, {**where, **query}, own, kept)
            if part is None and own == DEFAULT_CONTEXT:
                return None
            here = {
                at: one
                for at, one in (part or {}).items()
                if qualified(at.subject).context == context
            }
            found |= here
            if here:
                break
    return found


def _ways(what: str, context: str) -> tuple[tuple[str, dict[str, str], str], ...]:
    """Return the ways in which makes of registries list a context, the usual one first.

    Each is a path, a query, and the context of names that the answer has without one.
    """
    path = f"/{what}"
    if context == DEFAULT_CONTEXT:
        return ((path, {}, context),)
    prefix: dict[str, str] = {"subjectPrefix": QualifiedName(context, "").subject}
    return (path, prefix, DEFAULT_CONTEXT), (f"/contexts/{quote(context)}{path}", {}, context)


def _pages(
    http: RegistryHttp,
    path: str,
    where: Query,
    context: str,
    kept: Callable[[RegisteredSchema], T],
) -> dict[SchemaVersion, T] | None:
    found: dict[SchemaVersion, T] = {}
    rows, is_whole = 0, False
    while True:
        paged = {} if is_whole else {"offset": str(rows), "limit": str(_PAGE)}
        try:
            answer = http.call("list schemas", "GET", path, {**paged, **where})
        except RegistryRefusedError as error:
            if error.status in NO_SUCH_CALL and not found:
                return None
            raise
        before = len(found)
        with http.reading("list schemas"):
            page: list[dict[str, Any]] = forms.rows(answer, dict)
            if not all("subject" in each and "version" in each for each in page):
                return None
            for each in page:
                one = forms.registered(each, context)
                if one.at not in found:
                    found[one.at] = kept(one)
        rows += len(page)
        if is_whole:
            # A list that is cut off proves nothing; then each subject is asked for its versions.
            return found if len(page) >= len(found) else None
        if not page or len(page) > _PAGE:
            return found
        # Some registries give versions that share an id in another order each time. What a page
        # repeats stands in the place of something else, so all are asked for at once.
        is_whole = len(found) - before < len(page)
