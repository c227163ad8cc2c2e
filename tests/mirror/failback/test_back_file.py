"""The file of the link back: what stays, what changes places, what is left out."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from towpath.mirror.failback.back_file import BackFile, back_file
from towpath.mirror.failback.inverse import inverse
from towpath.model.errors import ConfigError
from towpath.model.link_names import back_name
from towpath.model.nouns import LinkName
from towpath.settings import load
from towpath.settings.document import parse
from towpath.settings.naming import Renaming

TEXT = """\
# Our link.
source:
  bootstrap: "a:9092"  # the old hall
  sasl: {mechanism: SCRAM-SHA-512, username: mirror, password: "env:SOURCE_PASSWORD"}

# The new hall.
target:
  bootstrap: "${TARGET}"

link: eu
topics:
  include: ["orders", "pay.*"]
  rename: "eu.{topic}"

# How fast.
run:
  max_rate: 50MB
"""
NAMES = {"orders": "eu.orders", "pay": "eu.pay"}


def turned(
    text: str, names: dict[str, str] | None = None, link: LinkName | None = None, **groups: str
) -> BackFile:
    return back_file(text, "link.yaml", names or {"orders": "orders"}, groups, link)


def sections(text: str) -> dict[str, object]:
    return dict(parse(text, "back.yaml").tree)


def test_clusters_change_places_and_all_else_stays_as_it_is_written() -> None:
    made = turned(TEXT, NAMES)
    assert made.link == "eu-back"
    assert not made.notes
    expected = TEXT.replace("source:", "t:").replace("target:", "source:").replace("t:", "target:")
    before, _, behind = expected.replace("link: eu\n", "link: eu-back\n").partition("topics:\n")
    assert made.text.startswith("# Made by `towpath failback link.yaml`: link eu-back copies back")
    assert before in made.text
    assert behind.partition("\n\n")[2] in made.text
    assert sections(made.text)["topics"] == {
        "include": ["eu\\.(orders)", "eu\\.(pay)"], "rename": "{1}", "shared": True
    }  # fmt: skip


def test_the_file_can_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARGET", "b:9092")
    monkeypatch.setenv("SOURCE_PASSWORD", "x")
    file = tmp_path / "back.yaml"
    file.write_text(turned(TEXT, NAMES).text)
    config = load(file)
    assert (config.source.bootstrap, config.target.bootstrap) == (("b:9092",), ("a:9092",))
    assert config.target.login == "mirror"
    assert config.topics.target_name("eu.pay") == "pay"
    assert not config.topics.matches("pay")


def test_what_holds_for_one_direction_is_left_out_and_named() -> None:
    text = (
        TEXT + "records: {start: latest, offsets: identical, on_gap: record}\n"
        "prune: true\n"
        "changes: [{headers: {add: {a: b}}}]\n"
        "groups: {exclude: ['x'], mm2: {alias: a, source_alias: b}}\n"
        "schemas: {source: {url: 'http://a'}, target: {url: 'http://b'}}\n"
    ).replace("rename: ", "configs: {override: {retention.ms: 1}}\n  rename: ")
    made = turned(text, NAMES)
    told = sections(made.text)
    assert told["records"] == {"on_gap": "record"}
    assert told["groups"] == {"exclude": ["x"]}
    assert told["schemas"] == {"target": {"url": "http://a"}, "source": {"url": "http://b"}}
    assert {"prune", "changes"}.isdisjoint(told)
    topics = told["topics"]
    assert isinstance(topics, dict)
    assert topics["configs"] == {"exclude": ["retention\\.ms"]}
    left = ("configs.override", "offsets: identical", "groups.mm2", "changes", "prune")
    for one in left:
        assert any(one in note for note in made.notes), one


def test_groups_go_back_under_their_names() -> None:
    text = TEXT + "groups: {include: ['a', 'b'], rename: 'eu.{group}'}\n"
    made = turned(text, NAMES, a="eu.a", b="eu.b")
    assert sections(made.text)["groups"] == {"include": ["eu\\.(a)", "eu\\.(b)"], "rename": "{1}"}
    unknown = turned(text, NAMES)
    assert "groups" not in sections(unknown.text)
    assert "no group goes back by itself" in unknown.notes[0]


def test_a_file_with_aliases_is_written_anew() -> None:
    text = (
        "source: &a {bootstrap: 'a:1', rack: r}\ntarget: {<<: *a, bootstrap: 'b:1'}\n"
        "link: eu\ntopics: {include: ['orders']}\n"
    )
    told = sections(turned(text).text)
    assert told["target"] == {"bootstrap": "a:1", "rack": "r"}
    assert told["link"] == "eu-back"


def test_names_that_no_template_turns_round_are_refused() -> None:
    with pytest.raises(ConfigError, match="write the file of the link back by hand"):
        turned(TEXT, {"a-b": "b-a", "c-d": "d-c"})


@pytest.mark.parametrize(
    ("name", "back"), [("eu", "eu-back"), ("eu-back", "eu-2"), ("eu-2-back", "eu-3")]
)
def test_a_link_never_gets_a_name_again(name: str, back: str) -> None:
    assert back_name(LinkName(name)) == back


def test_a_link_back_gets_no_name_that_another_link_has() -> None:
    def named(name: str, *taken: str) -> str:
        return back_name(LinkName(name), {*map(LinkName, taken)})

    assert named("eu", "us-back") == "eu-back"
    assert named("eu", "eu-back") == "eu-back-2"
    assert named("eu-1", "eu-1-back", "eu-1-back-2") == "eu-1-back-3"
    assert named("eu-back", "eu", "eu-2") == "eu-3"
    long = "l" * 100
    assert named(long) == f"{'l' * 95}-back"
    assert named(long, named(long)) == f"{'l' * 95}-ba-2"
    assert sections(turned(TEXT, NAMES, LinkName("eu-back-2")).text)["link"] == "eu-back-2"


_NAMES = st.text("ab.-_1", min_size=1, max_size=6)


@settings(max_examples=15)  # each reads and writes files of YAML
@given(
    st.sets(_NAMES, min_size=1, max_size=5),
    st.text("xy.", max_size=4),
    st.text("xy.", max_size=4),
    st.booleans(),
)
def test_swapping_twice_gives_the_first(
    names: set[str], before: str, behind: str, longer: bool
) -> None:
    """Also where the mirror topics have the shorter names."""
    long = {name: f"{before}{name}{behind}" for name in names}
    forth = long if longer else {old: new for new, old in long.items()}
    back = {new: old for old, new in forth.items()}
    once = back_file(TEXT, "link.yaml", forth, {})
    twice = back_file(once.text, "back.yaml", back, {})
    for made, wanted in ((once, back), (twice, forth)):
        topics = sections(made.text)["topics"]
        assert isinstance(topics, dict)
        rename = Renaming("topic", "", topics.get("rename", "{topic}"), tuple(topics["include"]))
        assert {name: rename.name(name) for name in wanted} == wanted
    first, last = sections(TEXT), sections(twice.text)
    for key in ("source", "target", "run"):
        assert last[key] == first[key]
    assert twice.link == "eu-2"


@given(st.dictionaries(_NAMES, _NAMES, min_size=1, max_size=4))
def test_what_is_turned_round_leads_back_or_is_refused(names: dict[str, str]) -> None:
    unique = {old: new for new, old in {new: old for old, new in names.items()}.items()}
    made = inverse(unique)
    if made is not None:
        rename = Renaming("topic", "", made.rename or "{topic}", made.include)
        assert {rename.name(new): new for new in unique.values()} == unique


def test_the_file_of_a_gateway_is_known_as_such() -> None:
    assert not turned(TEXT).of_gateway
    with_gateway = turned(TEXT + "gateway: {listen: 'kafka.example:9092'}\n")
    assert with_gateway.of_gateway
    assert any("clients stay with the gateway" in each for each in with_gateway.notes)
