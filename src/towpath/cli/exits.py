"""The exit codes of all commands, and their reference page.

`python -m towpath.cli.exits > docs/reference/exit-codes.md` writes the page.
"""

from __future__ import annotations

import signal
import sys
from dataclasses import dataclass
from importlib import import_module

from towpath.cli.signals import KILLED
from towpath.cluster.connect.connection import UnresolvedError
from towpath.cluster.connect.login import SecurityError
from towpath.cluster.connect.throttling import ThrottledError
from towpath.dev.errors import DevError
from towpath.model import errors
from towpath.plan.model import TopicsTakenError

_WINGS = ("towpath.mirror.errors", "towpath.archive.errors", "towpath.kraft.errors")
"""Errors that products keep for themselves."""
_INTRODUCTION = """\
# Exit codes

<!-- Written by `python -m towpath.cli.exits`; change the codes there, not this page. -->

All commands use the same exit codes. With `--output json`, an error also has a stable `code`;
`towpath explain CODE` explains it. Of `CONFIG`, `STOPPED` and those of local clusters (`DEV...`)
the sentence says all.
"""

_COMMANDS = """\
## What 0 and 3 mean for each command

| command | 0 | 3 |
|---|---|---|
| `lint` | the file is right | |
| `plan` | the plan can be applied | something would be left out |
| `diff` | the target is as the file asks | it differs, or something would be left out |
| `apply` | all steps are done | some are not done, or the answer was no |
| `run` | stopped or caught up, nothing is left out | something is left out, in trouble, or gone |
| `schemas` | listed, all is equal, or brought over | something differs or is left |
| `pause` | the topics are paused | |
| `resume` | the topics go on | |
| `topics` | the topics are stopped, or go on | |
| `rate` | the limits are shown, or changed | |
| `status` | nothing is left out | a partition is stopped, has a gap, or lost records |
| `verify` | all is equal | something differs, is gone on the target, or was not compared |
| `quarantine ls` | nothing is to be replayed | a record is in quarantine that was not replayed |
| `quarantine show` | the record is shown | |
| `quarantine replay` | all that is meant was replayed | a record was left, or there was none |
| `repair` | all that was lost is there again | something is left |
| `restart` | all topics of the request are copied anew | a topic is left as it is |
| `archive run` | stopped or caught up, and nothing is left out | something is left out |
| `archive status` | nothing is in trouble | a partition or compaction is, or records are lost |
| `archive compact` | nothing is left to merge | a partition is left, or it was stopped |
| `archive prune` | it was shown, or done | - |
| `archive forget` | it was shown, or done | a segment could not be read, or it was stopped |
| `archive verify` | the archive is whole | something is missing, damaged, or differs |
| `archive query` | the rows are shown | |
| `archive register` | each table has all records | one could not be registered, or lacks records |
| `archive show` | the object says what the commit log says | it says something else |
| `checkpoints` | each group stands at its checkpoints | a group was left, or its answer was lost |
| `import` | all that was asked for is written | something has no equal, is missing or was left |
| `cutover` | the clients can be moved | leave the clients where they are |
| `failover` | clients can go on, nothing is lost or read twice | see what is, or is left to do |
| `failback` | the link is turned round, and the link back has caught up | it is not, see why |
| `salvage keep` | all that came to the source is kept | a transaction is open, or a topic gone |
| `salvage ls` | all that was salvaged was replayed | a record was not replayed, or is missing |
| `salvage replay` | all that is meant was replayed | a record was left, or there was none |
| `link rm` | the books are removed, or it was shown | they are not, see why |
| `kraft check` | nothing would stop the migration | something would |
| `kraft plan` | the goal can be reached | no step is safe from somewhere on |
| `kraft run` | all brokers are in KRaft mode | it was stopped, or no further step is safe |
| `kraft rollback` | ZooKeeper is back | it was stopped, or no further step is safe |
| `kraft finalize` | ZooKeeper is left for good | it was stopped, or no further step is safe |
| `kraft status` | nothing is alarming | there is an alarm, a doubt, or something unseen |
| `gateway` | stopped | |
| `promote` | the topics are promoted, or could be now | nothing is promoted, or could be |
| `revert` | the topics are back, or could go back now | nothing went back, or could |
| `http` | stopped | |
| `restore plan` | everything can be restored | something would be left out |
| `restore run` | all is restored | it was stopped, or something is left out or lost |
| `restore status` | all is restored | it is not, or something is lost |
| `groups ls` | all groups are shown | some could not be looked at |
| `groups status` | nothing is in trouble | a position cannot be brought over |
| `groups translate` | every answer is exact | an answer is not, or a partition is not mirrored |
| `groups sync` | the target has every position | a position is not there, and the reason is named |
| `groups diff` | the target has every position | it lacks one, or has another |
"""

_SIGNALS = """\
While the source cannot be asked, `status` shows what the ledger knows, and ends with 4.
`groups status` and `groups translate` need the ledger alone, and end with 0 or 3 then.

## Signals

SIGINT (Ctrl-C), SIGTERM and SIGHUP end every command in good order.

- `run`, `archive run`, `archive register --every`, `restore run`, `verify`, `repair`, `cutover` and
  the steps of `apply` end at a safe point, within seconds (a minute, if a cluster or a store does
  not answer), with the exit code of what was done until then (0 or 3). A second
  SIGINT or SIGTERM ends them at once. Nothing is lost then either: the next command goes on.
- A signal may go to the command alone or to its whole process group, as from `timeout`. `timeout`
  sends SIGTERM to both, so a second SIGTERM within a second of the first counts as the same.
- Any other command ends at once. So does `apply` while it still makes its plan.
- SIGHUP is never the second signal. After it, nothing more is written to a terminal.
- `nohup towpath run link.yaml` ignores SIGHUP.

## Restarts by a service manager

The column "restart" says what to do after an exit that nobody asked for. In the systemd units
(`towpath@.service` and `towpath-archive@.service` in `deploy/systemd/`) that is
`Restart=on-failure` with `RestartPreventExitStatus=2`; 3 counts as a success there, as `run` and
`archive run` return it only when they were asked to stop. In Kubernetes, a container that ended
with 2 is restarted with a growing delay until the file is right.
A restart is always safe: copying goes on where the ledger says, archiving where the commit log
ends, and no record comes twice.
"""


_ROOT = errors.TowpathError


@dataclass(frozen=True, slots=True)
class ExitCode:
    """An exit code and its meaning.

    Attributes:
        number: The number.
        meaning: What has happened.
        restart: Whether starting `towpath run` again, with the same file, can help.
    """

    number: int
    meaning: str
    restart: bool | None = None


ALL = (
    ExitCode(0, "All is done. `run`: it was stopped, or has caught up"),
    ExitCode(1, "A fault in Towpath, or Spark's JVM ended", restart=True),
    ExitCode(2, "The file or the arguments are wrong; nothing was touched", restart=False),
    ExitCode(3, "Something was left out, differs or was not done; each is named"),
    ExitCode(4, "A cluster, the ledger or Spark could not be used", restart=True),
    *(
        ExitCode(KILLED + number, f"{number.name} ended the command at once")
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
    ),
)


def kinds() -> dict[str, int]:
    """Return the exit code of each kind of error, by its stable code."""
    common = [
        kind
        for module in (errors, *map(import_module, _WINGS))
        for name in module.__all__
        if issubclass(kind := getattr(module, name), _ROOT)
    ]
    elsewhere = [
        SecurityError,
        ThrottledError,
        UnresolvedError,
        TopicsTakenError,
        DevError,
        *DevError.__subclasses__(),
    ]
    return {kind.code: kind.exit_code for kind in (*common, *elsewhere) if kind is not _ROOT}


def markdown() -> str:
    """Return the reference page of exit codes."""
    words = {None: "", True: "yes", False: "no, correct the file first"}
    found = kinds()
    rows = []
    for each in ALL:
        codes = ", ".join(f"`{code}`" for code, number in found.items() if number == each.number)
        rows.append(f"| {each.number} | {each.meaning} | {words[each.restart]} | {codes} |\n")
    head = "| exit code | meaning | restart | codes of errors |\n|---|---|---|---|\n"
    return "\n".join([_INTRODUCTION, head + "".join(rows), _COMMANDS, _SIGNALS])


if __name__ == "__main__":
    sys.stdout.write(markdown())
