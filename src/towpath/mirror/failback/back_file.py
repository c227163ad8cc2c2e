"""The file of the link back, derived from the file of the link. Pure.

What can stay stays as it is written, with its comments, variables and references to secrets: the
keys `source` and `target` change places, so each section stays where it is. What depends on the
direction is written anew, or left out and named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.events import AliasEvent
from ruamel.yaml.nodes import MappingNode, ScalarNode

from towpath.mirror.failback.inverse import inverse, literal
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.link_names import back_name
from towpath.model.nouns import LinkName
from towpath.settings.document import Tree, parse, text_of

_SWAPPED = {"source": "target", "target": "source"}
_DIRECTED = ("foreign", "mm2")
"""Keys of `groups` that hold for one direction alone."""


@dataclass(frozen=True, slots=True)
class BackFile:
    """The file of the link back.

    Attributes:
        link: The name of the link back.
        text: The file.
        notes: What it lacks of the file of the link, a sentence each.
        of_gateway: Whether the file of the link has a section `gateway`.
    """

    link: LinkName
    text: str
    notes: tuple[str, ...] = ()
    of_gateway: bool = False


def back_file(
    text: str,
    file: str,
    names: Mapping[str, str],
    groups: Mapping[str, str],
    link: LinkName | None = None,
) -> BackFile:
    """Return the file of the link back.

    Args:
        text: The file of the link, which is valid.
        file: Its path, for messages.
        names: Mirror topics by their source topics, as they were opened.
        groups: Names of groups on the target by those at the source, as far as they are known.
        link: The name of the link back; by default the one that follows from that of the link.

    Raises:
        ConfigError: The names cannot be turned round by one `rename`.
    """
    tree = dict(parse(text, file).tree)
    link = link or back_name(LinkName(str(tree["link"])))
    turned = _Turned(tree, names, groups)
    turned.turn(link)
    written = _edited(text, turned) or _dumped(turned)
    head = f"# Made by `towpath failback {file}`: link {link} copies back what clients wrote.\n"
    body = "".join(line for line in written.splitlines(keepends=True) if not _made(line))
    of_gateway = bool(turned.tree.get("gateway"))
    return BackFile(link, head + body.lstrip("\n"), tuple(turned.notes), of_gateway)


def _made(line: str) -> bool:
    return line.startswith("# Made by `towpath failback ")


@dataclass
class _Turned:
    """Reverses the sections of a link's file, and collects notes.

    Attributes:
        tree: The file of the link.
        names: Mirror topics by their source topics.
        groups: Names of groups on the target by those at the source.
        sections: Sections that are written anew; `None` for those that are left out.
        notes: What is left out.
    """

    tree: dict[str, Tree]
    names: Mapping[str, str]
    groups: Mapping[str, str]
    sections: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def turn(self, link: LinkName) -> None:
        """Fill `sections` and `notes`."""
        self.sections["link"] = str(link)
        self._topics()
        self._records()
        self._groups()
        self._schemas()
        self._drop("changes", "`changes`: records are copied back as clients wrote them")
        self._drop("gateway", "`gateway`: clients stay with the gateway of the link")
        self._drop("prune", "`prune`: nothing is removed from the old source")

    def _drop(self, key: str, why: str) -> None:
        if self.tree.get(key):
            self.sections[key] = None
            self.notes.append(f"{why}; add it by hand if the link back needs it")

    def _mapping(self, key: str) -> dict[str, Any]:
        found = self.tree.get(key)
        return dict(found) if isinstance(found, dict) else {}

    def _topics(self) -> None:
        before = self._mapping("topics")
        made = inverse(self.names)
        if made is None:
            text = (
                "no single template leads from the mirror topics back to their source topics;"
                " write the file of the link back by hand, and name it with --to"
            )
            raise ConfigError((ConfigProblem("topics.rename", text),))
        topics: dict[str, Any] = {"include": list(made.include)}
        topics |= {"rename": made.rename} if made.rename else {}
        kept = {key: before[key] for key in ("replication_factor", "configs") if key in before}
        topics |= kept | {"shared": True}
        configs = dict(kept.get("configs") or {})
        override = configs.pop("override", None)
        if override:
            ours = map(literal, override)
            configs["exclude"] = list(dict.fromkeys([*configs.get("exclude", ()), *ours]))
            topics["configs"] = configs
            self.notes.append(
                "`topics.configs.override`: the old source keeps its own values of"
                f" {', '.join(sorted(override))}"
            )
        if before.get("may_delete"):
            self.notes.append("`topics.may_delete`: add it by hand if the link back needs it")
        self.sections["topics"] = topics

    def _records(self) -> None:
        before = self._mapping("records")
        kept = {key: value for key, value in before.items() if key in {"on_gap", "fill"}}
        if not isinstance(kept.get("on_gap", ""), str) or kept.get("on_gap") == "archive":
            kept.pop("on_gap")
            self.notes.append("`records.on_gap`: it names topics or an archive of the old source")
        if before.get("offsets") == "identical":
            self.notes.append(
                "`records.offsets: identical`: where the old source has a tail that was never"
                " mirrored, offsets cannot stay the same"
            )
        if kept != before:
            self.sections["records"] = kept or None

    def _groups(self) -> None:
        if "groups" not in self.tree:
            return
        before = self._mapping("groups")
        kept = {key: value for key, value in before.items() if key not in _DIRECTED}
        if len(kept) < len(before):
            left = ", ".join(f"`groups.{key}`" for key in _DIRECTED if key in before)
            self.notes.append(f"{left}: it holds for one direction alone")
        if before.get("rename", "{group}") != "{group}":
            made = inverse(self.groups) if self.groups else None
            if made is None:
                self.sections["groups"] = None
                self.notes.append(
                    "`groups`: the names of groups cannot be turned round by one `rename`, so no"
                    " group goes back by itself; write the section by hand"
                )
                return
            del kept["rename"]
            kept.pop("exclude", None)
            kept["include"] = list(made.include)
            kept |= {"rename": made.rename} if made.rename else {}
        if kept != before:
            self.sections["groups"] = kept

    def _schemas(self) -> None:
        before = self._mapping("schemas")
        renamed = before.get("rename", "{subject}") != "{subject}" or bool(before.get("contexts"))
        if renamed:
            self.sections["schemas"] = None
            self.notes.append(
                "`schemas`: names of subjects or contexts differ between both registries; write the"
                " section by hand if clients registered schemas since"
            )


def _edited(text: str, turned: _Turned) -> str:
    """Return the text with its sections exchanged, "" where it must be written anew.

    That is so where it has aliases, as a section may then stand elsewhere, or is one flow mapping.
    """
    yaml = YAML(typ="safe", pure=True)
    if any(isinstance(event, AliasEvent) for event in yaml.parse(text)):
        return ""
    root = YAML(typ="safe", pure=True).compose(text)
    if not isinstance(root, MappingNode) or root.flow_style:
        return ""
    edits: list[tuple[int, int, str]] = []
    for key, value in root.value:
        name = str(key.value)
        if name in _SWAPPED:
            edits.append((key.start_mark.index, key.end_mark.index, _SWAPPED[name]))
        elif name in turned.sections:
            end = _end_of(text, value.end_mark.index)
            made = turned.sections[name]
            edits.append(
                (key.start_mark.index, end, text_of({name: made}).rstrip("\n") if made else "")
            )
        elif name == "schemas" and isinstance(value, MappingNode):
            edits += _swapped_keys(value)
    for first, end, new in sorted(edits, reverse=True):
        text = text[:first] + new + text[end:]
    return text


def _swapped_keys(section: MappingNode) -> list[tuple[int, int, str]]:
    return [
        (key.start_mark.index, key.end_mark.index, _SWAPPED[str(key.value)])
        for key, _ in section.value
        if isinstance(key, ScalarNode) and key.value in _SWAPPED
    ]


def _end_of(text: str, end: int) -> int:
    """Return the end of a section without the blank lines and comments before the next one."""
    lines = text[:end].splitlines(keepends=True)
    while lines and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        end -= len(lines.pop())
    last = lines[-1] if lines else ""
    return end - (len(last) - len(last.rstrip("\r\n")))


def _dumped(turned: _Turned) -> str:
    """Return the file written anew, without its comments."""
    made: dict[str, Any] = {}
    for key, value in turned.tree.items():
        now = turned.sections.get(key, value)
        if key == "schemas" and isinstance(now, dict):
            now = {_SWAPPED.get(each, each): of for each, of in now.items()}
        if now is not None:
            made[_SWAPPED.get(key, key)] = now
    return text_of(made)
