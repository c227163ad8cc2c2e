"""Texts with expressions in them: `prod_${! @kafka_topic }`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from towpath.bloblang.evaluate import MessageScope, evaluate
from towpath.bloblang.functions import DELETED, NOTHING, BloblangError, Value, kind_of, string
from towpath.bloblang.nodes import Field, Match, MetadataOf, Node, This
from towpath.bloblang.parser import parse_query

BEGIN = "${!"
_ESCAPED, _ESCAPED_END = "${{!", "}}"


@dataclass(frozen=True, slots=True)
class TextTemplate:
    """A text with expressions.

    Attributes:
        parts: Texts and expressions in their order.
    """

    parts: tuple[str | Node, ...]

    @property
    def is_text(self) -> bool:
        """Whether the template has no expression."""
        return all(isinstance(each, str) for each in self.parts)

    @property
    def metadata(self) -> frozenset[str]:
        """The names of the metadata that the template reads, "" for all of it."""
        return frozenset(node.name for node in self.nodes() if isinstance(node, MetadataOf))

    @property
    def reads_content(self) -> bool:
        """Whether the template reads the content of the message."""
        return any(_reads_content(part) for part in self.parts if isinstance(part, Node))

    def nodes(self) -> Iterator[Node]:
        """Yield the nodes of all expressions."""
        for part in self.parts:
            if isinstance(part, Node):
                yield from part.parts()

    def text_of(self, metadata: Mapping[str, Value]) -> str:
        """Return the text for a message with this metadata and no content.

        Raises:
            BloblangError: An expression has no value, or one that is no text, number or flag.
        """
        return self.text(MessageScope(metadata))

    def text(self, scope: MessageScope) -> str:
        """Return the text for a message.

        Raises:
            BloblangError: An expression has no value, or one that is no text, number or flag.
        """
        return "".join(p if isinstance(p, str) else _shown(p, scope) for p in self.parts)


def _reads_content(node: Node, *, matched: bool = False) -> bool:
    """Whether an expression reads the content; in a case of `match`, `this` is what it compares."""
    if isinstance(node, Match) and node.of is not None:
        cases = (part for case in node.cases for part in (case.condition, case.then))
        inside = any(_reads_content(each, matched=True) for each in cases)
        return inside or _reads_content(node.of, matched=matched)
    if isinstance(node, This | Field) and not matched:
        return True
    return any(_reads_content(each, matched=matched) for each in node.children())


def _shown(node: Node, scope: MessageScope) -> str:
    value = evaluate(node, scope)
    if value is None or value is DELETED or value is NOTHING:
        raise BloblangError(f"an expression gives {kind_of(value)} instead of a text")
    return string(value)


def parse_template(text: str) -> TextTemplate:
    """Parse a text with `${! expression }` in it; `${{! ... }}` stands for `${! ... }` itself.

    Raises:
        ValueError: An expression is none.
    """
    parts: list[str | Node] = []
    while text:
        if text.startswith(_ESCAPED):
            inside, end, text = text[len(_ESCAPED) :].partition(_ESCAPED_END)
            if not end:
                raise ValueError(f"{_ESCAPED} is not closed by {_ESCAPED_END}")
            parts.append(f"{BEGIN}{inside}}}")
        elif text.startswith(BEGIN):
            end_at = _end(text, len(BEGIN))
            parts.append(parse_query(text[len(BEGIN) : end_at].strip()))
            text = text[end_at + 1 :]
        else:
            end_at = text.find("${", 1)
            end_at = len(text) if end_at < 0 else end_at
            parts.append(text[:end_at])
            text = text[end_at:]
    return TextTemplate(tuple(_joined(parts)))


def _joined(parts: list[str | Node]) -> Iterator[str | Node]:
    """Yield the parts with neighbouring texts as one."""
    waiting = ""
    for part in parts:
        if isinstance(part, str):
            waiting += part
            continue
        if waiting:
            yield waiting
        waiting = ""
        yield part
    if waiting:
        yield waiting


def _end(text: str, at: int) -> int:
    """Return where the brace stands that closes an expression.

    Raises:
        ValueError: None does.
    """
    depth, quoted = 0, False
    while at < len(text):
        match text[at]:
            case "\\" if quoted:
                at += 1
            case '"':
                quoted = not quoted
            case "{" if not quoted:
                depth += 1
            case "}" if not quoted:
                if not depth:
                    return at
                depth -= 1
        at += 1
    raise ValueError(f"{BEGIN} is not closed by }}")
