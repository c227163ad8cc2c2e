"""Conversion of MirrorMaker 2's file to YAML files, one for each flow."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from towpath.mirror.mm2.flows import Fact, Fate, Flow, Mm2File, words
from towpath.mirror.mm2.leftovers import leftover
from towpath.mirror.mm2.logins import WantedSecret, login
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.foreign import foreign
from towpath.settings.document import text_of
from towpath.settings.java_properties import Property, parse

_INTERNAL = (r"mm2.*\.internal", r".*\.checkpoints\.internal", r"__.*", r"\..*")
"""MirrorMaker 2 never mirrors these, whatever `topics` says."""
_TOPICS_EXCLUDED = (r".*\.replica",)
_GROUPS_EXCLUDED = ("console-consumer-.*", "connect-.*", "__.*")
"""Its defaults."""
_HEARTBEATS = (r"heartbeats", r".*\.heartbeats")
_IDENTITY = "IdentityReplicationPolicy"
_DEFAULT = "DefaultReplicationPolicy"
_NUMBER = re.compile(r"\d{1,9}")


@dataclass(frozen=True, slots=True)
class Converted:
    """The YAML file of one flow.

    Attributes:
        flow: The flow.
        text: The YAML text.
        secrets: The secrets that it refers to, and that the user must provide.
        notes: What is different from before, in sentences.
    """

    flow: Flow
    text: str
    secrets: tuple[WantedSecret, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conversion:
    """The files of all flows, and the fate of each property, in the order of the file."""

    files: tuple[Converted, ...]
    facts: tuple[Fact, ...]

    def with_fate(self, fate: Fate) -> tuple[Fact, ...]:
        """Return the properties with one fate."""
        return tuple(fact for fact in self.facts if fact.fate is fate)


def convert(text: str, name: str) -> Conversion:
    """Convert a file of MirrorMaker 2 to YAML files.

    Args:
        text: The text of its file.
        name: The name of its file, for messages.

    Raises:
        ConfigError: It is no properties file, or enables no flow.
    """
    try:
        file = Mm2File(parse(text))
    except ValueError as error:
        raise _refusal(name, f"is not a properties file: {foreign(error)}") from None
    if not file.flows:
        example = "->".join(file.clusters[:2]) if len(file.clusters) > 1 else "us->eu"
        why = f"enables no flow; MirrorMaker 2 needs clusters and, say, {example}.enabled = true"
        raise _refusal(name, why)
    made = tuple(_Maker(file, flow, name).made() for flow in file.flows)
    facts = (file.fact(each.key) or leftover(file, each) for each in file.properties)
    return Conversion(made, tuple(facts))


def _refusal(name: str, why: str) -> ConfigError:
    return ConfigError((ConfigProblem("", f"{name}: {why}"),))


class _Maker:
    """Makes the file of one flow."""

    def __init__(self, file: Mm2File, flow: Flow, name: str) -> None:
        self._file, self._flow, self._name = file, flow, name
        self._notes: list[str] = []

    def made(self) -> Converted:
        file, flow = self._file, self._flow
        source, target = login(file, flow.source, "source"), login(file, flow.target, "target")
        rack = file.of_consumer(flow, "client.rack")
        if rack is not None:
            source.section["rack"] = rack.value.strip()
            self._took(rack, "source.rack")
        tree: dict[str, Any] = {
            "source": source.section,
            "target": target.section,
            "link": flow.name,
            "topics": self._topics(),
        }
        for key, section in (
            ("records", self._records()),
            ("access", self._access()),
            ("groups", self._groups()),
            ("run", self._run()),
        ):
            tree |= {key: section} if section else {}
        head = f"# Made by `towpath import mm2 {self._name}` for the flow {flow}.\n"
        secrets = dict.fromkeys((*source.secrets, *target.secrets))
        return Converted(flow, head + text_of(tree), tuple(secrets), tuple(self._notes))

    def _find(self, *names: str) -> Property | None:
        return self._file.of_flow(self._flow, *names)

    def _took(self, found: Property | None, ours: str) -> None:
        self._file.note(found, Fate.TAKEN, f"`{ours}`")

    def _switched(self, name: str, *, default: bool) -> bool:
        found = self._find(name)
        return default if found is None else found.value.strip().lower() == "true"

    def _topics(self) -> dict[str, Any]:
        included, excluded = self._find("topics"), self._find("topics.exclude", "topics.blacklist")
        include = words(included) if included else [".*"]
        exclude = words(excluded) if excluded else [*_TOPICS_EXCLUDED]
        self._took(included, "topics.include")
        self._took(excluded, "topics.exclude")
        made: dict[str, Any] = {"include": self._readable(include, included)}
        made["rename"], came_back = self._rename()
        self._tell_named(include, came_back)
        theirs = [*_INTERNAL, *came_back, *_HEARTBEATS]
        made["exclude"] = list(dict.fromkeys([*self._readable(exclude, excluded), *theirs]))
        made |= self._replicas() | self._configs()
        order = ("include", "exclude", "rename", "replication_factor", "configs")
        return {key: made[key] for key in order if key in made}

    def _readable(self, patterns: list[str], found: Property | None) -> list[str]:
        """Return the patterns that Python reads as well; name the property for the others."""
        kept = []
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error:
                text = "Python reads one of its expressions differently than Java; write it by hand"
                self._file.note(found, Fate.NO_EQUAL, text)
            else:
                kept.append(pattern)
        return kept

    def _rename(self) -> tuple[str, list[str]]:
        """Return `topics.rename`, and which topics came from the target before."""
        policy, between = (self._find(f"replication.policy.{n}") for n in ("class", "separator"))
        separator = between.value if between else "."
        if policy and policy.value.strip().endswith(_IDENTITY):
            self._took(policy, "topics.rename")
            self._notes.append(
                "with the identity policy a topic's name does not tell where it came from; `towpath"
                " plan` refuses a link that would mirror topics in a circle"
            )
            return "{topic}", []
        if policy and not policy.value.strip().endswith(_DEFAULT):
            text = "a Java class cannot run in Towpath; write what it does as `topics.rename`"
            self._file.note(policy, Fate.NO_EQUAL, text)
        else:
            self._took(policy, "topics.rename")
        self._took(between, "topics.rename")
        back = rf"(.*{re.escape(separator)})?{re.escape(self._flow.target + separator)}.*"
        return f"{self._flow.source}{separator}{{topic}}", [back]

    def _tell_named(self, include: Iterable[str], came_back: Iterable[str]) -> None:
        """Note topics that the file names and MirrorMaker 2 takes for copies, by their names."""
        for back in came_back:
            named = [each for each in include if re.fullmatch(back, each.replace("\\", ""))]
            if named:
                self._notes.append(
                    f"by its name MirrorMaker 2 takes {', '.join(named)} for a copy from"
                    f" {self._flow.target}, and leaves it out without a word; so does this file."
                    f" Where applications of {self._flow.source} made it, take `{back}` out of"
                    " `topics.exclude`"
                )

    def _replicas(self) -> dict[str, Any]:
        found = self._find("replication.factor")
        if found is None or not _NUMBER.fullmatch(found.value.strip()):
            if found is not None:  # -1
                self._took(found, "topics.replication_factor")
                return {"replication_factor": "broker_default"}
            return {}
        self._took(found, "topics.replication_factor")
        return {"replication_factor": int(found.value.strip())}

    def _configs(self) -> dict[str, Any]:
        wanted = self._find("sync.topic.configs.enabled")
        self._took(wanted, "topics.configs")
        if not self._switched("sync.topic.configs.enabled", default=True):
            return {"configs": {"exclude": [".*"]}}
        left = self._find("config.properties.exclude", "config.properties.blacklist")
        if left is None:
            return {}
        self._took(left, "topics.configs.exclude")
        return {"configs": {"exclude": self._readable(words(left), left)}}

    def _records(self) -> dict[str, Any]:
        found = self._file.of_consumer(self._flow, "auto.offset.reset")
        word = found.value.strip().lower() if found else ""
        if word not in {"earliest", "latest"}:
            return {}
        self._took(found, "records.start")
        if word == "latest":
            self._notes.append(
                "`records.start: latest` holds for what is there when the link first runs; a topic"
                " that appears later is copied whole"
            )
        return {"start": word}

    def _access(self) -> dict[str, Any]:
        self._took(self._find("sync.topic.acls.enabled"), "access.acls")
        return {"acls": "safe"} if self._switched("sync.topic.acls.enabled", default=True) else {}

    def _groups(self) -> dict[str, Any]:
        checkpoints = self._switched("emit.checkpoints.enabled", default=True)
        commits = self._switched("sync.group.offsets.enabled", default=False)
        for name in ("emit.checkpoints.enabled", "sync.group.offsets.enabled"):
            self._took(self._find(name), "groups")
        if not (checkpoints or commits):
            return {}
        included, excluded = self._find("groups"), self._find("groups.exclude", "groups.blacklist")
        include = words(included) if included else [".*"]
        exclude = words(excluded) if excluded else [*_GROUPS_EXCLUDED]
        self._took(included, "groups.include")
        self._took(excluded, "groups.exclude")
        made: dict[str, Any] = {
            "include": self._readable(include, included),
            "exclude": self._readable(exclude, excluded),
        }
        made |= self._seconds("interval", "groups.interval", "sync.group.offsets.interval.seconds")
        if checkpoints:
            made["mm2"] = self._published()
        if not commits:
            self._notes.append(
                "MirrorMaker 2 wrote checkpoints only (sync.group.offsets.enabled is off); Towpath"
                " also writes the offsets of groups that have no members on the target"
            )
        return made

    def _published(self) -> dict[str, Any]:
        topics = ["checkpoints"]
        if self._switched("emit.offset-syncs.enabled", default=True):
            topics.append("offset_syncs")
        if self._switched("emit.heartbeats.enabled", default=True):
            topics.append("heartbeats")
        for name in ("emit.heartbeats.enabled", "emit.offset-syncs.enabled"):
            self._took(self._find(name), "groups.mm2.topics")
        made: dict[str, Any] = {
            "alias": self._flow.target,
            "source_alias": self._flow.source,
            "topics": topics,
        }
        between = self._find("replication.policy.separator")
        if between is not None and between.value != ".":
            made["separator"] = between.value
            own = "replication.policy.internal.topic.separator.enabled"
            if not self._switched(own, default=True):
                made["internal_separator"] = False
                self._took(self._find(own), "groups.mm2.internal_separator")
        return made

    def _run(self) -> dict[str, Any]:
        made = self._seconds("discover", "run.discover", "refresh.topics.interval.seconds")
        names = ("sync.topic.configs.interval.seconds", "sync.topic.acls.interval.seconds")
        return made | self._seconds("sync_interval", "run.sync_interval", *names)

    def _seconds(self, key: str, ours: str, *names: str) -> dict[str, Any]:
        """Return a duration: the shortest one that a property has."""
        found = [each for name in names if (each := self._find(name)) is not None]
        usable = [each for each in found if _NUMBER.fullmatch(each.value.strip())]
        for each in usable:
            self._took(each, ours)
        return {key: f"{min(int(each.value) for each in usable)}s"} if usable else {}
