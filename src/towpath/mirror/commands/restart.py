"""`towpath restart`: copy source topics that were deleted and recreated."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Group

from towpath.cli.confirming import confirmed
from towpath.cli.options import LinkFile, YesOption, topics_of
from towpath.cli.show.output import Output, OutputOption, console, line, show
from towpath.mirror.restart.restart import RestartReport, RestartRequest
from towpath.mirror.restart.restart import restart as restart_topics
from towpath.mirror.restart.restart_plan import MirrorTopic, NotRestarted, Outcome, Restart
from towpath.mirror.show.repair_shapes import (
    MirrorTopicJson,
    RestartedTopicJson,
    TopicRestartJson,
)
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.settings import load

NOT_ALL = 3
_CHOICE = (
    "choose --keep (the new records come behind the old ones in the mirror topic, with mapped"
    " offsets) or --replace (the mirror topic is deleted and created again, with identical offsets)"
)


def restart(
    file: LinkFile,
    *,
    topics: Annotated[str, typer.Option(metavar="TOPIC,..", help="The source topics to restart.")],
    replace: Annotated[
        bool | None,
        typer.Option(
            "--replace/--keep", help="Delete the mirror topic and its records first, or keep it."
        ),
    ] = None,
    yes: YesOption = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Copy deleted and recreated source topics from their beginning."""
    del output  # `show` reads it from the arguments
    config = load(file)
    wanted = topics_of(topics)
    if replace is None:
        raise ConfigError((ConfigProblem("--keep", _CHOICE),))

    def agreed(plan: tuple[Outcome, ...]) -> bool:
        console(stderr=True).print(*map(line, map(str, plan)), sep="\n")
        return yes or confirmed("Restart these?")

    found = restart_topics(config, RestartRequest(wanted, replace, agreed))
    show(Group(*map(line, _lines(found))), _data(config.link, found))
    return 0 if found.complete else NOT_ALL


def _lines(found: RestartReport) -> list[str]:
    left = [str(each) for each in found.plan if isinstance(each, NotRestarted)]
    done = [
        f"{each.topic}: restarted; `towpath run` copies it, within seconds if it runs already"
        for each in found.done
    ]
    return [*left, *found.failed, *done] or ["nothing was done"]


def _data(link: str, found: RestartReport) -> TopicRestartJson:
    return {
        "link": link,
        "complete": found.complete,
        "restarted": [_restarted(each) for each in found.done],
        "left": [
            {"topic": each.topic, "why": each.why}
            for each in found.plan
            if isinstance(each, NotRestarted)
        ],
        "failed": list(found.failed),
    }


def _restarted(restart: Restart) -> RestartedTopicJson:
    mirror = restart.mirror
    return {
        "topic": restart.topic,
        "target": restart.target,
        "source_id": restart.source_id,
        "mirror": None if mirror is None else _mirror(mirror),
        "replace": restart.replace,
    }


def _mirror(mirror: MirrorTopic) -> MirrorTopicJson:
    return {
        "id": mirror.id,
        "partitions": mirror.partitions,
        "records": mirror.records,
        "owned": mirror.owned,
        "foreign": mirror.foreign,
    }
