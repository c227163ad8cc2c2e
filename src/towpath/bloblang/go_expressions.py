"""Regular expressions of Go (RE2), written as Python means them. Pure.

Some are written the same in both and mean something else: `[[:alpha:]]` is a class of letters in
Go, and in Python one of six characters with a bracket behind it.
"""

from __future__ import annotations

import re

_LAST = 0x10FFFF
_CLASSES: dict[str, tuple[tuple[str, str], ...]] = {
    "alnum": (("0", "9"), ("A", "Z"), ("a", "z")),
    "alpha": (("A", "Z"), ("a", "z")),
    "ascii": (("\x00", "\x7f"),),
    "blank": (("\t", "\t"), (" ", " ")),
    "cntrl": (("\x00", "\x1f"), ("\x7f", "\x7f")),
    "digit": (("0", "9"),),
    "graph": (("!", "~"),),
    "lower": (("a", "z"),),
    "print": ((" ", "~"),),
    "punct": (("!", "/"), (":", "@"), ("[", "`"), ("{", "~")),
    "space": (("\t", "\r"), (" ", " ")),
    "upper": (("A", "Z"),),
    "word": (("0", "9"), ("A", "Z"), ("_", "_"), ("a", "z")),
    "xdigit": (("0", "9"), ("A", "F"), ("a", "f")),
}
"""The classes of POSIX, as ranges in order."""
_PART = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|$)"
    r"|(?P<end>\\z)"
    r"|\\x\{(?P<code>[0-9A-Fa-f]{1,6})\}"
    r"|(?P<class>\[\^?\]?(?:\[:\^?[a-z]+:\]|\\.|[^\]\\])*\])"
    r"|(?P<named>\(\?<(?=[A-Za-z_]))"
    r"|(?P<ascii>\\[dDwWsSbB])"
    r"|(?P<brace>\{(?=,))"
    r"|\\.|.",
    re.DOTALL,
)
_IN_CLASS = re.compile(
    r"\[:(?P<not>\^?)(?P<name>[a-z]+):\]|\\x\{(?P<code>[0-9A-Fa-f]{1,6})\}|(?P<sign>[\[&~|])|\\.|.",
    re.DOTALL,
)
_FLAGS = re.compile(r"\(\?([imsU]+)\)")
"""Flags for all of an expression; `U`, which swaps greedy and lazy, does not change what fits."""
_ASCII = re.compile(r"\\[dDwWsSbB]")


def python_expression(text: str) -> str:
    """Return a regular expression of Go as one of Python that finds the same.

    Raises:
        ValueError: Python has nothing that means the same, or it is none.
    """
    try:
        made = _translated(text)
        re.compile(made)
    except (re.error, OverflowError, RecursionError) as error:
        why = f" ({error.msg})" if isinstance(error, re.error) else ""
        raise ValueError(f"{text!r} is no regular expression that Python reads{why}") from None
    return made


def _translated(text: str) -> str:
    begin = _FLAGS.match(text)
    parts = [*_PART.finditer(text, begin.end() if begin else 0)]
    made = "".join(map(_written, parts))
    # Go's `\w` and the like mean ASCII alone.
    flags = ("a" if any(map(_is_ascii, parts)) else "") + (
        begin[1].replace("U", "") if begin else ""
    )
    return f"(?{''.join(sorted(set(flags)))}:{made})" if flags else made


def _is_ascii(part: re.Match[str]) -> bool:
    return bool(part["ascii"] or _ASCII.search(part["class"] or ""))


def _written(part: re.Match[str]) -> str:
    if part["quoted"] is not None:
        return re.escape(part["quoted"])
    if part["end"]:
        return r"\Z"
    if part["code"]:
        return _char(int(part["code"], 16))
    if part["class"]:
        head = part["class"][: 2 if part["class"].startswith("[^") else 1]
        inside = part["class"][len(head) : -1]
        first = r"\]" if inside.startswith("]") else ""
        rest = inside[1:] if first else inside
        return head + first + "".join(map(_in_class, _IN_CLASS.finditer(rest))) + "]"
    if part["named"]:
        return "(?P<"
    return r"\{" if part["brace"] else part[0]


def _in_class(part: re.Match[str]) -> str:
    if part["name"]:
        return _ranges(part["name"], complement=bool(part["not"]))
    if part["code"]:
        return _char(int(part["code"], 16))
    return f"\\{part[0]}" if part["sign"] else part[0]


def _ranges(name: str, *, complement: bool) -> str:
    known = _CLASSES.get(name)
    if known is None:
        raise ValueError(f"[:{name}:] is no class; known are {', '.join(_CLASSES)}")
    ranges = [(ord(low), ord(high)) for low, high in known]
    if complement:
        ends = [-1, *(high for _, high in ranges)]
        begins = [*(low for low, _ in ranges), _LAST + 1]
        ranges = [(e + 1, b - 1) for e, b in zip(ends, begins, strict=True) if e + 1 < b]
    return "".join(f"{_char(low)}-{_char(high)}" for low, high in ranges)


def _char(code: int) -> str:
    if code > _LAST:
        raise ValueError(f"\\x{{{code:x}}} is no character")
    char = chr(code)
    return char if char.isalnum() and char.isascii() else f"\\U{code:08x}"
