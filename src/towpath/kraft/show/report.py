"""The report of a migration to KRaft as one HTML page: observations, steps and proofs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from towpath.cli.show.page import listed, page, table, text, verdict
from towpath.kraft.decide.moves import Facts
from towpath.kraft.journal import KraftEntry, KraftEvent
from towpath.kraft.show.data import status_data
from towpath.kraft.show.kraft_shapes import JournalEntryJson, KraftFactsJson
from towpath.model.amounts import count, counted, span
from towpath.runtime.clock import readable

_HOW = (
    "All contents of ZooKeeper and of the metadata log, read in one pass, side by side. A digest"
    " is SHA-256 over the compared contents of a kind; secrets go into it as digests of their own."
)

_KEPT = (
    "In the folder `kept` of the journal, for their owner alone, as they hold passwords. What a"
    " mode changes in a broker's file stays in that file, too (`towpath.kept.`)."
)

_SAID: Mapping[bool | None, str] = {True: "yes", False: "no", None: ""}


def report_data(name: str, facts: Facts, entries: Sequence[KraftEntry]) -> KraftFactsJson:
    """Return the content of the report as data for JSON.

    Args:
        name: The migration.
        facts: What is seen now.
        entries: The journal.
    """
    told: list[JournalEntryJson] = [
        {"at": readable(each.at), "event": each.event, **each.facts} for each in entries
    ]
    return {"migration": name, "now": status_data(facts), "journal": told}


def report_page(told: Mapping[str, Any]) -> str:
    """Return the HTML page of a report."""
    return page(f"Migration {told['migration']} to KRaft", told, _body)


def _body(told: Mapping[str, Any]) -> Iterator[str]:
    now, journal = told["now"], told["journal"]
    yield f"<h1>Migration {text(told['migration'])} to KRaft</h1>"
    yield verdict(f"stage {now['stage']}, {now['kip']}", good=now["well"])
    yield table(("what", "value"), _summary(now))
    told_of = (f"{each['what']}; {each['advice']}" for each in (*now["alarms"], *now["doubts"]))
    yield from listed("Alarms and doubts", [*told_of, *now["unseen"]])
    yield from _comparisons(journal, now["comparison"])
    yield from _section("Nodes", ("node", "role", "runs", "mode", "flag", "log directories"), (
        (
            each["id"], each["role"], _SAID[each["running"]], each["mode"] or "",
            _SAID[each["flag"]], ", ".join(each["meta"]),
        )
        for each in now["nodes"]
    ))  # fmt: skip
    yield from _steps(journal)
    yield from _section("Approvals", ("at", "goal", "by", "steps"), (
        (each["at"], each["goal"], each["by"], count(len(each["steps"])))
        for each in _of(journal, KraftEvent.APPROVED)
    ))  # fmt: skip
    yield from _kept(journal)
    yield from _section("Taken from others", ("at", "node", "what"), (
        (each["at"], each["node"], each["what"]) for each in _of(journal, KraftEvent.TAKEN)
    ))  # fmt: skip
    refused = (each["refused"] for each in _of(journal, KraftEvent.RUN_ENDED))
    yield from listed("Refusals", (each for some in refused for each in some))


def _summary(now: Mapping[str, Any]) -> Iterator[Sequence[object]]:
    yield "cluster", now["cluster_id"] or "not seen"
    yield "seen at", now["at"]
    yield "state of KIP-866", now["kip"]
    yield "Kafka's own metric ZkMigrationState then", _or_none(now["metric"])
    yield "controller", _or_none(now["controller"])
    seconds, servers = now["zookeeper_read_seconds"], now["ensemble"]
    if seconds is not None:
        yield "ZooKeeper was read in", span(seconds)
    if servers is not None:
        serve = f"{servers['serve']} of {servers['voters']}, {servers['spare']} to spare"
        yield "voting servers of ZooKeeper that serve", serve


def _or_none(value: object) -> object:
    return "none" if value is None else value


def _comparisons(
    journal: Iterable[Mapping[str, Any]], now: Mapping[str, Any] | None
) -> Iterator[str]:
    made = _of(journal, KraftEvent.COMPARED)
    last = now or (made[-1] if made else None)
    if last is None:
        return
    equal = last["equal"]
    more = last.get("more")
    number = len(last["differences"]) + (more if isinstance(more, int) else 0)
    said = "equal" if equal else f"not equal: {counted(number, 'difference')}"
    yield f"<h2>ZooKeeper and the metadata log</h2><p>{text(_HOW)}</p>"
    yield verdict(f"the last comparison found both {said}", good=equal)
    rows = ((kind, count(n), last["digests"][kind]) for kind, n in last["compared"].items())
    yield table(("kind", "compared", "digest"), rows)
    differences = [
        (each["kind"], each["name"], each["zookeeper"], each["log"]) for each in last["differences"]
    ]
    title = "Encoded passwords, of which both have one, not known if the same"
    yield from listed(title, last.get("unproven", ()))
    yield from _section("Differences", ("kind", "name", "ZooKeeper", "log"), differences)
    times = [(each["at"], "equal" if each["equal"] else "not equal") for each in made]
    yield from _section("Comparisons that were made", ("at", "found"), times)


def _steps(journal: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    ended = {KraftEvent.STEP_DONE: "done", KraftEvent.STEP_FAILED: "failed"}
    rows = [
        (
            each["at"],
            each["what"],
            ended[each["event"]],
            each.get("why", ""),
            span(each["seconds"]) if "seconds" in each else "",
            _both(each.get("compared")),
        )
        for each in journal
        if each["event"] in ended
    ]
    headers = "ended at", "step", "end", "why", "time taken", "both stores before it"
    yield from _section("Steps", headers, rows)


def _both(compared: object) -> str:
    """Return what both stores were before a step; nothing where only one of them was there."""
    match compared:
        case {"equal": bool(equal), "things": int(things)}:
            return f"{'equal' if equal else 'not equal'}, {count(things)} compared"
        case _:
            return ""


def _kept(journal: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what was there before it was written over or deleted; files by their digests alone."""
    kept = [
        (each["at"], each.get("node", ""), each["name"], each["file"], each.get("sha256", ""))
        for each in _of(journal, KraftEvent.KEPT)
    ]
    if kept:
        yield f"<h2>Kept originals</h2><p>{text(_KEPT)}</p>"
        yield table(("at", "node", "file", "kept as", "SHA-256"), kept)
    yield from _section("Deleted znodes", ("at", "znode", "content"), (
        (each["at"], path, content)
        for each in _of(journal, KraftEvent.DELETED)
        for path, content in each["znodes"].items() if content is not None
    ))  # fmt: skip


def _of(journal: Iterable[Mapping[str, Any]], event: KraftEvent) -> list[Mapping[str, Any]]:
    return [each for each in journal if each["event"] == event]


def _section(title: str, headers: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    found = list(rows)
    if found:
        yield f"<h2>{title}</h2>{table(headers, found)}"
