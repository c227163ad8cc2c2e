"""The buffer into which the connections of an event loop receive, one after the other."""

from __future__ import annotations

_SIZE = 256 << 10
"""Bytes, so that what is received is sent while it is in the processor's cache."""


class ReceiveBuffer:
    """A buffer that is used again and again. For one event loop.

    Attributes:
        view: All of it.
    """

    __slots__ = ("view",)

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Use another one from now on, as somebody keeps this one."""
        self.view = memoryview(bytearray(_SIZE))
