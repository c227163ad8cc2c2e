"""The control plane of one cluster: its consumer groups."""

from __future__ import annotations

from kafka.protocol.admin import ListGroupsRequest

from towpath.cluster.admin.brokers import BrokerAdmin
from towpath.cluster.codes import refused
from towpath.model.deadline import Deadline


class GroupAdmin(BrokerAdmin):
    """Asks about consumer groups; see `towpath.cluster.admin.Admin`."""

    def groups(self) -> tuple[str, ...]:
        """Return the names of all consumer groups that the login may describe.

        Brokers leave out groups without a word where the login lacks Describe on them.
        """
        return self._control.retried(self._groups)

    def _groups(self, deadline: Deadline) -> tuple[str, ...]:
        """Ask every broker, as each tells only of the groups that it coordinates."""
        what = "listing consumer groups"
        found: set[str] = set()
        for broker in self._control.metadata(deadline).brokers.values():
            answer = self._control.ask(broker, ListGroupsRequest(), deadline, what)
            if answer.error_code:
                raise refused(self._side, what, answer.error_code, acl="Describe on groups")
            # Groups that only commit offsets have no protocol.
            found |= {g.group_id for g in answer.groups if g.protocol_type in {"consumer", ""}}
        return tuple(sorted(found))
