"""Options shared by all commands that run on Spark, checked before the work."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import TYPE_CHECKING, Any

from towpath.cli.options import (
    LogFormatOption,
    LogLevelOption,
    MasterOption,
    PackagesOption,
    ReportOption,
    SlicesOption,
    checked_packages,
    logs_wanted,
    require_master,
    require_writable,
    write_report,
)

if TYPE_CHECKING:
    from towpath.engine.starting import Starting
    from towpath.runtime.log import LogWanted


@dataclass(frozen=True, kw_only=True)
class OnSpark:
    """The Spark options of a command that shows no log.

    Attributes:
        report: Where to write the report.
        master: The Spark master.
        packages_archive: The archive for workers of a cluster.
        parallelism: Number of slices.
    """

    report: ReportOption = None
    master: MasterOption = None
    packages_archive: PackagesOption = None
    parallelism: SlicesOption = None

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            ConfigError: One of them is wrong.
        """
        require_writable(self.report)
        require_master(self.master)
        self.packages  # noqa: B018  # checked now, before the work

    @functools.cached_property
    def packages(self) -> str | None:
        """The package archive for Spark's workers, as path or URL."""
        return checked_packages(self.master, self.packages_archive)

    def fork(self, works: Sequence[str]) -> None:
        """Prepare to run slices without Spark, if they stay on this machine.

        For commands whose slices run once. It is done first of all: where there are other threads
        already, which a fork would not have, Spark runs them.

        Args:
            works: Modules that slices need.
        """
        if self.master is None and threading.active_count() == 1:
            from towpath.engine.forks import Forks  # noqa: PLC0415  # help waits for none of it

            self.__dict__["forks"] = Forks(works)

    def start(
        self, name: str, works: Sequence[str], *, credentials: bool, rounds: int = 1
    ) -> Starting:
        """Start the Spark session in the background, or return the local engine.

        Args:
            name: Name of the application, behind the name of the program.
            works: Modules that workers import before the first slice comes.
            credentials: Whether slices get credentials.
            rounds: How many rounds may have slices at one time.
        """
        if "forks" in self.__dict__:
            from towpath.engine.here import Begun, Here  # noqa: PLC0415  # as in `fork`

            return Begun(Here(self.__dict__["forks"], self.parallelism, rounds))
        from towpath.engine.starting import Starting  # noqa: PLC0415  # help waits for none of it

        return Starting(
            self.master,
            f"towpath {name}",
            self.parallelism,
            credentials=credentials,
            works=works,
            rounds=rounds,
            packages=self.packages,
        )

    def tell(
        self, data: Mapping[str, Any], page: Callable[[Mapping[str, Any]], str] | None = None
    ) -> None:
        """Write the report, if the user asked for one.

        Args:
            data: The report.
            page: Makes a page of it for a file whose name ends with `.html`.

        Raises:
            ConfigError: It could not be written.
        """
        write_report(self.report, data, page)


@dataclass(frozen=True, kw_only=True)
class LoggedOnSpark(OnSpark):
    """The Spark options of a command that may show a log.

    Attributes:
        log_level: What to log.
        log_format: The form of the log.
    """

    log_level: LogLevelOption = None
    log_format: LogFormatOption = None

    @property
    def logs(self) -> LogWanted | None:
        """The logging options; `None` if no log is requested."""
        return logs_wanted(self.log_level, self.log_format)


def with_options(command: Callable[..., int]) -> Callable[..., int]:
    """Replace a command's arguments of option classes by one Typer option for each field.

    Typer knows only functions with one argument for each option; so it is shown one.
    """
    signature = inspect.signature(command, eval_str=True)
    made: dict[str, type] = {
        name: each.annotation
        for name, each in signature.parameters.items()
        if isinstance(each.annotation, type) and is_dataclass(each.annotation)
    }
    options = {
        name: inspect.signature(kind, eval_str=True).parameters for name, kind in made.items()
    }

    @functools.wraps(command)
    def spread(**given: Any) -> int:
        for name, kind in made.items():
            given[name] = kind(**{each: given.pop(each) for each in options[name]})
        return command(**given)

    shown = [
        each
        for name, parameter in signature.parameters.items()
        for each in (options[name].values() if name in options else (parameter,))
    ]
    spread.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    spread.__annotations__ = {each.name: each.annotation for each in shown}
    return spread
