"""`towpath groups`: offsets of groups on both sides, and their sync."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer
from rich.console import Group

from towpath.cli.options import LinkFile
from towpath.cli.show.output import Output, OutputOption, line, show
from towpath.groups.group_standings import GroupsLook, differs, look_at_groups, translated
from towpath.groups.settle import settle
from towpath.groups.sync import GroupSync
from towpath.ledger.link import open_link
from towpath.ledger.offsets import Exactness
from towpath.mirror.mm2.publish import publishing
from towpath.mirror.show.groups_picture import (
    Translation,
    as_json,
    group_picture,
    list_picture,
    outcome_lines,
    summary_picture,
    translation_picture,
    translations_as_json,
)
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import SourceOffset, TopicName, TopicPartition
from towpath.settings import LinkConfig, load

groups = typer.Typer(
    help="Show where groups of consumers stand on both sides, and bring them over.",
    no_args_is_help=True,
)

NOT_ALL = 3
"""Exit code where something differs, or is not exact, or was left as it was."""

GroupArgument = Annotated[str, typer.Argument(metavar="GROUP", help="Its name at the source.")]


@groups.command("ls")
def ls(file: LinkFile, *, output: OutputOption = Output.TEXT) -> int:
    """List the groups that have offsets in mirrored topics, and their states on both sides."""
    del output  # `show` reads it from the arguments
    seen = look_at_groups(load(file), ())
    show(list_picture(seen), as_json(seen))
    return NOT_ALL if seen.report.failed or seen.report.unlisted else 0


@groups.command("status")
def status(
    file: LinkFile,
    group: Annotated[
        str | None,
        typer.Argument(
            metavar="[GROUP]",
            help="Name of one group at the source, to see where it stands in each partition.",
            show_default=False,
        ),
    ] = None,
    *,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show the lag of groups on both sides, and their offsets on the target."""
    del output  # `show` reads it from the arguments
    seen = look_at_groups(load(file), None if group is None else (group,))
    if group is None:
        show(summary_picture(seen), as_json(seen))
    else:
        seen = _one(seen, group)
        show(group_picture(seen), as_json(seen))
    return NOT_ALL if seen.trouble else 0


@groups.command("translate")
def translate(
    file: LinkFile,
    group: GroupArgument,
    *,
    at: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="SOURCE_OFFSET",
            help="Translate this source offset; by default where the group stands.",
            show_default=False,
        ),
    ] = None,
    partition: Annotated[
        str | None,
        typer.Option(
            metavar="TOPIC-NUMBER", help="One source partition; by default all of the group."
        ),
    ] = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show the target offsets for a group's source offsets, and their exactness."""
    del output  # `show` reads it from the arguments
    config, only = load(file), None if partition is None else _partition(partition)
    found = list(_translated(config, group, at, only))
    show(translation_picture(group, found), translations_as_json(group, found))
    exact = all(answer and answer.exactness is Exactness.EXACT for _, _, answer in found)
    return 0 if exact else NOT_ALL


@groups.command("sync")
def sync(
    file: LinkFile,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write nothing; show what would be written.")
    ] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Sync all groups once, as a run does at intervals, and read them back."""
    del output  # `show` reads it from the arguments
    config = load(file)
    if config.groups is None:
        text = (
            "is missing, so no group may be written; add `groups: {}` for all groups, or name some"
            " in `groups.include`"
        )
        raise ConfigError((ConfigProblem("groups", text),))
    notes: Sequence[str] = ()
    with open_link(config) as link:
        if dry_run:
            link.look()
            report = GroupSync(link).once(write=False)
        else:
            link.prepare()
            report = settle(GroupSync(link))
            with publishing(link) as publish:
                notes = publish(report)
    seen = GroupsLook(link=config.link, asked=True, report=report)
    picture = summary_picture(seen) if dry_run else outcome_lines(seen)
    show(Group(picture, *map(line, notes)), {**as_json(seen), "notes": [*notes]})
    left = any(differs(each) and not (dry_run and each.due) for each in report.positions)
    return NOT_ALL if left or not report.good else 0


@groups.command("diff")
def diff(file: LinkFile, *, output: OutputOption = Output.TEXT) -> int:
    """Show the groups whose offsets differ on the target: exit 0 none, 3 some."""
    del output  # `show` reads it from the arguments
    seen = look_at_groups(load(file)).differences
    show(group_picture(seen), as_json(seen))
    report = seen.report
    return NOT_ALL if report.groups or report.failed or report.unlisted else 0


def _one(seen: GroupsLook, group: str) -> GroupsLook:
    """Return the look at one group.

    Raises:
        ConfigError: It is not there.
    """
    if all(each.group.name != group for each in seen.report.groups):
        text = f"no group {group!r} with offsets in mirrored topics; `towpath groups ls` lists all"
        raise ConfigError((ConfigProblem("GROUP", text),))
    return seen.only(lambda each: each.group.name == group)


def _translated(
    config: LinkConfig, group: str, at: int | None, only: TopicPartition | None
) -> Iterator[Translation]:
    seen = _one(look_at_groups(config, ()), group)
    positions = {each.tp: each for each in seen.report.positions}
    wanted = list(positions) if only is None else [only]
    if at is None:
        if only is not None and only not in positions:
            text = f"group {group!r} has no offset in {only}; name a source offset with --at"
            raise ConfigError((ConfigProblem("--partition", text),))
        yield from ((tp, positions[tp].source, positions[tp].answer) for tp in wanted)
        return
    answers = translated(config, {tp: SourceOffset(at) for tp in wanted})
    yield from ((tp, SourceOffset(at), answers.get(tp)) for tp in wanted)


def _partition(text: str) -> TopicPartition:
    found = re.fullmatch(r"(.+)-(\d+)", text)
    if found is None:
        problem = ConfigProblem(
            "--partition", f"{text!r} is no partition; name one such as orders-3"
        )
        raise ConfigError((problem,))
    return TopicPartition(TopicName(found[1]), int(found[2]))
