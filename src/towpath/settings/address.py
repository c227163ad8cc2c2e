"""Addresses, written HOST:PORT in the file."""

from __future__ import annotations

import ipaddress
import re

_ADDRESS = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.%\w]+)\]|(?P<host>[A-Za-z0-9._-]+)):(?P<port>\d{1,5})"
)


def check_address(value: str, such_as: str) -> str:
    """Return the address unchanged if it is valid.

    Args:
        value: The address to check.
        such_as: A valid address, for the message.

    Raises:
        ValueError: The value is not HOST:PORT.
    """
    match = _ADDRESS.fullmatch(value)
    if match is None:
        port = such_as.rpartition(":")[2]
        six = f"; an IPv6 address stands in brackets, such as [::1]:{port}"
        raise ValueError(
            f"{value!r} is not HOST:PORT, such as {such_as}{six * (value.count(':') > 1)}"
        )
    if match["six"] and not _is_six(match["six"]):
        raise ValueError(f"{match['six']!r} is not an IPv6 address")
    if not 1 <= int(match["port"]) <= 65535:
        raise ValueError(f"{value!r}: a port is a number from 1 to 65535")
    return value


def listen_address(value: str) -> str:
    """Return an address for serving metrics unchanged if it is valid.

    Raises:
        ValueError: The value is not HOST:PORT.
    """
    if "://" in value:
        raise ValueError("is a URL; write HOST:PORT alone, such as 127.0.0.1:9404")
    return check_address(value, "127.0.0.1:9404")


def host_and_port(address: str) -> tuple[str, int]:
    """Split an address into host (an IPv6 address without brackets) and port."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def _is_six(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True
