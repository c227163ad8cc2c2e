"""One connection of the data path: requests and responses over a non-blocking socket."""

from __future__ import annotations

import fcntl
import os
import socket
import ssl
import struct
import termios
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from towpath.cluster.connect.connection import Connected
from towpath.cluster.data.buffers import BufferPool, Frame
from towpath.cluster.data.frames import Part, request
from towpath.cluster.data.reactor import Reactor
from towpath.model.foreign import foreign

_MOST_PARTS = min(1024, os.sysconf("SC_IOV_MAX"))
_LARGEST_FRAME = 1 << 30
_NO_LINGER = struct.pack("ii", 1, 0)
_ENCRYPTED_PIECE = 1 << 18
_AT_LEAST = 1 << 19
"""Bytes of a large response that are worth waking up for; the last ones are, however few."""
_QUIET = 1.0
"""Seconds without a byte after which it is looked whether some wait in the socket."""


@dataclass(slots=True)
class _Waiting:
    correlation: int
    answer: Callable[[Frame], None]
    sent: float


class Channel:
    """Sends requests and hands each response to its own callback, in order.

    After an error `on_closed` is called once, with the reason; callbacks that still wait are
    never called. `pauses` counts how often this process was paused. After a pause nothing is sent
    any more: half a request may be in the broker's buffer, and it may be out of date.
    """

    def __init__(
        self,
        reactor: Reactor,
        connected: Connected,
        pool: BufferPool,
        on_closed: Callable[[str], None],
        pauses: Callable[[], int] = lambda: 0,
    ) -> None:
        self._reactor = reactor
        self._pauses, self._paused = pauses, pauses()
        self._socket = connected.socket
        # Closing the connection must discard unsent bytes.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self._socket.setblocking(False)
        self._encrypted = isinstance(connected.socket, ssl.SSLSocket)
        self.versions = connected.api_versions
        self.expires = connected.expires
        self._pool = pool
        self._on_closed = on_closed
        self._out: deque[memoryview] = deque()
        self._waiting: deque[_Waiting] = deque()
        self._correlation = 0
        self._size = bytearray(4)
        self._frame: Frame | None = None
        self._have = 0
        self._wakes_at, self._unread = 1, 0
        self._wants_write = False
        self._heard = 0.0
        self._muted_until = 0.0
        self.closed = False
        reactor.watch(self, write=False)

    def fileno(self) -> int:
        """Return the socket's file descriptor."""
        return self._socket.fileno()

    @property
    def waiting(self) -> int:
        """Number of outstanding responses."""
        return len(self._waiting)

    @property
    def silence(self) -> float:
        """Seconds since a response became due without a byte; throttle time does not count."""
        if not self._waiting:
            return 0.0
        since = max(self._waiting[0].sent, self._heard, self._muted_until)
        if self._wakes_at > 1 and time.monotonic() > since + _QUIET:
            since = max(since, self._heard_unread())
        return max(0.0, time.monotonic() - since)

    @property
    def muted(self) -> float:
        """Remaining throttle time, in seconds."""
        return max(0.0, self._muted_until - time.monotonic())

    def mute(self, seconds: float) -> None:
        """Send nothing for `seconds`, as the throttle time in an answer demands.

        The broker answers at once and then reads nothing from the connection for that long
        (KIP-219), so requests that it has not read yet are answered later, too.
        """
        if seconds > 0 and not self.closed:
            self._muted_until = max(self._muted_until, time.monotonic() + seconds)
            self._reactor.later(seconds, self._unmute)

    def _unmute(self) -> None:
        why = "" if self.closed else self._flush()
        if why:
            self.close(why)

    def send(
        self,
        api: int,
        version: int,
        body: list[Part],
        answer: Callable[[Frame], None],
        *,
        tags: bool = False,
    ) -> None:
        """Queue a request and send what the socket takes now."""
        self._correlation = self._correlation + 1 & 0x7FFFFFFF
        self._waiting.append(_Waiting(self._correlation, answer, time.monotonic()))
        for part in request(api, version, self._correlation, body, tags=tags):
            if len(part):
                self._out.append(memoryview(part))
        why = self._flush()
        if why:  # not in the stack of the sender, who may walk over what the loss changes
            self._reactor.later(0, lambda: self.close(why))

    def on_ready(self, *, readable: bool, writable: bool) -> None:
        """Read and write what the socket allows; the reactor calls this."""
        why = self._flush() if writable and not self.closed else ""
        if why:
            self.close(why)
        if readable and not self.closed:
            self._receive()

    def close(self, why: str = "") -> None:
        """Close the connection; if a reason is given, notify the owner."""
        if self.closed:
            return
        self.closed = True
        self._reactor.forget(self)
        self._socket.close()
        self._out.clear()
        self._waiting.clear()
        if self._frame is not None:
            self._frame.release()
            self._frame = None
        if why:
            self._on_closed(why)

    def _flush(self) -> str:
        """Send what the socket accepts now; return the error that closed it, or ""."""
        muted = bool(self.muted)
        try:
            while self._out and not muted:
                if self._pauses() != self._paused:
                    return "this process was paused, or another run took over"
                self._sent(self._send_some())
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            pass
        except OSError as error:
            return f"sending: {foreign(error)}"
        wants_write = bool(self._out) and not muted
        if wants_write != self._wants_write:
            self._wants_write = wants_write
            self._reactor.watch(self, write=self._wants_write)
        return ""

    def _send_some(self) -> int:
        if self._encrypted:
            return self._socket.send(self._out[0][:_ENCRYPTED_PIECE])
        parts = [self._out[i] for i in range(min(len(self._out), _MOST_PARTS))]
        return self._socket.sendmsg(parts)

    def _sent(self, count: int) -> None:
        while count:
            first = self._out[0]
            if count < len(first):
                self._out[0] = first[count:]
                return
            count -= len(first)
            self._out.popleft()

    def _heard_unread(self) -> float:
        """Return when a byte last came, of those that wait in the socket until there are more."""
        try:
            (unread,) = struct.unpack("i", fcntl.ioctl(self._socket, termios.FIONREAD, bytes(4)))
        except OSError:
            return self._heard
        if unread != self._unread:
            self._unread, self._heard = unread, time.monotonic()
        return self._heard

    def _wake_at(self, count: int) -> None:
        """Be woken once so many bytes can be read: each time costs more than some bytes do."""
        if self._encrypted or count == self._wakes_at:
            return
        self._wakes_at, self._unread = count, 0
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, count)

    def _receive(self) -> None:
        try:
            while not self.closed and self._receive_some():
                pass
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        except OSError as error:
            self.close(f"receiving: {foreign(error)}")

    def _receive_some(self) -> bool:
        """Receive once; return whether more bytes may be available."""
        target = memoryview(self._size) if self._frame is None else self._frame.view
        got = self._socket.recv_into(target[self._have :])
        if not got:
            self.close("the broker closed the connection")
            return False
        self._have += got
        self._heard = time.monotonic()
        if self._have < len(target):
            self._wake_at(min(_AT_LEAST, len(target) - self._have))
            return self._encrypted
        self._wake_at(1)
        self._have = 0
        if self._frame is None:
            size = int.from_bytes(self._size, "big", signed=True)
            if not 4 <= size <= _LARGEST_FRAME:
                self.close(f"the broker announced a response of {size} bytes")
                return False
            self._frame = self._pool.frame(size)
            return True
        frame, self._frame = self._frame, None
        self._answer(frame)
        return self._encrypted

    def _answer(self, frame: Frame) -> None:
        correlation = int.from_bytes(frame.view[:4], "big", signed=True)
        if not self._waiting or self._waiting[0].correlation != correlation:
            frame.release()
            self.close(f"response {correlation} was not asked for")
            return
        waiting = self._waiting.popleft()
        try:
            waiting.answer(frame)
        finally:
            frame.release()
