"""Bloblang, the expressions in files of Redpanda Connect, as far as names and filters need them.

What is known here is listed in `functions.py`; anything else is refused by its name when a text is
parsed, not when a record arrives. The language: docs.redpanda.com/redpanda-connect/guides/bloblang.
"""

from towpath.bloblang.evaluate import MessageScope, evaluate
from towpath.bloblang.functions import BloblangError
from towpath.bloblang.parser import parse_mapping, parse_query
from towpath.bloblang.template import TextTemplate, parse_template

__all__ = [
    "BloblangError",
    "MessageScope",
    "TextTemplate",
    "evaluate",
    "parse_mapping",
    "parse_query",
    "parse_template",
]
