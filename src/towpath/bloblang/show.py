"""The text of an expression, made of its nodes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from towpath.bloblang.nodes import (
    BinaryOperation,
    Call,
    Constant,
    Field,
    If,
    Items,
    Literal,
    Match,
    MetadataOf,
    Method,
    Node,
    Not,
    This,
)


def shown(node: Node) -> str:
    """Return an expression that the parser makes the same nodes of."""
    return _KINDS[type(node)](node)


def _metadata(node: MetadataOf) -> str:
    return f"@{_quoted(node.name)}" if node.name else "@"


def _method(node: Method) -> str:
    of = shown(node.of)
    receiver = of if isinstance(node.of, Method) else f"({of})"
    return f"{receiver}.{node.name}({_listed(node.arguments)})"


def _operation(node: BinaryOperation) -> str:
    return f"({shown(node.left)} {node.operator} {shown(node.right)})"


def _if(node: If) -> str:
    chain = " else ".join(f"if {shown(b.condition)} {_block(b.then)}" for b in node.branches)
    return f"({chain})" if node.otherwise is None else f"({chain} else {_block(node.otherwise)})"


def _match(node: Match) -> str:
    head = "match" if node.of is None else f"match {shown(node.of)}"
    cases = ", ".join(f"{shown(each.condition)} => {shown(each.then)}" for each in node.cases)
    return f"({head} {{ {cases} }})"


def template_text(parts: Iterable[str | Node]) -> str:
    """Return a text with expressions, of its parts."""
    return "".join(f"${{! {_expression(part)} }}" if _is_one(part) else str(part) for part in parts)


def _is_one(part: str | Node) -> bool:
    return isinstance(part, Node) or "${!" in part or "${{!" in part


def _expression(part: str | Node) -> str:
    return shown(part if isinstance(part, Node) else Literal(part))


def _listed(nodes: Iterable[Node]) -> str:
    return ", ".join(map(shown, nodes))


def _block(node: Node) -> str:
    return f"{{ {shown(node)} }}"


def _quoted(value: Constant) -> str:
    return json.dumps(value, ensure_ascii=False)


_KINDS: dict[type[Node], Callable[[Any], str]] = {
    Literal: lambda node: _quoted(node.value),
    Items: lambda node: f"[{_listed(node.items)}]",
    MetadataOf: _metadata,
    This: lambda _: "this",
    Field: lambda node: f"({shown(node.of)}).{_quoted(node.name)}",
    Call: lambda node: f"{node.name}({_listed(node.arguments)})",
    Method: _method,
    Not: lambda node: f"!({shown(node.of)})",
    BinaryOperation: _operation,
    If: _if,
    Match: _match,
}
