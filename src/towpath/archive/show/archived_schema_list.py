"""The display of archived schemas. Pure."""

from __future__ import annotations

from typing import Any, cast

from rich.console import Group, RenderableType
from rich.text import Text

from towpath.archive.log.schema_parts import ArchivedSubject, subject_data
from towpath.archive.read.archived_schemas import SchemasLook
from towpath.archive.show.status_shapes import ArchivedSubjectJson, ShownSchemasJson
from towpath.cli.show.grid import Grid
from towpath.cli.show.output import line
from towpath.model.amounts import counted, shortened
from towpath.runtime.clock import readable
from towpath.schemas.configs import settings_text

_COLUMNS = ("subject", "versions", "ids", "deleted", "gone", "set")
_NAMED = 8


def schemas_picture(found: SchemasLook) -> RenderableType:
    """Return a table of archived subjects for people; of a single subject also the schemas."""
    versions = sum(len(each.versions) for each in found.subjects.values())
    subjects = sum(bool(each.versions) for each in found.subjects.values())
    head = (
        f"{counted(subjects, 'subject')} with {counted(versions, 'version')} of"
        f" {found.registry or 'a registry'}, as of version {found.version}, written"
        f" {readable(found.time)}"
    )
    rows = [_row(name, each) for name, each in sorted(found.subjects.items())]
    table = Grid(_COLUMNS, rows, right=("versions",))
    texts = [each for one in found.subjects.values() for each in _texts(one)] if found.whole else []
    return Group(line(head), "", table, *texts)


def _row(name: str, subject: ArchivedSubject) -> tuple[Text | str, ...]:
    ids = [str(each.id) for _, each in sorted(subject.versions.items())]
    return (
        name,
        str(len(ids)),
        shortened(ids, _NAMED),
        _numbers(number for number, each in subject.versions.items() if each.deleted),
        _numbers(number for number, each in subject.versions.items() if each.gone),
        settings_text(subject.config),
    )


def _numbers(versions: Any) -> str:
    return ", ".join(map(str, sorted(versions)))


def _texts(subject: ArchivedSubject) -> list[Text]:
    lines: list[Text] = []
    for number, each in sorted(subject.versions.items()):
        refers = ", ".join(f"{ref.name} ({ref.to})" for ref in each.schema.references)
        about = f"version {number}, id {each.id}, {each.schema.type}"
        lines += [line(""), line(f"{about}, refers to {refers}" if refers else about)]
        lines.append(line(each.schema.text))
    return lines


def schemas_data(found: SchemasLook) -> ShownSchemasJson:
    """Return archived subjects, for programs."""
    return {
        "registry": found.registry,
        "version": found.version,
        "time": found.time,
        "subjects": {
            name: _subject_data(each, texts=found.whole)
            for name, each in sorted(found.subjects.items())
        },
    }


def _subject_data(subject: ArchivedSubject, *, texts: bool) -> ArchivedSubjectJson:
    data = cast("ArchivedSubjectJson", subject_data(subject))  # it is stored like this, too
    for each in data["versions"] if not texts else ():
        del each["schema"]
    return data
