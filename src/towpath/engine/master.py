"""A check that a Spark master answers, before a JVM waits a minute for the master.

The question is a frame of Spark's network protocol that needs no login: a request for a stream that
no master has (`StreamRequest` of Spark's network-common), which it answers with a failure. A master
with TLS closes the connection instead, which is an answer, too.
"""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from queue import Empty, Queue
from threading import Thread

from towpath.model.errors import SparkStartError
from towpath.model.foreign import foreign
from towpath.runtime.deadline import Deadline

_URL = "spark://"
_STREAM_REQUEST = 6
_STREAM = b"/files/towpath"
_REQUEST = (
    struct.pack(">qBI", 8 + 1 + 4 + len(_STREAM), _STREAM_REQUEST, len(_STREAM)) + _STREAM
)  # length of the frame, type of the message, length of the text, text
_PORT = 7077
_PATIENCE = 8.0
"""Seconds to wait for an answer; Spark itself would wait a minute."""


def require_answer(master: str | None, patience: float = _PATIENCE) -> None:
    """Wait until a standalone master answers; other kinds of masters are not checked.

    Args:
        master: Any Spark master, `None` for this machine.
        patience: Seconds to wait.

    Raises:
        SparkStartError: None answered.
    """
    if master is None or not master.startswith(_URL):
        return
    addresses = master.removeprefix(_URL).split(",")
    answers: Queue[tuple[str, str]] = Queue()
    for address in addresses:
        # Nothing ends a look-up of a name early, so the thread may outlive this call.
        Thread(target=_ask, args=(address, patience, answers), daemon=True).start()
    silent = f"nothing answered within {patience:g} s"
    troubles = dict.fromkeys(addresses, silent)
    deadline = Deadline.after(patience + 1)  # each question has `patience`; this bounds look-ups
    with suppress(Empty):
        for _ in addresses:
            address, trouble = answers.get(timeout=deadline.left())
            if not trouble:
                return
            troubles[address] = trouble
    told = "; ".join(f"the master {address}: {why}" for address, why in troubles.items())
    raise SparkStartError(told)


def _ask(address: str, patience: float, answers: Queue[tuple[str, str]]) -> None:
    answers.put((address, _trouble(address, patience)))


def _trouble(address: str, patience: float) -> str:
    """Return why a master cannot be used, "" if it answered."""
    host, _, port = address.rpartition(":")
    if not host:
        host, port = address, str(_PORT)
    deadline = Deadline.after(patience)
    try:
        with socket.create_connection((host.strip("[]"), int(port)), patience) as connection:
            connection.settimeout(max(deadline.left(), 0.1))
            connection.sendall(_REQUEST)
            connection.recv(1)  # the end of the connection is an answer as well
    except socket.gaierror:
        return f"the name {host} does not resolve; check it for typing errors"
    except TimeoutError:
        return f"nothing answered within {patience:g} s; is it a Spark master, and alive?"
    except ConnectionRefusedError:
        return "nothing listens there (connection refused); start the master, or correct the port"
    except ConnectionResetError:
        return ""
    except (OSError, ValueError, OverflowError) as error:
        return foreign(error)
    return ""
