"""The application: its paths, and the command that each of them runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from fastapi import Body, FastAPI, HTTPException, Query, Response
from fastapi.responses import JSONResponse

from towpath import __version__
from towpath.cli.show.json_schemas import names_by_command, outputs
from towpath.http.running_commands import BusyError, RunningCommand, RunningCommands
from towpath.http.shapes import CommandJson, LinkFileJson, MoveRequest, ServedLinksJson
from towpath.model.errors import LinkUnknownError

READY, OPENAPI = "/ready", "/openapi.json"
"""Paths that tell nothing of a link."""
_PATIENCE = 120.0
"""Seconds that a command may take which only shows something."""
_STATUSES = {0: 200, 2: 422, 3: 409, 4: 503}
"""The HTTP status for each exit code of a command; of all others it is 500."""
_SHOWN = (
    ("GET", "", "link show", "Show a link and its topics, as the ledger knows them."),
    ("PUT", "", "link create", "Write a link to the ledger, and touch nothing else."),
    ("GET", "/ledger", "link ls", "List all links in the ledger that this link is in."),
    ("GET", "/plan", "plan", "Show what would change on the target."),
    ("GET", "/status", "status", "Show where each partition stands."),
)
_MOVES = (
    ("promote", "Move topics to the target, while clients stay connected."),
    ("revert", "Move promoted topics back to the source, while clients stay connected."),
)

_Wait: TypeAlias = Annotated[
    float, Query(ge=0, le=300, description="Seconds to wait for the end of the command.")
]
_Wanted: TypeAlias = Annotated[MoveRequest | None, Body()]
_NO_BODY = (
    "the body is missing: send a JSON object (Content-Type: application/json) with `topics`,"
    " `batch`, `groups`, `dry_run` or `gone`; {} moves all topics of the link"
)
_Flag: TypeAlias = Annotated[bool, Query()]


def application(files: Mapping[str, Path], commands: RunningCommands) -> FastAPI:
    """Return the application.

    Args:
        files: The file of each link.
        commands: Runs the commands.
    """
    app = FastAPI(
        title="Towpath",
        version=__version__,
        description="Commands of links over HTTP; each does what it does at a terminal.",
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
        openapi_url=OPENAPI,
    )
    run = _Runner(files, commands)
    _add_links(app, files, run)
    _add_changes(app, run)
    _add_commands(app, commands)
    return app


class _Runner:
    def __init__(self, files: Mapping[str, Path], commands: RunningCommands) -> None:
        self._files, self._commands = files, commands

    async def start(self, link: str, words: str, *options: str) -> RunningCommand:
        if link not in self._files:
            raise HTTPException(404, f"link {link} is not served here; GET /links lists those")
        try:
            return self._commands.start(link, words, options)
        except BusyError:
            why = "as many commands run as may, or the service stops; try again later"
            raise HTTPException(503, why, headers={"Retry-After": "5"}) from None

    async def shown(self, link: str, words: str) -> Response:
        """Return the JSON output of a command that ends soon."""
        found = await self.start(link, words)
        await found.wait(_PATIENCE)
        if found.exit_code is None or found.output is None:
            return _answer(found)
        left_out = found.exit_code == 3
        return JSONResponse(found.output, 200 if left_out else _status(found))

    def of(self, words: str) -> Callable[[str], Awaitable[Response]]:
        """Return what answers for a command that takes nothing but the link."""

        async def shown(link: str) -> Response:
            return await self.shown(link, words)

        return shown


def _add_links(app: FastAPI, files: Mapping[str, Path], run: _Runner) -> None:
    @app.get(READY, summary="Tell that the service listens.")
    async def ready() -> dict[str, bool]:
        return {"ready": True}

    @app.get("/links", summary="List the links that are served here.")
    async def links() -> ServedLinksJson:
        return ServedLinksJson(links=[LinkFileJson(link=k, file=v.name) for k, v in files.items()])

    for method, path, words, summary in _SHOWN:
        app.add_api_route(
            f"/links/{{link}}{path}", run.of(words), methods=[method], summary=summary,
            name=words, responses=_responses(words),
        )  # fmt: skip


def _add_changes(app: FastAPI, run: _Runner) -> None:
    @app.delete("/links/{link}", summary="End a link for good: remove its books from the ledger.")
    async def remove(
        link: str, dry_run: _Flag = False, release: _Flag = False, wait: _Wait = 30.0
    ) -> Response:
        options = [*(["--dry-run"] if dry_run else []), *(["--release"] if release else [])]
        return await _waited(await run.start(link, "link rm", "--yes", *options), wait)

    def move_of(words: str) -> Callable[..., Awaitable[Response]]:
        async def move(link: str, wanted: _Wanted = None, wait: _Wait = 30.0) -> Response:
            if wanted is None:
                raise HTTPException(422, _NO_BODY)
            return await _waited(await run.start(link, words, *_options(wanted)), wait)

        return move

    for words, summary in _MOVES:
        app.add_api_route(
            f"/links/{{link}}/{words}", move_of(words), methods=["POST"], summary=summary,
            name=words, responses=_COMMAND,
        )  # fmt: skip


def _add_commands(app: FastAPI, commands: RunningCommands) -> None:
    @app.get("/commands", summary="List the commands that run, and the last ones that ended.")
    async def every() -> list[CommandJson]:
        return [each.as_json() for each in commands]

    @app.get("/commands/{name}", summary="Show a command, and what it has told.")
    async def one(name: str, wait: _Wait = 0.0) -> CommandJson:
        found = commands.find(name)
        if found is None:
            raise HTTPException(404, "there is no such command, or it ended long ago")
        await found.wait(wait)
        return found.as_json()


def _options(wanted: MoveRequest) -> list[str]:
    found = ["--dry-run"] if wanted.dry_run else []
    if wanted.topics is not None:
        found.append(f"--topics={','.join(wanted.topics)}")
    if wanted.batch is not None:
        found.append(f"--batch={wanted.batch}")
    if wanted.groups is not None:
        found.append(f"--groups={','.join(wanted.groups)}")
    if wanted.gone is not None:
        found.append(f"--gone={wanted.gone}")
    return found


async def _waited(found: RunningCommand, seconds: float) -> Response:
    await found.wait(seconds)
    return _answer(found)


def _answer(found: RunningCommand) -> Response:
    at = {"Location": f"/commands/{found.id}"}
    return JSONResponse(found.as_json(), _status(found), headers=at)


def _status(found: RunningCommand) -> int:
    if found.exit_code is None:
        return 202
    error = (found.output or {}).get("error")
    if isinstance(error, dict) and error.get("code") == LinkUnknownError.code:
        return 404
    return _STATUSES.get(found.exit_code, 500)


def _responses(words: str) -> dict[int | str, dict[str, Any]]:
    error = {"model": outputs()["error"].type}
    shown = {"model": outputs()[names_by_command()[words]].type}
    return {200: shown, 404: error, 422: error, 503: error}


_COMMAND: dict[int | str, dict[str, Any]] = {
    status: {"model": CommandJson, "description": what}
    for status, what in (
        (200, "It has ended, and all is done."),
        (202, "It runs; ask `/commands/ID` for its end."),
        (409, "It has ended, and something was not done."),
        (422, "The request, or the file of the link, is wrong; nothing was touched."),
        (503, "A cluster could not be used."),
    )
}
