"""The unit, the manifests and the image do what the program expects of them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.support.pages.commands import parsed
from towpath.cli import exits
from towpath.settings import check

DEPLOY = Path(__file__).parents[2] / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
CONTAINER = (DEPLOY / "container" / "Containerfile").read_text()
DRAIN = 30
"""Seconds for which a run drains after SIGTERM."""


@pytest.mark.parametrize("unit", UNITS, ids=lambda file: file.name)
def test_a_unit_runs_its_file_and_restarts_it_where_that_helps(unit: Path) -> None:
    read = ConfigParser(interpolation=None, strict=False)
    read.optionxform = str  # type: ignore[assignment, method-assign]
    read.read_string(unit.read_text())
    service = read["Service"]
    program, *arguments = service["ExecStart"].split()
    assert program == "/opt/towpath/bin/towpath"
    assert (
        arguments[:-1] == {"towpath@": ["run"], "towpath-archive@": ["archive", "run"]}[unit.stem]
    )
    assert parsed(arguments)["file"] == Path("/etc/towpath/%i.yaml")
    assert service["Restart"] == "on-failure"
    never = {int(code) for code in service["RestartPreventExitStatus"].split()}
    assert never == {each.number for each in exits.ALL if each.restart is False}
    fine = {int(code) for code in service["SuccessExitStatus"].split()}
    assert not fine & {each.number for each in exits.ALL if each.restart}
    assert int(service["TimeoutStopSec"]) > 2 * DRAIN


@pytest.mark.parametrize("shipped", UNITS, ids=lambda file: file.name)
def test_systemd_takes_a_unit(shipped: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not on PATH")
    unit = tmp_path / shipped.name.replace("@", "@orders")
    unit.write_text(shipped.read_text().replace("/opt/towpath/bin/towpath", "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert unit.name not in done.stderr


def documents(file: Path) -> list[dict[str, Any]]:
    return list(YAML(typ="safe").load_all(file))


def of_kind(file: Path, kind: str) -> list[dict[str, Any]]:
    return [each for each in documents(file) if each["kind"] == kind]


def containers(file: Path) -> Iterator[dict[str, Any]]:
    for deployment in of_kind(file, "Deployment"):
        assert deployment["spec"]["replicas"] == 1
        assert deployment["spec"]["strategy"] == {"type": "Recreate"}
        template = deployment["spec"]["template"]
        assert template["metadata"]["labels"] == deployment["spec"]["selector"]["matchLabels"]
        assert template["spec"]["terminationGracePeriodSeconds"] > 2 * DRAIN
        yield from template["spec"]["containers"]


@pytest.mark.parametrize("file", MANIFESTS, ids=lambda file: file.name)
def test_a_manifest_runs_a_link_whose_probes_are_answered(file: Path, tmp_path: Path) -> None:
    [maps] = of_kind(file, "ConfigMap")
    link = tmp_path / "link.yaml"
    link.write_text(maps["data"]["link.yaml"])
    assert check(link, with_environment=False) == ()
    listen = YAML(typ="safe").load(link)["metrics"]["listen"]
    [container] = containers(file)
    assert container["ports"] == [{"name": "metrics", "containerPort": int(listen.split(":")[1])}]
    assert parsed(container["args"])["file"] == Path("/etc/towpath/link.yaml")
    probes = {name: container[name]["httpGet"]["path"] for name in container if "Probe" in name}
    assert probes == {
        "startupProbe": "/ready", "livenessProbe": "/live", "readinessProbe": "/ready"
    }  # fmt: skip
    assert {container[name]["httpGet"]["port"] for name in probes} == {"metrics"}


def test_executors_find_the_driver_through_its_service() -> None:
    file = DEPLOY / "kubernetes" / "spark.yaml"
    [maps], [service] = of_kind(file, "ConfigMap"), of_kind(file, "Service")
    lines = maps["data"]["spark-defaults.conf"].splitlines()
    settings = dict(line.split(maxsplit=1) for line in lines)
    assert settings["spark.driver.host"].startswith(f"{service['metadata']['name']}.default.")
    ports = {each["port"] for each in service["spec"]["ports"]}
    assert ports == {int(settings[f"spark.{of}.port"]) for of in ("driver", "blockManager")}
    [deployment] = of_kind(file, "Deployment")
    assert service["spec"]["selector"] == deployment["spec"]["selector"]["matchLabels"]
    assert settings["spark.authenticate"] == settings["spark.network.crypto.enabled"] == "true"
    [container] = containers(file)
    assert parsed(container["args"])["master"].startswith("k8s://https://")


def test_the_image_is_made_by_the_script_that_tests_play() -> None:
    """`test_wheel.py` plays it in a soak; here, that the image has what the script makes."""
    assert "RUN /src/deploy/container/install /opt/towpath" in CONTAINER
    assert re.findall(r'^ENTRYPOINT \["(.+)"\]$', CONTAINER, re.MULTILINE)[-1] == "towpath"
    stages = set(re.findall(r"^FROM \S+ AS (\w+)$", CONTAINER, re.MULTILINE))
    assert set(re.findall(r"--from=([a-z]+) ", CONTAINER)) <= stages
    uids = set(re.findall(r"^USER (\d+)$", CONTAINER, re.MULTILINE))
    for file in MANIFESTS:
        [deployment] = of_kind(file, "Deployment")
        context = deployment["spec"]["template"]["spec"]["securityContext"]
        assert {str(context["runAsUser"])} == uids


def test_the_image_gets_all_that_the_script_reads() -> None:
    kept = {
        line[1:] for line in (DEPLOY.parent / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    }  # fmt: skip
    needed = {"src", "scripts", "requirements", "pyproject.toml", "README.md", "LICENSE"}
    assert kept == needed | {"deploy/container/install"}
