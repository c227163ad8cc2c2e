"""What is said of addresses that a gateway cannot listen on."""

from __future__ import annotations

import socket

import pytest

from towpath.gateway.listener_errors import instead, why_not


def failed(address: tuple[str, int]) -> OSError:
    with pytest.raises(OSError, match="while attempting to bind") as found:
        socket.create_server(address)
    return found.value


def test_a_port_that_is_taken_is_named_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        error = failed(("127.0.0.1", taken.getsockname()[1]))
    assert why_not(error) == "Address already in use"
    assert instead(error).startswith("stop what listens there, such as another gateway")


def test_an_address_of_another_machine_asks_for_advertised() -> None:
    error = failed(("192.0.2.7", 0))
    assert why_not(error) == "Cannot assign requested address"
    assert "`gateway.advertised`" in instead(error)


def test_a_name_that_nobody_knows_asks_for_advertised() -> None:
    assert "`gateway.advertised`" in instead(failed(("no-such-host.invalid", 0)))


def test_there_is_no_port_above_all() -> None:
    error = OverflowError("bind(): port must be 0-65535.")
    assert (why_not(error), instead(error)) == ("there is no such port", "name another port")
