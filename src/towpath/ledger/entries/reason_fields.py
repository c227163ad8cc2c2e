"""The JSON form of reasons in ledger entries: codes, values, and a sentence for people.

Versions up to 0.1 wrote and read the sentence alone. What they wrote is shown as it is; which of
the reasons it was is recognised here, and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from towpath.ledger.entries.foretold import Foretold
from towpath.ledger.entries.ids import DecidedIds, RefusedIds
from towpath.ledger.entries.partition import (
    Gap,
    Opened,
    Receipt,
    RefusedRecords,
    TransactionalProducer,
)
from towpath.ledger.entries.promotion import Promotion
from towpath.model.reasons import Reason, ReasonCode, as_data, from_data

_TEXTS: Mapping[str, Mapping[str, str]] = {
    Opened.kind: {"reasons": "reason"},
    Receipt.kind: {"reasons": "reason", "trouble": "error"},
    Gap.kind: {"why": "cause"},
    RefusedRecords.kind: {"why": "cause"},
    TransactionalProducer.kind: {"why": "reason"},
    DecidedIds.kind: {"why": "cause"},
    RefusedIds.kind: {"why": "cause"},
    Foretold.kind: {"reasons": "reason"},
    Promotion.kind: {"reasons": "reason"},
}
"""By kind: the fields that hold reasons, and the names under which their sentences stand."""


def written(entry: object, kind: str) -> dict[str, Any]:
    """Return the JSON values for the reasons of an entry."""
    body: dict[str, Any] = {}
    for field, text in _TEXTS.get(kind, {}).items():
        body[field] = _data(getattr(entry, field))
        body[text] = getattr(entry, text)
    return body


def _data(value: Reason | tuple[Reason, ...] | None) -> Any:
    if isinstance(value, tuple):
        return [as_data(each) for each in value]
    return value and as_data(value)


def read(body: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the reasons of an entry by field; an unknown code becomes its stored sentence."""
    found: dict[str, Any] = {}
    for field, name in _TEXTS.get(kind, {}).items():
        data = body.get(field)
        text = body[name].removeprefix(f"{body.get('topic')}-{body.get('partition')}: ")
        if field == "reasons":
            known = [from_data(each) for each in data or ()]
            whole = data is not None and None not in known
            found[field] = tuple(known) if whole else reasons_of(text)
        elif not text:
            found[field] = None
        else:
            found[field] = (data and from_data(data)) or reason_of(text)
    return found


_PLAIN: Mapping[str, Reason] = {
    "asked for by `records.offsets: mapped`": Reason(ReasonCode.ASKED_FOR),
    "retention at the source removed them before they were copied": Reason(ReasonCode.RETENTION),
    "the topic is no more at the source": Reason(ReasonCode.SOURCE_TOPIC_DELETED),
    "the topic was deleted and created again at the source": Reason(
        ReasonCode.SOURCE_TOPIC_RECREATED
    ),
}
"""Sentences of older versions, word for word as ledgers hold them. `model/reasons.py` may word
them anew; here none of them ever changes."""
_IDS_REFUSED = re.compile(
    r"(?:(.+); )?the target refuses producer ids that it did not give out \((\w+)\), so records are"
    r" written in transactions"
)
"""Likewise; with what else an older version told before it."""


def reason_of(text: str) -> Reason:
    """Return the reason that a sentence of an older version represents."""
    found = reasons_of(text)
    return found[0] if len(found) == 1 else Reason.of(ReasonCode.TOLD, text=text)


def reasons_of(text: str) -> tuple[Reason, ...]:
    """Return all reasons that a sentence of an older version represents; none for ""."""
    found = _IDS_REFUSED.fullmatch(text)
    if found is not None:
        before, error = found.groups("")
        return (*reasons_of(before), Reason.of(ReasonCode.IDS_REFUSED, error=error))
    return (_PLAIN.get(text) or Reason.of(ReasonCode.TOLD, text=text),) if text else ()
