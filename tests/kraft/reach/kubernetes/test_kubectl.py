"""What is asked of kubectl, and what is said where it cannot do that."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.kraft.pods import NAMESPACE, config_map, pod, pod_config
from tests.support.kraft.worlds import start_of
from towpath.kraft.config import KraftConfig, KubernetesDriver
from towpath.kraft.decide.moves import Facts
from towpath.kraft.errors import DriverError
from towpath.kraft.facts.nouns import Goal, NodeId, Role
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.reach.drivers import drivers_of
from towpath.kraft.reach.kubernetes.kubectl import Kubectl
from towpath.kraft.reach.kubernetes.node_place import place_of
from towpath.kraft.run.migration import Migration
from towpath.runtime.deadline import Deadline


def test_a_kubectl_that_is_not_there_is_named() -> None:
    config = pod_config(exported=None, kubectl="/nowhere/kubectl")
    with pytest.raises(DriverError, match="install it, or name it as"):
        drivers_of(config)[NodeId(0)].started()


def test_a_right_that_is_missing_comes_with_advice() -> None:
    told = 'Error from server (Forbidden): pods "kafka-0" is forbidden: cannot get resource "pods"'
    config = pod_config(exported=None, kubectl=["sh", "-c", 'echo >&2 "$0"; exit 1', told])
    with pytest.raises(DriverError) as caught:
        drivers_of(config)[NodeId(0)].started()
    assert 'cannot get resource "pods"; give who asks (`kubectl auth whoami`) the rights' in str(
        caught.value
    )


def test_an_api_that_is_away_is_told() -> None:
    config = pod_config(exported=None, kubectl="kubectl --server=http://127.0.0.1:9")
    if shutil.which("kubectl") is None:
        pytest.skip("no kubectl is here")
    with pytest.raises(DriverError, match=r"reading Pod kafka-0: .*127\.0\.0\.1:9"):
        drivers_of(config)[NodeId(0)].started()


def test_nothing_is_taken_for_done_where_there_is_no_pod() -> None:
    node = drivers_of(pod_config(exported=None, kubectl="true"))[NodeId(0)]
    assert node.read("/data/b0/meta.properties") is None
    with pytest.raises(DriverError, match="there is no pod kafka-0 to do it in"):
        node.write("/data/b0/meta.properties", b"x")
    with pytest.raises(DriverError, match="there is no pod kafka-0 to do it in"):
        node.remove("/x")


FAKE = """\
echo "$@" >> {folder}/calls
case "$*" in
  *"delete --raw"*) cat >> {folder}/options; exit {code} ;;
  *"get pod"*) cat {folder}/pod.json ;;
  *--previous*) echo "why it ended" ;;
  *logs*) echo "begins again" ;;
esac
"""


def fake(folder: Path, code: int = 0) -> KraftConfig:
    """Return the file of a migration whose kubectl writes down what it is asked."""
    (folder / "kubectl").write_text(FAKE.format(folder=folder, code=code))
    return pod_config(exported=None, kubectl=["sh", str(folder / "kubectl")])


@pytest.mark.parametrize(
    ("code", "there", "plainly"),
    [
        (0, "u-1", False),
        (1, "u-2", False),
        (1, None, False),
        (1, "u-1", True),
    ],
    ids=["ended", "another one is there", "gone", "below a path of its server"],
)
def test_no_pod_is_ended_that_came_in_the_place_of_another(
    tmp_path: Path, code: int, there: str | None, *, plainly: bool
) -> None:
    config = fake(tmp_path, code)
    (tmp_path / "pod.json").write_text(json.dumps({"metadata": {"uid": there}}) if there else "")
    assert isinstance(config.driver, KubernetesDriver)
    place = place_of(config.driver, Role.BROKER, config.brokers[0])
    Kubectl(config.driver, place).delete_pod("u-1", 7)
    options = json.loads((tmp_path / "options").read_text())
    assert (options["preconditions"], options["gracePeriodSeconds"]) == ({"uid": "u-1"}, 7)
    calls = (tmp_path / "calls").read_text().splitlines()
    named = f"--namespace={NAMESPACE} delete --raw=/api/v1/namespaces/{NAMESPACE}/pods/kafka-0"
    assert calls[0].startswith(named)
    assert ("delete pod kafka-0" in calls[-1]) is plainly


def test_a_container_that_is_started_again_in_its_pod_is_another_incarnation(
    tmp_path: Path,
) -> None:
    node = drivers_of(fake(tmp_path))[NodeId(0)]

    def has_started(times: int, *, running: bool = True) -> None:
        made = pod("kafka-0", running=running)
        made["status"]["containerStatuses"][0]["restartCount"] = times
        (tmp_path / "pod.json").write_text(json.dumps(made))

    has_started(0)
    first = node.incarnation()
    assert first == node.incarnation() is not None
    assert node.log(5) == "begins again"
    has_started(1)
    assert node.incarnation() not in {first, None}
    assert node.log(5) == "why it ended"
    has_started(1, running=False)
    assert node.incarnation() is None


KEEPS = """\
echo "$@" >> {folder}/calls
case "$*" in
  *" patch "*) cat > {folder}/taken; exit {code} ;;
  *" create "*) cat > {folder}/made; exit {code} ;;
  *get*) cat {folder}/there.json ;;
esac
"""


def kept_by(
    folder: Path, *managers: str, code: int = 0, take_from: Sequence[str] = ()
) -> KraftConfig:
    """Return the file of a migration whose properties other managers keep."""
    fields: dict[str, Any] = {"f:data": {"f:server.properties": {}}}
    there = config_map(0)
    there["metadata"] |= {"resourceVersion": "41", "managedFields": [
        {"manager": each, "operation": "Update", "fieldsV1": fields} for each in managers
    ]}  # fmt: skip
    (folder / "there.json").write_text(json.dumps(there))
    (folder / "kubectl").write_text(KEEPS.format(folder=folder, code=code))
    return pod_config(exported=None, kubectl=["sh", str(folder / "kubectl")], take_from=take_from)


def write(config: KraftConfig) -> list[str]:
    """Write the properties of broker 0; return what was noticed."""
    noticed: list[str] = []
    node = drivers_of(config, lambda _node, text: noticed.append(text))[NodeId(0)]
    node.write("/etc/kafka/0/server.properties", b"new")
    return noticed


def test_what_another_manager_keeps_is_not_taken_but_named(tmp_path: Path) -> None:
    config = kept_by(tmp_path, "helm", "argocd-controller", take_from=["helm"])
    with pytest.raises(DriverError) as caught:
        write(config)
    assert (
        "writing ConfigMap kafka-0: another field manager keeps what would be written"
        " (argocd-controller: .data.server.properties): let nothing apply it again until the"
        " migration is over, then name argocd-controller in `driver.take_from`"
    ) in str(caught.value)
    assert not (tmp_path / "taken").exists()


def test_what_another_manager_keeps_is_told_before_anything_is_stopped(tmp_path: Path) -> None:
    path = "/etc/kafka/0/server.properties"
    said = r"looking who keeps .*\(helm: \.data\.server\.properties\)"
    with pytest.raises(DriverError, match=said):
        drivers_of(kept_by(tmp_path, "helm"))[NodeId(0)].require_ours(path)
    drivers_of(kept_by(tmp_path, "helm", take_from=["helm"]))[NodeId(0)].require_ours(path)


def test_what_another_manager_keeps_stops_a_run_before_its_first_step(tmp_path: Path) -> None:
    for taken, wanted in (((), {FindingCode.FIELDS_KEPT}), (("helm",), set())):
        config = kept_by(tmp_path, "helm", take_from=taken)
        facts = Facts.of(config, start_of(config))
        with Migration(config) as migration:
            told = migration.concerns(facts, Goal.DUAL_WRITE)
            back = migration.concerns(facts, Goal.ZOOKEEPER)
        assert {each.code for each in told} == wanted
        assert back == ()


def test_what_the_file_allows_is_taken_as_it_was_seen_and_told(tmp_path: Path) -> None:
    told = write(kept_by(tmp_path, "helm", take_from=["helm"]))
    assert told == ["writing ConfigMap kafka-0: taken from field manager helm:"
                    " .data.server.properties"]  # fmt: skip
    made = json.loads((tmp_path / "taken").read_text())
    assert (made["metadata"]["resourceVersion"], made["data"]) == (
        "41",
        {"server.properties": "new"},
    )


def test_a_refusal_that_is_no_conflict_is_told_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(DriverError, match="kubectl ended with code 3"):
        write(kept_by(tmp_path, code=3, take_from=["helm"]))
    assert (tmp_path / "calls").read_text().count("patch configmap kafka-0") == 1


def test_an_object_that_is_not_there_is_made(tmp_path: Path) -> None:
    config = kept_by(tmp_path)
    (tmp_path / "there.json").write_text("")
    assert write(config) == []
    assert json.loads((tmp_path / "made").read_text())["kind"] == "ConfigMap"


def test_nothing_secret_is_in_a_command(tmp_path: Path) -> None:
    write(kept_by(tmp_path))
    assert "new" not in (tmp_path / "calls").read_text()
    assert json.loads((tmp_path / "taken").read_text())["data"] == {"server.properties": "new"}


def told_by(folder: Path, script: str) -> KraftConfig:
    """Return the file of a migration whose kubectl is a script."""
    (folder / "kubectl").write_text(script)
    return pod_config(exported=None, kubectl=["sh", str(folder / "kubectl")])


def test_a_wrapper_that_greets_is_told_and_not_taken_for_an_object(tmp_path: Path) -> None:
    node = drivers_of(told_by(tmp_path, 'echo "Welcome to bastion"; echo "{}"'))[NodeId(0)]
    with pytest.raises(DriverError, match="reading Pod kafka-0: what sh printed is no JSON"):
        node.started()


def test_a_kubectl_that_hangs_is_ended_with_its_login_plugin(tmp_path: Path) -> None:
    running = json.dumps(pod("kafka-0"))
    (tmp_path / "pod.json").write_text(running)
    hangs = f'case "$*" in *exec*) sleep 600 & wait ;; esac; cat {tmp_path}/pod.json'
    node = drivers_of(told_by(tmp_path, hangs))[NodeId(0)]
    with pytest.raises(DriverError, match=r"running format: sh did not end within [\d.]+ s"):
        node.run(("format",), Deadline.after(1))


def test_nothing_of_a_file_is_shown_where_reading_it_fails(tmp_path: Path) -> None:
    (tmp_path / "pod.json").write_text(json.dumps(pod("kafka-0")))
    fails = 'case "$*" in *exec*) echo password=hunter2; echo no more >&2; exit 1 ;; esac;'
    fails += f" cat {tmp_path}/pod.json"
    node = drivers_of(told_by(tmp_path, fails))[NodeId(0)]
    with pytest.raises(DriverError, match="code 1: no more") as caught:
        node.read("/data/b0/meta.properties")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("told", ["", "overlay 1 2 - 4% /\n", "x"])
def test_a_disk_of_which_nothing_is_told_is_not_full(tmp_path: Path, told: str) -> None:
    (tmp_path / "pod.json").write_text(json.dumps(pod("kafka-0")))
    script = f"case \"$*\" in *exec*) printf '%s' '{told}' ;; *) cat {tmp_path}/pod.json ;; esac"
    assert drivers_of(told_by(tmp_path, script))[NodeId(0)].free_bytes("/data") is None
