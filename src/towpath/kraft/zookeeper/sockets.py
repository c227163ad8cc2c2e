"""Socket handling for kazoo: Towpath's TLS and login, and timeouts."""

from __future__ import annotations

import logging
import socket
import ssl
from contextlib import suppress
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import AuthFailedError, ConnectionDropped
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.connection import ConnectionHandler
from kazoo.protocol.serialization import SASL
from kazoo.retry import KazooRetry

from towpath.cluster.connect.security import ssl_context
from towpath.kraft.config.file import ZooKeeperConfig
from towpath.kraft.zookeeper.digest_md5 import Exchange
from towpath.model.foreign import foreign
from towpath.settings import Tls

_CONNECT_SECONDS = 3.0
"""Longest wait for one server; another one may answer at once."""

_SERVICE, _HOST = "zookeeper", "zk-sasl-md5"
"""What ZooKeeper's servers and clients call themselves in DIGEST-MD5 (`SecurityUtils.java`)."""


def _silent() -> logging.Logger:
    """Kazoo logs each lost connection; we tell it where it matters, with the reason."""
    logger = logging.Logger("kazoo of towpath")  # noqa: LOG001, a logger that nobody finds
    logger.setLevel(logging.CRITICAL + 1)  # making records that nobody sees takes a third of a read
    return logger


def client(config: ZooKeeperConfig, hosts: str) -> tuple[KazooClient, Sockets]:
    """Return an unconnected client, and its sockets.

    Args:
        config: TLS, login, session timeout.
        hosts: Servers, without a path.
    """
    sockets = Sockets(config.tls)
    logger = _silent()
    made = KazooClient(
        hosts=hosts,
        timeout=float(config.session_timeout),
        handler=sockets,
        logger=logger,
        # kazoo's own back-off grows to an hour.
        connection_retry=KazooRetry(max_tries=-1, delay=0.1, backoff=2, max_delay=1.0),
    )
    if config.username is not None:
        # kazoo has no other way to give it a login of one's own.
        made._connection = _LoginConnection(made, config, logger)  # noqa: SLF001
    return made, sockets


class Sockets(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo carries no types
    """The sockets of a session, with the reason of the last failure.

    Attributes:
        trouble: What happened to the last connection, without secrets.
        denied: Whether the login was refused; kazoo does not try again then.
    """

    def __init__(self, tls: Tls | None) -> None:
        super().__init__()
        self._tls = tls
        self._open: socket.socket | None = None
        self.trouble = ""
        self.denied = False

    def create_connection(
        self, address: tuple[str, int], hostname: str = "", timeout: float = 0, **_: Any
    ) -> socket.socket:
        """Open a connection to a server, for kazoo.

        Raises:
            OSError: The server cannot be reached, or TLS fails.
        """
        seconds = min(timeout, _CONNECT_SECONDS)
        try:
            made = connect(address, hostname, self._tls, seconds)
        except OSError as error:
            self.trouble = f"{hostname}:{address[1]}: {reason(error)}"
            raise
        except ValueError as error:  # certificates that cannot be used
            self.trouble = foreign(error)
            raise ConnectionDropped(self.trouble) from None
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.trouble = f"{hostname}:{address[1]} took the connection, but opened no session"
        self._open = made
        return made

    def cut(self) -> None:
        """Shut down the open connection, which wakes its waiting thread."""
        if self._open is not None:
            with suppress(OSError):
                self._open.shutdown(socket.SHUT_RDWR)


def connect(
    address: tuple[str, int], hostname: str, tls: Tls | None, seconds: float
) -> socket.socket:
    """Open a connection to a server.

    Args:
        address: Address and port.
        hostname: What its certificate must name.
        tls: Encryption, None for none.
        seconds: Longest wait.

    Raises:
        OSError: It cannot be reached, or TLS fails.
        ValueError: The certificates of the file cannot be used.
    """
    plain = socket.create_connection(address, seconds)
    if tls is None:
        return plain
    try:
        return ssl_context(tls).wrap_socket(plain, server_hostname=hostname)
    except (OSError, ValueError):
        plain.close()
        raise


def reason(error: OSError) -> str:
    """Return why a server could not be reached, as a text."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error.reason or foreign(error)}"
    return "no answer in time" if isinstance(error, TimeoutError) else foreign(error)


class _LoginConnection(ConnectionHandler):  # type: ignore[misc]  # kazoo carries no types
    """A connection that logs in by DIGEST-MD5."""

    def __init__(self, made: KazooClient, config: ZooKeeperConfig, logger: logging.Logger) -> None:
        # Any options make kazoo call for the login.
        super().__init__(made, made._conn_retry.copy(), logger, {"mechanism": "DIGEST-MD5"})  # noqa: SLF001
        self._config = config

    def _authenticate_with_sasl(self, _host: str, timeout: float) -> None:
        """Log in; kazoo calls it behind the opening of each session."""
        username, password = self._config.username, self._config.password
        assert username is not None and password is not None  # noqa: S101, PT018, checked by the file
        exchange = Exchange(username, password, _SERVICE, _HOST)
        answer: bytes | None = b""
        step = 0
        while answer is not None:
            step += 1
            challenge = self._said(answer, step, timeout)
            try:
                answer = exchange.respond(challenge)
            except ValueError as error:
                raise self._refused(foreign(error)) from None

    def _said(self, answer: bytes, step: int, timeout: float) -> bytes:
        self._submit(SASL(answer), timeout, step)
        self.handler.trouble = "the connection was closed at the login"
        header, buffer, offset = self._read_header(timeout)
        if header.err:
            raise self._refused(f"error {header.err}")
        challenge, _ = SASL.deserialize(buffer, offset)
        return bytes(challenge or b"")

    def _refused(self, why: str) -> AuthFailedError:
        self.handler.trouble, self.handler.denied = f"the login was refused: {why}", True
        return AuthFailedError(why)
