"""MirrorMaker 2's file: its clusters, its flows, and the scope of each property.

Prefixes are those of `MirrorMakerConfig` (KIP-382): `us.` for a cluster, `us->eu.` for a flow.
Properties without a prefix hold for all flows, or, where they concern logins, for all clusters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from towpath.settings.java_properties import Property

_LOGIN = re.compile(r"(sasl|ssl)\..*|security\.(protocol|providers)|bootstrap\.servers")
_ARROW = "->"
_YES = "true"


class Fate(StrEnum):
    """The possible fates of a property in the conversion."""

    TAKEN = "taken over"
    NEEDLESS = "not needed"
    BY_HAND = "taken over, after a step by hand"
    NO_EQUAL = "no equal"


_ORDER = list(Fate)


@dataclass(frozen=True, slots=True)
class Fact:
    """The fate of a property, with the reason.

    Attributes:
        key: The property.
        fate: What becomes of it.
        text: The key of ours that holds its value now, or why there is none and what to do.
    """

    key: str
    fate: Fate
    text: str


@dataclass(frozen=True, slots=True)
class Flow:
    """One direction of mirroring, by the aliases of its clusters."""

    source: str
    target: str

    @property
    def name(self) -> str:
        """A name for the flow's link and file."""
        return re.sub(r"[^A-Za-z0-9._-]", "-", f"{self.source}-to-{self.target}")

    def __str__(self) -> str:
        return f"{self.source}{_ARROW}{self.target}"


class Mm2File:
    """The properties of MirrorMaker 2's dedicated mode, and the fates decided so far.

    Attributes:
        clusters: The aliases of all clusters.
        flows: The flows that are enabled.
    """

    def __init__(self, properties: Iterable[Property]) -> None:
        self._all = {each.key: each for each in properties}
        self._facts: dict[str, Fact] = {}
        self.clusters = tuple(dict.fromkeys(_words(self._value("clusters"))))
        pairs = [Flow(a, b) for a in self.clusters for b in self.clusters if a != b]
        self.flows = tuple(flow for flow in pairs if self.is_on(f"{flow}.enabled"))

    def is_on(self, key: str) -> bool:
        """Return whether a property exists and is true."""
        return self._value(key).strip().lower() == _YES

    def of_flow(self, flow: Flow, *names: str) -> Property | None:
        """Return a flow's connector property: its own, or the one for all flows.

        Args:
            flow: The flow.
            names: Names without their prefix, the first one that is there counts.
        """
        keys = [*(f"{flow}.{name}" for name in names), *names]
        return next((self._all[key] for key in keys if key in self._all), None)

    def of_cluster(self, alias: str, *names: str) -> Property | None:
        """Return a cluster's property: its own, or the one for all clusters' logins."""
        keys = [f"{alias}.{name}" for name in names]
        keys += [name for name in names if _LOGIN.fullmatch(name)]
        return next((self._all[key] for key in keys if key in self._all), None)

    def of_consumer(self, flow: Flow, name: str) -> Property | None:
        """Return the property of the consumer that reads the source of a flow."""
        keys = [
            f"{flow}.source.consumer.{name}",
            f"{flow}.consumer.{name}",
            f"{flow.source}.consumer.{name}",
            f"consumer.{name}",
        ]
        found = (self._all[key] for key in keys if key in self._all)
        return next(found, None) or self.of_cluster(flow.source, name)

    def provider(self, name: str) -> str:
        """Return the class of a config provider, "" if the file names none."""
        return self._value(f"config.providers.{name}.class")

    def note(self, found: Property | None, fate: Fate, text: str) -> None:
        """Record the fate of a property; the fate that needs most attention wins."""
        if found is None:
            return
        known = self._facts.get(found.key)
        if known is None or _ORDER.index(fate) > _ORDER.index(known.fate):
            self._facts[found.key] = Fact(found.key, fate, text)

    def fact(self, key: str) -> Fact | None:
        """Return the fate of a property, as far as decided."""
        return self._facts.get(key)

    @property
    def properties(self) -> tuple[Property, ...]:
        """All properties, in the order of the file."""
        return tuple(self._all.values())

    def bare(self, key: str) -> tuple[str, str]:
        """Split a property key into its prefix (a flow, an alias, or "") and the rest."""
        arrows = [f"{a}{_ARROW}{b}" for a in self.clusters for b in self.clusters]
        prefixes = sorted((*arrows, *self.clusters), key=len, reverse=True)
        found = next((each for each in prefixes if key.startswith(f"{each}.")), "")
        return found, key[len(found) + 1 :] if found else key

    def _value(self, key: str) -> str:
        found = self._all.get(key)
        return found.value if found else ""


def _words(text: str) -> list[str]:
    return [word for part in text.split(",") if (word := part.strip())]


def words(found: Property) -> list[str]:
    """Return the parts of a comma-separated list."""
    return _words(found.value)
