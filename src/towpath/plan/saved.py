"""A plan in a file, to be read, reviewed, and applied later.

One JSON object: `format`, the major version of it; `towpath`, which version wrote it; `made`, when;
`file`, the YAML file it was made from, and `config`, what stood in it, with references to secrets
only; then everything that `towpath plan --output json` shows; at last `digest`, the SHA-256 of all
else. So a plan that was edited is known, and one is applied as it was planned, whatever has become
of the YAML file since.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from towpath import __version__
from towpath.config import LinkConfig, from_tree, tree
from towpath.model.clock import now_ms, readable
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.findings import Cause, Note, Problem
from towpath.model.foreign import foreign
from towpath.plan.kinds import StepKinds
from towpath.plan.model import ClusterFacts, Plan

FORMAT = 1
_NEEDED = {
    "towpath": str, "made": str, "file": str, "config": dict, "link": str, "source": dict,
    "target": dict, "topics": dict, "steps": list, "notes": list, "problems": list, "digest": str,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """A plan as it was saved.

    Attributes:
        config: The link, with the secrets of today.
        made: When it was planned, ISO 8601.
        plan: What to do.
        digest: Names the plan; the journal of the ledger tells of which plan a step was.
    """

    config: LinkConfig
    made: str
    plan: Plan
    digest: str


def save(plan: Plan, yaml: Path, to: Path) -> None:
    """Write a plan of the link in a YAML file to another file.

    Raises:
        ConfigError: It cannot be written.
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
    """Whether a file holds JSON, as plans do and YAML files of links do not.

    One that cannot be read is judged by its name.
    """
    try:
        return path.read_bytes().lstrip()[:1] == b"{" and path.suffix not in {".yaml", ".yml"}
    except OSError:
        return path.suffix == ".json"


def load_plan(path: Path, kinds: StepKinds) -> SavedPlan:
    """Return the plan in a file.

    Args:
        path: The file.
        kinds: All kinds of steps that there are.

    Raises:
        ConfigError: It holds none, one of a newer Towpath, or one that was edited; or its variables
            name another link now.
    """
    try:
        return _load(path, kinds)
    except RecursionError:
        raise _refused(path, "is no saved plan: it is nested too deeply") from None


def _load(path: Path, kinds: StepKinds) -> SavedPlan:
    data = _read(path)
    _require_format(path, data)
    said = {key: value for key, value in data.items() if key != "digest"}
    if data["digest"] != _digest(said):
        raise _refused(
            path,
            "was edited since it was made; change the YAML file instead, then make the plan again"
            " with `towpath plan FILE --save`",
        )
    config = from_tree(data["config"], Path(data["file"]).parent)
    try:
        plan = _plan(data, kinds)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        text = "is not whole: its parts are not those of a plan; make the plan again"
        raise _refused(path, text) from error
    if config.link != plan.link:
        raise _refused(
            path,
            f"was made for link {plan.link!r}, and `link: {data['config']['link']}` names link"
            f" {config.link!r} now; give the variables the values that they had, or make the plan"
            " again",
        )
    return SavedPlan(config, data["made"], plan, data["digest"])


def _plan(data: Mapping[str, Any], kinds: StepKinds) -> Plan:
    return Plan(
        link=data["link"],
        source=_facts(data["source"]),
        target=_facts(data["target"]),
        topics=data["topics"],
        steps=tuple(kinds.from_data(step, f"steps[{at}]") for at, step in enumerate(data["steps"])),
        notes=tuple(Note(**note) for note in data["notes"]),
        problems=tuple(
            Problem(each["about"], each["text"], Cause(each["cause"])) for each in data["problems"]
        ),
    )


def _facts(data: Mapping[str, Any]) -> ClusterFacts:
    return ClusterFacts(
        tuple(data["bootstrap"]), data["id"], data["version"], data["brokers"],
        data.get("login", ""),
    )  # fmt: skip


def _read(path: Path) -> Mapping[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        text = f"no such plan; `towpath plan FILE --save {path}` makes one"
        raise _refused(path, text) from None
    except OSError as error:
        raise _refused(path, f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise _refused(path, f"is no saved plan: it is no JSON ({foreign(error)})") from error
    if not isinstance(data, dict) or not isinstance(data.get("format"), int):
        raise _refused(path, "is no saved plan; `towpath plan FILE --save` makes one")
    return data


def _require_format(path: Path, data: Mapping[str, Any]) -> None:
    if data["format"] > FORMAT:
        raise _refused(
            path,
            f"was written in format {data['format']}, this program knows up to {FORMAT}; use the"
            f" Towpath that wrote it ({str(data.get('towpath'))[:20]}), or a newer one",
        )
    lacking = [key for key, type_ in _NEEDED.items() if not isinstance(data.get(key), type_)]
    if lacking:
        raise _refused(path, f"is not whole: {', '.join(lacking)} is missing; make the plan again")


def _digest(data: Mapping[str, Any]) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _refused(path: Path, why: str) -> ConfigError:
    return ConfigError((ConfigProblem(str(path), why),))
