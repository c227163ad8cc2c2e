"""Changes of a link's file while its run goes on: whether the run can take them over."""

from __future__ import annotations

from pathlib import Path

from towpath.ledger.link import open_link
from towpath.mirror.plan.link_plan import planned
from towpath.mirror.subjects import SUBJECTS
from towpath.model.errors import ConfigError, ConfigProblem, TowpathError
from towpath.plan.model import refuse
from towpath.settings import LinkConfig, load
from towpath.settings.files import Stamp

_AT_START = ("link", "metrics")
"""Sections that hold from the start of a run to its end."""


class ChangedFile:
    """Watches a link's file for changes, and checks whether a run could begin with them.

    Args:
        path: The file, `None` to look for nothing.
        config: What it said when the run began, or when it was taken over last.

    Attributes:
        trouble: Why the file as it is now is not taken over, "" if it is, or did not change.
    """

    def __init__(self, path: Path | None, config: LinkConfig) -> None:
        self._path, self._config = path, config
        self._known = self._seen = self._stamp()
        self.trouble = ""

    def look(self) -> LinkConfig | None:
        """Return the content of a changed file that the run can take over, else `None`.

        A file that changed since the last look is left alone until it rests, as somebody may still
        be writing it.
        """
        before, self._seen = self._seen, self._stamp()
        if self._path is None or self._seen is None or self._seen == self._known:
            return None
        if self._seen != before:
            return None
        self._known, self.trouble = self._seen, ""
        try:
            fresh = load(self._path)
            changed = sections(self._config, fresh)
            if changed:
                self._require_fit(fresh, changed)
        except TowpathError as error:
            self.trouble = (
                f"{self._path} has changed, and is not taken over; the run goes on as before:"
                f" {error}"
            )
            return None
        return fresh if changed else None

    def _stamp(self) -> Stamp | None:
        try:
            return Stamp.of(self._path) if self._path is not None else None
        except OSError:
            return None  # it is being replaced

    def _require_fit(self, fresh: LinkConfig, changed: tuple[str, ...]) -> None:
        """Raise if a run could not begin by the file, or if this one cannot take it over."""
        fixed = [each for each in changed if each in _AT_START]
        if fixed:
            text = "holds from the start of a run to its end; start the run anew"
            raise ConfigError((ConfigProblem(fixed[0], text),))
        if fresh.holds_credentials and not self._config.holds_credentials:
            text = "slices need a Spark that is started for credentials; start the run anew"
            raise ConfigError((ConfigProblem("source", text),))
        _require_plan(fresh)


def _require_plan(config: LinkConfig) -> None:
    """Raise if both clusters do not allow what the file asks for."""
    with open_link(config) as link, SUBJECTS.open(link) as clients:
        refuse(planned(link, clients).plan)


def sections(before: LinkConfig, after: LinkConfig) -> tuple[str, ...]:
    """Return the names of the sections that differ. Pure."""
    names = type(before).model_fields
    return tuple(name for name in names if getattr(before, name) != getattr(after, name))
