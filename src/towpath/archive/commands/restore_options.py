"""Command-line options that select what to restore: version, range and region."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from towpath.archive.commands.as_of import AtOption, HistoryOption, VersionOption, as_of
from towpath.archive.config import Bound, RestoredRange, load_archive, parse_bound
from towpath.archive.restore.task import RestoreTask
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.foreign import foreign

FromOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="OFFSET|TIME",
        help="Begin each partition here, in place of `restore.range.from`.",
    ),
]
ToOption = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="OFFSET|TIME",
        help="End each partition before this, in place of `restore.range.to`.",
    ),
]
SourceOption = Annotated[
    str | None,
    typer.Option("--source", metavar="NAME", help="Only this one of the file's `restore.sources`."),
]
LifeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--life",
        metavar="ID",
        help="Of a topic that was deleted and created again, restore the one with this id (or what"
        " it begins with) in place of the latest; `towpath archive lives` lists them; may be given"
        " several times.",
    ),
]
FollowOption = Annotated[
    bool,
    typer.Option("--follow", help="Go on with what is archived meanwhile, until stopped."),
]
VerifyOption = Annotated[
    bool | None,
    typer.Option(
        "--verify/--no-verify",
        help="Read back what was restored, and compare it with the archive by digests; by default"
        " with --report.",
    ),
]
_ENDLESS = (
    "is not used with a range, or with `restore.partitions`: a range has an end, and the records of"
    " a topic can be placed by their keys only when all of them are known; leave these out, or"
    " restore without --follow"
)


@dataclass(frozen=True, kw_only=True)
class RestoreAsked:
    """The options of a command about restores.

    Attributes:
        at: As of which time.
        version: As of which version of the archive.
        history: Which history of partitions that have several.
        life: Which topics of names that have several, by their ids.
        first: Where each partition begins.
        end: Where each partition ends.
        source: The only one of the file's regions.
    """

    at: AtOption = None
    version: VersionOption = None
    history: HistoryOption = None
    life: LifeOption = None
    first: FromOption = None
    end: ToOption = None
    source: SourceOption = None

    @property
    def follows(self) -> bool:
        """Whether the restore continues with records that are archived meanwhile."""
        return False

    def tasks(self, file: Path) -> tuple[RestoreTask, ...]:
        """Return one restore task for each selected source of the file.

        Raises:
            ConfigError: The options or the file ask for something impossible.
        """
        moment = replace(as_of(self.at, self.version, self.history), lives=tuple(self.life or ()))
        config = load_archive(file)
        part = self._range(config.restore.range)
        tasks = RestoreTask.each(config, moment, part, follow=self.follows)
        if self.source is not None:
            known = ", ".join(each.source for each in tasks if each.source) or "none"
            tasks = tuple(each for each in tasks if each.source == self.source)
            if not tasks:
                raise _misused("--source", f"is none of the file's `restore.sources` ({known})")
        if self.version is not None and len(tasks) > 1:
            raise _misused("--version", "counts in each region by itself; name one with --source")
        return tasks

    def _range(self, known: RestoredRange) -> RestoredRange:
        """Return the range of the file, with what the options say in its place."""
        bounds: dict[str, Bound | None] = {"from": known.first, "to": known.end}
        for option, text in (("from", self.first), ("to", self.end)):
            try:
                bounds[option] = bounds[option] if text is None else parse_bound(text)
            except ValueError as error:
                raise _misused(f"--{option}", foreign(error)) from None
        try:
            return RestoredRange.model_validate(bounds)
        except ValidationError:
            raise _misused("--to", "is not behind --from, so the range is empty") from None


@dataclass(frozen=True, kw_only=True)
class RestoreOrFollowAsked(RestoreAsked):
    """The options of a restore command that can follow an archive.

    Attributes:
        follow: Whether the restore goes on with what is archived meanwhile.
    """

    follow: FollowOption = False

    @property
    def follows(self) -> bool:
        """Whether the restore continues with records that are archived meanwhile."""
        return self.follow

    def tasks(self, file: Path) -> tuple[RestoreTask, ...]:
        """Return one restore task for each selected source of the file."""
        asked = self.at, self.version, self.history, self.life or None
        if self.follow and any(each is not None for each in asked):
            text = "is not used with --at, --version, --history or --life: what follows has no end"
            raise _misused("--follow", text)
        found = super().tasks(file)
        for rules in (each.rules for each in found if self.follow):
            if not rules.range.is_whole or rules.partitions:
                raise _misused("--follow", _ENDLESS)
        return found


@dataclass(frozen=True, kw_only=True)
class RestoreRunAsked(RestoreOrFollowAsked):
    """The options of `towpath restore run`.

    Attributes:
        verify: Whether what was restored is compared with the archive; `None` if only where
            somebody keeps evidence.
    """

    verify: VerifyOption = None

    def tasks_to_run(self, file: Path, *, is_told: bool) -> tuple[RestoreTask, ...]:
        """Return one restore task for each selected source, as `tasks` does.

        Args:
            file: The file of the archive.
            is_told: Whether a report is kept.

        Raises:
            ConfigError: The options or the file ask for something impossible.
        """
        if self.follow and self.verify:
            text = (
                "is not used with --follow, which has no end; stop it, and run the restore without"
                " --follow to compare what is there"
            )
            raise _misused("--verify", text)
        wanted = is_told if self.verify is None else self.verify
        return tuple(replace(each, prove=wanted and not each.follow) for each in self.tasks(file))


def _misused(option: str, text: str) -> ConfigError:
    return ConfigError((ConfigProblem(option, text),))
