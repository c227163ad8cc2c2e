"""kcat, with the librdkafka of its package, that knows nothing but a gateway."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import IO

from tests.support.clients.others.telling import Told


def _options(told: Told) -> list[str]:
    bootstrap = str(told.configs.pop("bootstrap"))
    more = (f"{name}={_text(value)}" for name, value in told.configs.items())
    return ["kcat", "-b", bootstrap, "-t", told.topic, *(w for each in more for w in ("-X", each))]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _errors(of: IO[str], told: Told) -> None:
    for line in of:
        sys.stderr.write(line)
        if "Delivery failed" in line or "FATAL" in line:
            told.failed(line.strip())


def _write(told: Told) -> None:
    options = _options(told)
    writers = [
        subprocess.Popen(
            [*options, "-P", "-p", str(partition)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for partition in range(2)
    ]
    for each in writers:
        assert each.stderr is not None
        threading.Thread(target=_errors, args=(each.stderr, told), daemon=True).start()
    count = 0
    while not told.over.wait(0.02):
        into = writers[count % 2].stdin
        assert into is not None
        print(told.value(count).decode(), file=into, flush=True)
        count += 1
    for each in writers:
        assert each.stdin is not None
        each.stdin.close()
        if each.wait(60):
            told.failed(f"kcat ended with {each.returncode}")
    told.end(count)


def _lines(reader: subprocess.Popen[str]) -> Iterator[str]:
    assert reader.stdout is not None
    yield from reader.stdout


def _read(told: Told) -> None:
    options = _options(told)
    at = options.index("-t")
    topic = options.pop(at + 1)
    options.pop(at)
    reader = subprocess.Popen(
        [
            *options,
            "-X",
            "auto.offset.reset=earliest",
            "-u",
            "-f",
            "%p %o\n",
            "-G",
            told.name,
            topic,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert reader.stderr is not None
    threading.Thread(target=_errors, args=(reader.stderr, told), daemon=True).start()

    def end() -> None:
        told.over.wait()
        time.sleep(1)
        reader.terminate()

    threading.Thread(target=end, daemon=True).start()
    for line in _lines(reader):
        partition, offset = line.split()
        told.read(int(partition), int(offset))
    reader.wait(60)
    if not told.over.is_set():
        told.failed(f"kcat ended with {reader.returncode}")
    told.end()


def main() -> None:
    """Do what the arguments say."""
    told = Told.begin()
    {"write": _write, "read": _read}[told.kind](told)


if __name__ == "__main__":
    main()
