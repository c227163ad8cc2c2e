"""The steps of a migration as files and commands of `kubectl`."""

from __future__ import annotations

import base64
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.support.kraft.pods import NAMESPACE, config_map, export, pod_config, text_of
from tests.support.kraft.worlds import CLUSTER, at_stage, start_of, with_broker
from towpath.cli.main import main
from towpath.kraft.decide.outline import Outline, outline
from towpath.kraft.errors import DriverError
from towpath.kraft.facts.nouns import Goal, Stage
from towpath.kraft.facts.seen import MetaProperties
from towpath.kraft.reach.drivers import drivers_of
from towpath.kraft.reach.kubernetes.yaml_text import yaml_text
from towpath.kraft.run.manifests import STEPS, manifests, write_pages
from towpath.settings.java_properties import read_properties

JAAS = "org.example.Login required password=hunter2;"


def written(folder: Path, goal: Goal, stage: Stage | None = None) -> tuple[dict[str, str], Outline]:
    config = pod_config(export(folder, config_map(0, **{"sasl.jaas.config": JAAS})))
    seen = at_stage(config, stage) if stage else start_of(config)
    if stage is None:
        there = {**seen.brokers[0].properties, "sasl.jaas.config": JAAS}  # type: ignore[index]
        seen = with_broker(seen, 0, properties=there)
    planned = outline(config, seen, goal)
    assert planned.refusals == ()
    return manifests(config, seen, drivers_of(config).values(), planned, goal), planned


def objects(text: str) -> list[Any]:
    return list(YAML(typ="safe").load_all(text))


def test_every_command_names_a_file_that_is_written(tmp_path: Path) -> None:
    told, planned = written(tmp_path, Goal.FINAL)
    pages = {name: text for name, text in told.items() if name.endswith(".md")}
    named = {
        file for text in pages.values() for file in re.findall(r"(?:-f |--patch-file=)(\S+)", text)
    }
    assert named == told.keys() - pages.keys()
    assert len(re.findall(r"^## \d+\. ", told[STEPS], re.M)) == len(planned.steps)
    backs = [f"back-from-{n:03}.md" for n, each in enumerate(planned.steps, 1) if each.undo]
    assert sorted(pages) == sorted([STEPS, *backs])
    assert all(each in told[STEPS] for each in backs)
    assert told[STEPS].index("nothing leads back") < told[STEPS].index("without the migration")
    for name in named:
        assert all(each["metadata"]["namespace"] == NAMESPACE for each in objects(told[name]))


def test_a_broker_gets_the_properties_of_its_mode(tmp_path: Path) -> None:
    told, _ = written(tmp_path, Goal.DUAL_WRITE)
    [kraft] = objects(told["broker-0-kraft-mode.yaml"])
    assert kraft["data"].keys() == {"server.properties"}, "other keys are left to their owners"
    text = kraft["data"]["server.properties"]
    assert text.startswith("# ours\n")
    properties = read_properties(text.encode())
    assert properties["process.roles"] == "broker"
    assert properties["sasl.jaas.config"] == JAAS
    assert "zookeeper.connect" not in properties
    [back] = objects(told["broker-0-zookeeper-mode.yaml"])
    assert read_properties(back["data"]["server.properties"].encode()) == read_properties(
        config_map(0, **{"sasl.jaas.config": JAAS})["data"]["server.properties"].encode()
    )


def section(text: str, words: str) -> list[str]:
    part = text[text.index(words) :]
    block = re.search(r"```sh\n(.*?)```", part, re.S)
    assert block
    return [line.removeprefix(f"kubectl -n {NAMESPACE} ") for line in block[1].splitlines()]


APPLY = "apply --server-side --field-manager=towpath -f"


PATCH = "patch configmap kafka-1 --field-manager=towpath-1 --patch-file"


def apply(node: int) -> str:
    """Return how the properties of a node are applied."""
    return APPLY.replace("towpath", f"towpath-{node}")


def test_the_way_there_step_by_step(tmp_path: Path) -> None:
    told, _ = written(tmp_path, Goal.DUAL_WRITE)
    assert section(told[STEPS], "properties of controller 3000 and format") == [
        f"{APPLY} hold-kafka-controller-3000-0.yaml",
        f"{apply(3000)} controller-3000-with-flag.yaml",
        f"{APPLY} controller-3000.yaml",
        f"until kubectl -n {NAMESPACE} exec kafka-controller-3000-0 -c towpath-hold -- true; do"
        " sleep 2; done",
        "exec kafka-controller-3000-0 -c towpath-hold -- kafka-storage.sh format"
        " --cluster-id=AAAAAAAAAAAAAAAAAAAAAA -c /etc/controller/controller.properties",
    ]
    assert section(told[STEPS], "start controllers") == [
        f"{APPLY} hold-none.yaml",
        *(f"delete pod kafka-controller-{node}-0" for node in (3000, 3001, 3002)),
    ]
    assert section(told[STEPS], "restart broker 1 in migration mode") == [
        f"{PATCH}=broker-1-migration-mode.yaml",
        "delete pod kafka-1",
    ]
    assert "`towpath kraft run FILE` does this step" in told[STEPS]
    [secret] = objects(told["controller-3000-with-flag.yaml"])
    text = base64.b64decode(secret["data"]["controller.properties"])
    assert read_properties(text)["zookeeper.metadata.migration.enable"] == "true"


@pytest.mark.parametrize("named", [(), ("helm",), ("helm", "argocd-controller")])
def test_what_others_keep_is_planned_only_where_the_file_names_them(
    tmp_path: Path, named: tuple[str, ...]
) -> None:
    there = config_map(1)
    fields: dict[str, Any] = {"f:data": {"f:server.properties": {}}}
    there["metadata"]["managedFields"] = [
        {"manager": each, "operation": "Update", "fieldsV1": fields}
        for each in ("helm", "argocd-controller")
    ]
    config = pod_config(export(tmp_path, there), take_from=named)
    seen = start_of(config)
    planned = outline(config, seen, Goal.DUAL_WRITE)
    drivers = drivers_of(config).values()
    if len(named) == 2:
        told = manifests(config, seen, drivers, planned, Goal.DUAL_WRITE)
        # The export lacks `managedFields` of the other two.
        unknown = "It is not known who else keeps configmap kafka-0, statefulset kafka:"
        assert unknown in told[STEPS]
        return
    with pytest.raises(DriverError, match=r"then name argocd-controller.* in `driver\.take_from`"):
        manifests(config, seen, drivers, planned, Goal.DUAL_WRITE)


def test_the_way_back_holds_what_is_stopped(tmp_path: Path) -> None:
    told, planned = written(tmp_path, Goal.DUAL_WRITE)
    back = told[f"back-from-{len(planned.steps):03}.md"]
    pods = [f"kafka-controller-{node}-0" for node in (3000, 3001, 3002)]
    stopped = section(back, "stop controllers")
    assert stopped[0] == f"{APPLY} hold-{'-and-'.join(pods)}.yaml"
    assert sorted(line for line in stopped if line.startswith("delete")) == [
        f"delete pod {each}" for each in pods
    ]
    gone = "rm -rf -- /data/b1/__cluster_metadata-0"
    rolled = section(back, "restart broker 1 in ZooKeeper mode")
    gate = "patch statefulset kafka --field-manager=towpath --patch-file=gate-kafka.yaml"
    assert rolled[0] == gate
    assert rolled[2:] == [
        "delete pod kafka-1",
        f"until kubectl -n {NAMESPACE} exec kafka-1 -c towpath-hold -- true; do sleep 2; done",
        f"exec kafka-1 -c towpath-hold -- {gone}",
        f"{PATCH}=broker-1-zookeeper-mode.yaml",
        f"{APPLY} hold-{'-and-'.join(pods)}.yaml",
        "delete pod kafka-1",
    ]
    [wiped] = section(back, "everything that controller 3000")
    assert "-- rm -rf -- /var/lib/controller/data/__cluster_metadata-0 /var/lib/" in wiped
    assert wiped.endswith(" /var/lib/controller/data/meta.properties")


def test_meta_properties_are_mended_in_the_held_pod(tmp_path: Path) -> None:
    config = pod_config(export(tmp_path))
    seen = at_stage(config, Stage.HYBRID)
    there = seen.brokers[0]  # type: ignore[index]
    formatted = MetaProperties(directory="/data/b0", version=1, cluster_id=CLUSTER, node=there.id,
                               directory_id=None)  # fmt: skip
    seen = with_broker(seen, 0, meta=(formatted,))
    planned = outline(config, seen, Goal.ZOOKEEPER)
    told = manifests(config, seen, drivers_of(config).values(), planned, Goal.ZOOKEEPER)
    mended = section(told[STEPS], "stop broker 0 and rewrite")
    assert mended[-1] == (
        "exec kafka-0 -c towpath-hold -- sed -i -e 's/^version=.*/version=0/'"
        r" -e 's/^node\.id=/broker.id=/' /data/b0/meta.properties"
    )
    rolled = section(told[STEPS], "restart broker 0 in ZooKeeper mode")
    assert rolled[-1] == "delete pod kafka-0"


def test_files_are_for_their_owner_alone_and_never_mix(tmp_path: Path) -> None:
    folder = tmp_path / "steps"
    write_pages(folder, {"a.yaml": "x"})
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "a.yaml").stat().st_mode) == 0o600
    with pytest.raises(OSError, match="not empty"):
        write_pages(folder, {"a.yaml": "x"})


@pytest.mark.parametrize(
    "text", ["a\nb", "a\nb\n", "a\n\n\n", "on", "0123", "a: b\n c\n", "x #y\n", ""]
)
def test_yaml_keeps_every_text(text: str) -> None:
    value = {"kind": "ConfigMap", "data": {"k": text}, "n": 1, "list": [text], "no": None}
    for version in (1, 1), (1, 2):
        yaml = YAML(typ="safe", pure=True)
        yaml.version = version
        assert list(yaml.load_all(yaml_text([value]))) == [value]


def test_the_command_refuses_nodes_that_are_no_pods(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from towpath.kraft.commands import _write_manifests
    from towpath.model.errors import ConfigError

    with pytest.raises(ConfigError, match="not in Kubernetes"):
        _write_manifests(tmp_path / "x", None)
    with pytest.raises(ConfigError, match="cannot be used"):
        _write_manifests(Path("/dev/null/x"), {"x": "y"})
    _write_manifests(tmp_path / "c", {STEPS: text_of({"a": "b"})})
    assert "1 files written; begin with" in capsys.readouterr().err.replace("\n", " ")
    assert main(["kraft", "plan", "--help"]) == 0
