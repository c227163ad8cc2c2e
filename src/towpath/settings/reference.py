"""The reference pages of configuration files, generated from the models' fields.

`python -m towpath.settings.reference KIND > docs/reference/KIND-file.md` writes one anew; KIND is
`link`, `archive` or `kraft`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from towpath.model.secret import Secret
from towpath.settings.cron import Cron
from towpath.settings.kinds import KINDS, FileKind
from towpath.settings.page_links import linked
from towpath.settings.secrets import PemFile
from towpath.settings.sections.topics import Count
from towpath.settings.shape import TAGGED, fields, sections, tags
from towpath.settings.units import ByteRate, Duration, Size

_HEADS: dict[FileKind, str] = {
    FileKind.LINK: "The file of a link",
    FileKind.ARCHIVE: "The file of an archive",
    FileKind.KRAFT: "The file of a migration to KRaft",
}
"""Title of the page of each kind of file."""
_INTRODUCTION = """\
# {title}

<!-- Written by `python -m towpath.settings.reference {kind}`; change the fields, not this page. -->

All keys, with their values and defaults. How the file is written and checked, and what secrets,
variables, durations and sizes look like: [The configuration file](../configuration.md).
"""

_WORDS: dict[object, str] = {
    str: "text",
    int: "time",  # no other field holds a plain number
    Count: "number",
    Cron: "schedule",
    bool: "true or false",
    Duration: "duration",
    Size: "size",
    ByteRate: "rate",
    Secret: "secret",
    PemFile: "path",
}


def markdown(kind: FileKind) -> str:
    """Return the reference page of one kind of file."""
    title = _HEADS[kind]
    above = None if kind is FileKind.LINK else ()
    lines = _section(KINDS[kind].model, "Top level", [], above)
    introduction = _INTRODUCTION.format(title=title, kind=kind)
    return linked("\n".join([introduction, *lines]), "../").rstrip() + "\n"


def _section(
    model: type[BaseModel],
    title: str,
    told: list[type[BaseModel]],
    above: tuple[str, ...] | None,
) -> Iterator[str]:
    """Yield the table of a model and of those below it.

    Args:
        model: The model.
        title: Heading of its table.
        told: The models that have a table already.
        above: The keys that lead to the model in a file with a `kind`, `None` in that of a link.
    """
    told.append(model)
    yield f"## {title}\n"
    yield "| key | value | default | meaning |"
    yield "|---|---|---|---|"
    for name, field in fields(model).items():
        yield f"| `{name}` | {_value(field)} | {_default(field)} | {field.description or ''} |"
    yield ""
    for name, field in fields(model).items():
        yield from _below(name, field, told, above)


def _below(
    name: str,
    field: FieldInfo,
    told: list[type[BaseModel]],
    above: tuple[str, ...] | None,
) -> Iterator[str]:
    place = None if above is None else (*above, name)
    path = name if place is None else ".".join(place)
    for model in sections(field.annotation):
        if model in told:
            continue
        forms = " or ".join(f"`{tag}`" for tag in tags(model))
        title = f"`{path}`, `{TAGGED[name]}` {forms}" if forms else f"`{path}`"
        title += " and `target`" if path == "source" and place is None else ""
        yield from _section(model, title, told, place)


def _value(field: FieldInfo) -> str:
    return " or ".join(dict.fromkeys(_words(field.annotation)))


def _words(annotation: Any) -> Iterator[str]:
    if annotation is type(None):
        return
    if get_origin(annotation) is Literal:
        yield from (f"`{choice}`" for choice in get_args(annotation))
    elif get_origin(annotation) is tuple:
        yield "list"
    elif get_origin(annotation) is dict or sections(annotation):
        yield "mapping"
    elif isinstance(annotation, type) and issubclass(annotation, Enum):
        yield from (f"`{choice.value}`" for choice in annotation)
    elif annotation in _WORDS:
        yield _WORDS[annotation]
    else:
        for part in _parts(annotation):
            yield from _words(part)


def _parts(annotation: Any) -> tuple[Any, ...]:
    if hasattr(annotation, "__supertype__"):
        return (annotation.__supertype__,)
    return get_args(annotation)[:1] if hasattr(annotation, "__metadata__") else get_args(annotation)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True)
    match default:
        case None | () | {} | BaseModel():
            return ""
        case bool():
            return f"`{str(default).lower()}`"
        case tuple():
            return ", ".join(f"`{each}`" for each in default)
        case _:
            return f"`{default}`"


if __name__ == "__main__":
    sys.stdout.write(markdown(FileKind(sys.argv[1])))
