"""A login that may not see all consumer groups says so: none must be forgotten in silence."""

from __future__ import annotations

import pytest

from tests.support.clusters.secured import SecuredLink, load, permit
from towpath.cluster.admin import Admin
from towpath.mirror.staying.source_clients import look_at_clients
from towpath.model.nouns import Side, TopicName
from towpath.settings import load as load_file

pytestmark = pytest.mark.broker


def test_a_login_that_may_not_see_all_groups(secured: SecuredLink) -> None:
    topic = TopicName(load(secured))
    permit(secured)
    config = load_file(secured.file)
    with Admin(config.source, Side.SOURCE) as admin:
        found = look_at_clients(config, admin, [topic])
    (said,) = found.of_groups
    assert "could not look for all consumer groups: the login lacks the ACL Describe" in said
