"""The contexts of a schema registry to copy, and their names on the target."""

from __future__ import annotations

import re

from towpath.model.schemas import DEFAULT_CONTEXT
from towpath.settings.naming import Renaming, pattern

SKIP = "skip"
_NAME = re.compile(r"\.[A-Za-z0-9._-]*")


def checked(contexts: dict[str, str]) -> dict[str, str]:
    """Validate a map of contexts, and return it.

    Raises:
        ValueError: A name on the target has a group that its expression lacks, or is no name.
    """
    for key, value in contexts.items():
        renaming = _renaming(key, value)
        try:
            renaming.check()
        except ValueError:
            known = f"{{{renaming.what}}} and the groups of {key!r}"
            raise ValueError(f"{value!r} may have {known} as placeholders") from None
        if "{" not in value:
            dotted(value)
    return contexts


def dotted(name: str) -> str:
    """Return the name of a context with its leading dot.

    Raises:
        ValueError: It is no name that registries accept.
    """
    made = name if name.startswith(".") else f".{name}"
    if not name or not _NAME.fullmatch(made):
        raise ValueError(f"{name!r} is not the name of a context: letters, digits, . _ and -")
    return made


def mapped(contexts: dict[str, str], context: str) -> str | None:
    """Return the context on the target: `skip` to leave it out, `None` without a rule.

    Args:
        contexts: The expressions of the file in their order, each with a name on the target.
        context: A context of the source, with its leading dot.

    Raises:
        ConfigError: The rule for it makes no name that registries accept.
    """
    if not contexts:
        return context
    for key, value in contexts.items():
        form = _form(key, context)
        if form is None:
            continue
        if value == SKIP:
            return SKIP
        renaming = _renaming(key, value)
        name = renaming.name(form)
        try:
            return dotted(name)
        except ValueError:
            text = f"context {context} would be {name!r}, which is not the name of a context"
            raise renaming.misnamed(f"{text}: letters, digits, . _ and -") from None
    return None


def _form(key: str, context: str) -> str | None:
    """Return the name of a context as an expression matches it, `None` if it does not."""
    if DEFAULT_CONTEXT in (key, context):
        is_same = key == context or (key != DEFAULT_CONTEXT and pattern(key).fullmatch(context))
        return context if is_same else None
    forms = (context[1:], context)
    return next((form for form in forms if pattern(key).fullmatch(form)), None)


def _renaming(key: str, value: str) -> Renaming:
    return Renaming("context", f"schemas.contexts.{key}", value, (key,))
