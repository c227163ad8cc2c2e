"""Saving of plans to a file, for review and later application.

The file is one JSON object: `format`, its major version; `towpath`, the version that wrote it;
`made`, the time; `file`, the YAML file of the link, and `config`, the content of that file, with
references to secrets only; everything that `towpath plan --output json` shows; and `digest`, the
SHA-256 of everything else. The digest reveals edits. A plan is applied as it was planned, even if
the YAML file has changed since.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from towpath import __version__
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.findings import Note, Problem
from towpath.model.foreign import foreign
from towpath.model.nouns import LinkName, TopicName
from towpath.plan.estimate import CopyEstimate
from towpath.plan.kinds import StepKinds
from towpath.plan.model import ClusterFacts, Plan
from towpath.runtime.clock import now_ms, readable
from towpath.settings import LinkConfig, from_tree, tree

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """The content of the file; the steps are read later, by their kinds."""

    towpath: str
    made: str
    file: str
    config: dict[str, Any]
    link: LinkName
    source: ClusterFacts
    target: ClusterFacts
    topics: dict[TopicName, TopicName]
    steps: tuple[dict[str, Any], ...]
    notes: tuple[Note, ...]
    problems: tuple[Problem, ...]
    digest: str
    to_copy: CopyEstimate | None = None


_FILE = TypeAdapter(_File)


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """A plan as it was saved.

    Attributes:
        config: The link's configuration, with the current secrets.
        made: The time of the plan, in ISO 8601.
        plan: The plan.
        digest: The digest, which identifies the plan in the journal.
    """

    config: LinkConfig
    made: str
    plan: Plan
    digest: str


def save(plan: Plan, yaml: Path, to: Path) -> None:
    """Write a plan to a file.

    Args:
        plan: The plan.
        yaml: The YAML file of the link.
        to: The file to write.

    Raises:
        ConfigError: The file cannot be written.
    """
    data = {
        "format": FORMAT,
        "towpath": __version__,
        "made": readable(now_ms()),
        "file": str(yaml.absolute()),
        "config": tree(yaml),
        **plan.as_data(),
    }
    text = json.dumps({**data, "digest": _digest(data)}, indent=2)
    try:
        to.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise _refused(to, f"cannot be written: {error.strerror}") from error


def is_saved(path: Path) -> bool:
    """Return whether a file holds a saved plan (JSON), not the YAML file of a link.

    A file that cannot be read is judged by its name.
    """
    try:
        return path.read_bytes().lstrip()[:1] == b"{" and path.suffix not in {".yaml", ".yml"}
    except OSError:
        return path.suffix == ".json"


def load_plan(path: Path, kinds: StepKinds) -> SavedPlan:
    """Load and check a saved plan.

    Args:
        path: The file.
        kinds: All kinds of steps.

    Raises:
        ConfigError: The file is not a plan, was written by a newer Towpath, or was edited; or its
            variables name another link now.
    """
    try:
        return _load(path, kinds)
    except RecursionError:
        raise _refused(path, "is not a saved plan: it is nested too deeply") from None


def _load(path: Path, kinds: StepKinds) -> SavedPlan:
    data = _read(path)
    _require_format(path, data)
    said = {key: value for key, value in data.items() if key != "digest"}
    if data.get("digest", _digest(said)) != _digest(said):
        raise _refused(
            path,
            "was edited since it was made; change the YAML file instead, then make the plan again"
            " with `towpath plan FILE --save`",
        )
    file = _file(path, data)
    config = from_tree(file.config, Path(file.file).parent)
    if config.link != file.link:
        raise _refused(
            path,
            f"was made for link {file.link!r}, and `link: {file.config['link']}` names link"
            f" {config.link!r} now; give the variables the values that they had, or make the plan"
            " again",
        )
    return SavedPlan(config, file.made, _plan(file, kinds), file.digest)


def _plan(file: _File, kinds: StepKinds) -> Plan:
    return Plan(
        link=file.link,
        source=file.source,
        target=file.target,
        topics=file.topics,
        steps=tuple(kinds.from_data(step, f"steps[{at}]") for at, step in enumerate(file.steps)),
        notes=file.notes,
        problems=file.problems,
        to_copy=file.to_copy,
    )


def _read(path: Path) -> Mapping[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        text = f"no such plan; `towpath plan FILE --save {path}` makes one"
        raise _refused(path, text) from None
    except OSError as error:
        raise _refused(path, f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise _refused(path, f"is not a saved plan: it is not JSON ({foreign(error)})") from error
    if not isinstance(data, dict) or not isinstance(data.get("format"), int):
        raise _refused(path, "is not a saved plan; `towpath plan FILE --save` makes one")
    return data


def _require_format(path: Path, data: Mapping[str, Any]) -> None:
    if data["format"] > FORMAT:
        raise _refused(
            path,
            f"was written in format {data['format']}, this program knows up to {FORMAT}; use the"
            f" Towpath that wrote it ({str(data.get('towpath'))[:20]}), or a newer one",
        )


def _file(path: Path, data: Mapping[str, Any]) -> _File:
    try:
        return _FILE.validate_python(data)
    except ValidationError as error:
        missing = [
            str(each["loc"][0])
            for each in error.errors(include_url=False)
            if each["type"] == "missing" and len(each["loc"]) == 1
        ]
        why = f"{', '.join(missing)} is missing" if missing else "a part has the wrong form"
        raise _refused(path, f"is incomplete: {why}; make the plan again") from error


def _digest(data: Mapping[str, Any]) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _refused(path: Path, why: str) -> ConfigError:
    return ConfigError((ConfigProblem(str(path), why),))
