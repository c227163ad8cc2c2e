"""What is said where the real kubectl cannot do what is asked of it."""

from __future__ import annotations

import shutil

import pytest

from tests.support.kraft_pods import pod_config
from towpath.kraft.drivers import drivers_of
from towpath.kraft.model import NodeId
from towpath.model.errors import DriverError


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
