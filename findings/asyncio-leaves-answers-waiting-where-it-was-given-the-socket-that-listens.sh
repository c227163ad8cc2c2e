#!/usr/bin/env bash
# asyncio's servers delay small answers where they were given the socket that listens.
#
# Belief: asyncio sets TCP_NODELAY on its connections, as its documentation says since Python 3.6;
#   so a relay that answers a client with several requests in flight sends each answer at once,
#   whether it gives `loop.create_server` an address or, to share a port, a socket of its own.
# Behaviour: it sets the option only where the socket was made with the number of TCP as its
#   protocol. What `socket.create_server` and `socket.socket(AF_INET, SOCK_STREAM)` make has 0 there,
#   which means TCP as well, and what it accepts likewise. So Nagle's algorithm is on: an answer waits
#   until the client has confirmed the one before, which it does with its next request, or after some
#   40 ms. A Kafka client that sends a request each 16 ms so waits 16 ms for each answer.
# Versions: CPython 3.8.18, 3.11.7, 3.12.1 and 3.13.0.
# Source: asyncio/base_events.py, `_set_nodelay`; documentation of asyncio, "Transports and Protocols".
# Output seen (30 November 2026):
#   given an address: TCP_NODELAY 1
#   given a socket of socket.create_server: TCP_NODELAY 0
#   given a socket made with IPPROTO_TCP: TCP_NODELAY 1
#   as stated
# Needs: Python 3.8 or newer.
set -euo pipefail
python3 - <<'PY'
import asyncio
import socket
import sys


class Tells(asyncio.Protocol):
    def __init__(self, told):
        self._told = told

    def connection_made(self, transport):
        made = transport.get_extra_info("socket")
        self._told.set_result(made.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        transport.close()


async def asked(**where):
    loop = asyncio.get_running_loop()
    told = loop.create_future()
    server = await loop.create_server(lambda: Tells(told), **where)
    async with server:
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        found = await told
        writer.close()
    return found


def with_number():
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.bind(("127.0.0.1", 0))
    return made


async def main():
    ways = {
        "given an address": {"host": "127.0.0.1", "port": 0},
        "given a socket of socket.create_server": {"sock": socket.create_server(("127.0.0.1", 0))},
        "given a socket made with IPPROTO_TCP": {"sock": with_number()},
    }
    found = []
    for name, where in ways.items():
        found.append(bool(await asked(**where)))
        print(f"{name}: TCP_NODELAY {int(found[-1])}")
    return found


same = asyncio.run(main()) == [True, False, True]
print("as stated" if same else "different now")
sys.exit(not same)
PY
