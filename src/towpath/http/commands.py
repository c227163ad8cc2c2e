"""`towpath http`: serve the commands of links over HTTP."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
import uvicorn
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from towpath.cli.show.output import Output, OutputOption, console, line, show
from towpath.cli.signals import stopping
from towpath.cluster.connect.security import listener_context
from towpath.http.app import OPENAPI, READY, application
from towpath.http.running_commands import RunningCommands
from towpath.http.shapes import HttpJson
from towpath.http.tokens import TokenCheck
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.settings import load
from towpath.settings.address import host_and_port, listen_address
from towpath.settings.secrets import SecretText
from towpath.settings.sections.listener_tls import ListenerTls

_GRACE = 5
"""Seconds that answers have to be sent when the service stops."""
_CONNECTIONS = 200
_LOOK = 0.2

LinkFiles = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="The YAML files of the links.")
]
_Listen = Annotated[str, typer.Option(metavar="HOST:PORT", help="Where it listens.")]
_Token = Annotated[
    str,
    typer.Option(
        metavar="REF", help="What every request must bring: env:NAME or file:PATH names it."
    ),
]
_Cert = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="PEM file of the certificate; it is needed off this host."),
]
_Key = Annotated[
    Path | None, typer.Option(metavar="FILE", help="PEM file of its key, if not in the same file.")
]


class _Wanted(BaseModel):
    model_config = ConfigDict(extra="forbid")

    listen: Annotated[str, AfterValidator(listen_address)]
    token: SecretText


def http(
    files: LinkFiles,
    *,
    token: _Token,
    listen: _Listen = "127.0.0.1:9420",
    cert: _Cert = None,
    key: _Key = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Serve the commands of links over HTTP, until stopped."""
    del output  # `show` reads it from the arguments
    wanted = _checked(listen, token)
    links = _links(files)
    _require_safe(wanted.listen, cert, key)
    tls = _encryption(cert, key)
    with stopping() as stop, _socket(wanted.listen) as at:
        out = console(stderr=True)
        scheme = "https" if cert else "http"
        out.print(line(f"listening on {scheme}://{listen}; links: {', '.join(links)}"))
        count = _served(links, wanted, at, tls, stop)
    show(line(f"stopped: {count} commands were run"), _as_json(listen, links, count))
    return 0


def _checked(listen: str, token: str) -> _Wanted:
    try:
        return _Wanted.model_validate({"listen": listen, "token": token})
    except ValidationError as error:
        problems = [
            ConfigProblem(f"--{each['loc'][0]}", each["msg"].removeprefix("Value error, "))
            for each in error.errors(include_input=False, include_url=False)
        ]
        raise ConfigError(tuple(problems)) from None


def _links(files: Sequence[Path]) -> dict[str, Path]:
    """Return the file of each link.

    Raises:
        ConfigError: A file is wrong, or two are of one link.
    """
    found: dict[str, Path] = {}
    problems: list[ConfigProblem] = []
    for file in files:
        try:
            name = load(file).link
        except ConfigError as error:
            problems += error.problems
            continue
        if name in found:
            why = f"link {name} is that of {found[name].name} already"
            problems.append(ConfigProblem(str(file), why))
        found[name] = file.absolute()
    if problems:
        raise ConfigError(tuple(problems))
    return found


def _require_safe(listen: str, cert: Path | None, key: Path | None) -> None:
    if key is not None and cert is None:
        raise ConfigError((ConfigProblem("--key", "needs --cert"),))
    if cert is None and not _is_loopback(host_and_port(listen)[0]):
        why = f"{listen} is reached from elsewhere, so the token needs TLS: give --cert"
        raise ConfigError((ConfigProblem("--listen", why),))
    unreadable = [
        ConfigProblem(f"--{name}", f"{file}: cannot be read")
        for name, file in (("cert", cert), ("key", key))
        if file is not None and not file.is_file()
    ]
    if unreadable:
        raise ConfigError(tuple(unreadable))


def _encryption(cert: Path | None, key: Path | None) -> ListenerTls | None:
    """Return how it listens with TLS, `None` without.

    Raises:
        ConfigError: The files are of no use.
    """
    if cert is None:
        return None
    files = {"cert": cert, "key": key}
    try:
        return ListenerTls.model_validate(
            {name: str(file.absolute()) for name, file in files.items() if file is not None}
        )
    except ValidationError:
        both = f"{cert} has" if key is None else f"{cert} and {key} have"
        why = f"{both} no certificate with the key that belongs to it, or the key needs a password"
        raise ConfigError((ConfigProblem("--cert", why),)) from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _socket(listen: str) -> socket.socket:
    host, port = host_and_port(listen)
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
    except OSError as error:
        why = f"{listen} cannot be listened on: {error.strerror or error}"
        raise ConfigError((ConfigProblem("--listen", why),)) from None


def _served(
    links: Mapping[str, Path],
    wanted: _Wanted,
    at: socket.socket,
    tls: ListenerTls | None,
    stop: threading.Event,
) -> int:
    """Serve until stopped; return how many commands were run."""
    commands = RunningCommands(links)
    app = TokenCheck(application(links, commands), wanted.token, frozenset({READY, OPENAPI}))
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="off",
            ssl_context_factory=(lambda *_: listener_context(tls)) if tls is not None else None,
            limit_concurrency=_CONNECTIONS,
            timeout_graceful_shutdown=_GRACE,
        )
    )

    async def serve() -> None:
        serving = asyncio.create_task(server.serve(sockets=[at]))
        while not (serving.done() or stop.is_set()):
            await asyncio.sleep(_LOOK)
        await commands.end()  # first, so that who waits for one is told of its end
        server.should_exit = True
        await serving

    # Outside the main thread uvicorn leaves signals alone.
    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="http")
    thread.start()
    thread.join()
    return commands.count


def _as_json(listen: str, links: Mapping[str, Path], count: int) -> HttpJson:
    return HttpJson(listen=listen, links=[*links], commands=count)
