"""The reference page of the file, from its fields.

`python -m towpath.config.reference > docs/configuration.md` writes it anew.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from towpath.config.cron import Cron
from towpath.config.kinds import KINDS, FileKind
from towpath.config.secrets import PemFile
from towpath.config.shape import TAGGED, fields, sections, tags
from towpath.config.topics import Count
from towpath.config.units import ByteRate, Duration, Size
from towpath.model.secret import Secret

_INTRODUCTION = """\
# The configuration file

<!-- Written by `python -m towpath.config.reference`; change the fields, not this page. -->

One YAML 1.2 file describes one link, with `kind: archive` one archive, with `kind: kraft` one
migration from ZooKeeper to KRaft. `towpath init` writes an example (`--kind archive` one of an
archive, `--kind kraft` one of a migration), `towpath lint FILE` checks it. Keys that are not
listed here are refused, and so are duplicate keys. Each problem is told as
`FILE:LINE:COLUMN: KEY: what is wrong`, which editors and terminals make a link of.
`towpath schema > link.schema.json` writes a JSON schema (docs/link.schema.json, and with
`--kind archive` docs/archive.schema.json, with `--kind kraft` docs/kraft.schema.json), with which
editors complete and check the file; those with a YAML language server find it by the first line
`# yaml-language-server: $schema=link.schema.json`, whose path is relative to the file.

- **Secrets** are never written into the file: write `env:NAME` (an environment variable), `${NAME}`
  (the same) or `file:PATH` (the text of a file). Files of secrets and certificates are read again
  when they change (docs/security.md).
- **Variables**: `${NAME}` may stand in any other text, too.
- **Paths** are relative to the folder of the file.
- **Durations** have a unit: `500ms`, `5s`, `10m`, `2h`, `1d`. **Sizes** too: `512KiB`, `4MiB`,
  `1GiB`. **Rates** are bytes per second: `500KB`, `50MB`, `50MiB/s`.
- Topics that a cluster keeps for itself, such as `__consumer_offsets` and `__remote_log_metadata`,
  are never mirrored, archived or restored ([the table](what-moves.md#topics-that-never-move)).
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


def markdown() -> str:
    """Return the page."""
    told = list[type[BaseModel]]()
    lines = [
        *_section(KINDS[FileKind.LINK].model, "The link", told),
        *_section(KINDS[FileKind.ARCHIVE].model, "The archive", told, (), of="an archive"),
        *_section(
            KINDS[FileKind.KRAFT].model,
            "The migration to KRaft",
            told,
            (),
            of="a migration to KRaft",
        ),
    ]
    return "\n".join([_INTRODUCTION, *lines]).rstrip() + "\n"


def _section(
    model: type[BaseModel],
    title: str,
    told: list[type[BaseModel]],
    above: tuple[str, ...] | None = None,
    of: str = "",
) -> Iterator[str]:
    """Yield the table of a model and of those below it.

    Args:
        model: The model.
        title: Heading of its table.
        told: The models that have a table already, as kinds of files share some.
        above: The keys that lead to the model in a file with a `kind`, `None` in that of a link.
        of: What such a file describes.
    """
    told.append(model)
    yield f"## {title}\n"
    yield "| key | value | default | meaning |"
    yield "|---|---|---|---|"
    for name, field in fields(model).items():
        yield f"| `{name}` | {_value(field)} | {_default(field)} | {field.description or ''} |"
    yield ""
    for name, field in fields(model).items():
        yield from _below(name, field, told, above, of)


def _below(
    name: str,
    field: FieldInfo,
    told: list[type[BaseModel]],
    above: tuple[str, ...] | None,
    of: str,
) -> Iterator[str]:
    place = None if above is None else (*above, name)
    path = name if place is None else ".".join(place)
    for model in sections(field.annotation):
        if model in told:
            continue
        forms = " or ".join(f"`{tag}`" for tag in tags(model))
        title = f"`{path}`, `{TAGGED[name]}` {forms}" if forms else f"`{path}`"
        title += " and `target`" if path == "source" else f" of {of}" if place else ""
        yield from _section(model, title, told, place, of)


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
    sys.stdout.write(markdown())
