"""Draw what a command shows in a terminal as an SVG picture; `scripts/pictures` uses it.

`python docs/draw.py OUT.svg [--frame] [--replace OLD=NEW]... -- COMMAND` plays the command in a
terminal of its own and draws its whole output; with `--frame` one moment in the middle of a
live display. The picture names no font and no host to load one from.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

WIDTH, HEIGHT = 116, 50
"""Columns and lines of the terminal."""
_NEW_FRAME = re.compile(r"\r(?:\x1b\[2K(?:\x1b\[1A\x1b\[2K)*|(?:\x1b\[1A\x1b\[2K)+)")
_CONTROL = re.compile(r"\x1b\[\?25[hl]|\x1b\[\d*[AJK]|\r")
_RATE = re.compile(r"; [1-9][\d,]* records/s")
_FORM = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width;
}}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def play(command: list[str]) -> str:
    """Return what a command writes to a terminal.

    Raises:
        SystemExit: The command failed.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
    env = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    env.pop("COLUMNS", None)
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        said = b""
        while part := _read(ours):
            said += part
    os.close(ours)
    text = said.decode(errors="replace").replace("\r\n", "\n")
    if process.returncode:
        sys.exit(f"{shlex.join(command)} ended with {process.returncode}:\n{text}")
    return text


def midway(said: str) -> str:
    """Return the frame in the middle of those of a live display that show a rate.

    Raises:
        SystemExit: No frame shows one.
    """
    frames = [_CONTROL.sub("", frame).rstrip() for frame in _NEW_FRAME.split(said)]
    moving = [frame for frame in frames if "behind" in frame and _RATE.search(_plain(frame))]
    if not moving:
        sys.exit("the display never showed a rate; is there enough to copy?")
    return moving[len(moving) // 2]


def last(said: str) -> str:
    """Return what stays in a terminal: what comes after the last frame of a progress bar."""
    return _CONTROL.sub("", _NEW_FRAME.split(said)[-1])


def draw(command: str, said: str, name: str) -> str:
    """Return the picture of a command and what it said, as SVG."""
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True)
    console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
    console.print(Text.from_ansi(said.rstrip()))
    title, theme = command, DIMMED_MONOKAI
    made = console.export_svg(title=title, theme=theme, code_format=_FORM, unique_id=name)
    return "\n".join(line.rstrip() for line in made.splitlines()) + "\n"


def main(arguments: list[str]) -> None:
    """Play the command and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--frame", action="store_true", help="draw one moment of a live display")
    parser.add_argument("--replace", action="append", default=[], metavar="OLD=NEW")
    parser.add_argument("--shown", default="", help="the command as the picture shows it")
    parser.add_argument("command", nargs="+")
    asked = parser.parse_args(arguments)
    said = play(asked.command)
    said = midway(said) if asked.frame else last(said)
    for old, _, new in (each.partition("=") for each in asked.replace):
        said = said.replace(old, new)
    asked.out.parent.mkdir(exist_ok=True)
    asked.out.write_text(draw(asked.shown or shlex.join(asked.command), said, asked.out.stem))


def _plain(frame: str) -> str:
    return Text.from_ansi(frame).plain


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # on Linux, the end of whoever wrote
        return b""


if __name__ == "__main__":
    main(sys.argv[1:])
