"""ACLs of a cluster: listing, creation and deletion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from kafka.protocol.admin import CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest

from towpath.cluster.admin.changes import (
    Listing,
    check,
    refusal,
    tell_controller,
    wait_for_brokers,
)
from towpath.cluster.admin.numbers import OPERATIONS, PATTERNS, PERMISSIONS, RESOURCES
from towpath.cluster.codes import SECURITY_DISABLED
from towpath.cluster.connect.control import Control
from towpath.cluster.metadata import Answers
from towpath.model.acl import Acl, Operation, Resource
from towpath.model.errors import ClusterError
from towpath.runtime.deadline import Deadline

T = TypeVar("T")

_ANY = 1
_filter = DeleteAclsRequest.DeleteAclsFilter
_AT_ONCE = 500
_SINCE: Mapping[Resource | Operation, tuple[int, int]] = {
    Resource.USER: (3, 3),
    Operation.CREATE_TOKENS: (3, 3),
    Operation.DESCRIBE_TOKENS: (3, 3),
    Operation.TWO_PHASE_COMMIT: (4, 1),
}
"""The Kafka version that introduced each word (KIP-373, KIP-939); older brokers refuse it."""


class AclAdmin:
    """Lists, creates and deletes ACLs."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def describe(self) -> Listing[frozenset[Acl]] | None:
        """Return all ACLs, `None` if the cluster has no authorizer."""
        what = "asking for the ACLs"
        request = DescribeAclsRequest(
            resource_type_filter=_ANY,
            resource_name_filter=None,
            pattern_type_filter=_ANY,
            principal_filter=None,
            host_filter=None,
            operation=_ANY,
            permission_type=_ANY,
        )

        def once(deadline: Deadline) -> Any:
            answer = self._control.ask_any(request, deadline, what)
            if answer.error_code != SECURITY_DISABLED:
                check(self._control.side, answer, what, "Describe on the cluster")
            return answer

        answer = self._control.retried(once)
        return None if answer.error_code else _read(answer)

    def unknown_words(self) -> frozenset[Resource | Operation]:
        """Return the resources and operations that these brokers are too old to know."""
        release = self._control.retried(self._control.release).numbers
        return frozenset(word for word, since in _SINCE.items() if release < since)

    def create(self, acls: Iterable[Acl]) -> Answers[Acl, None]:
        """Create ACLs; one that already exists counts as created."""
        return self._each(
            "creating the ACL",
            acls,
            lambda part: CreateAclsRequest(creations=[_creation(acl) for acl in part]),
            lambda answer: answer.results,
            there=True,
        )

    def delete(self, acls: Iterable[Acl]) -> Answers[Acl, None]:
        """Delete ACLs; one that no longer exists counts as deleted."""
        return self._each(
            "deleting the ACL",
            acls,
            lambda part: DeleteAclsRequest(filters=[_filter(**_exactly(acl)) for acl in part]),
            lambda answer: [_worst(said) for said in answer.filter_results],
            there=False,
        )

    def _each(
        self,
        what: str,
        acls: Iterable[Acl],
        request: Callable[[Sequence[Acl]], Any],
        results: Callable[[Any], Sequence[Any]],
        *,
        there: bool,
    ) -> Answers[Acl, None]:
        done: dict[Acl, None] = {}
        failed: dict[Acl, ClusterError] = {}
        wanted = sorted(set(acls))
        for start in range(0, len(wanted), _AT_ONCE):
            part = wanted[start : start + _AT_ONCE]
            said_of_each = tell_controller(self._control, what, request(part), results)
            for acl, said in zip(part, said_of_each, strict=True):
                if said.error_code:
                    failed[acl] = refusal(
                        self._control.side, said, f"{what} {acl}", "Alter on the cluster"
                    )
                else:
                    done[acl] = None
        if done:
            last = list(done)[-1]
            wait_for_brokers(
                self._control,
                f"waiting until all brokers know the ACL {last}",
                DescribeAclsRequest(**_exactly(last)),
                lambda said: bool(said.resources) == there,
            )
        return Answers(done, failed)


def _creation(acl: Acl) -> Any:
    return CreateAclsRequest.AclCreation(
        resource_type=RESOURCES[acl.resource],
        resource_name=acl.name,
        resource_pattern_type=PATTERNS[acl.pattern],
        principal=acl.principal,
        host=acl.host,
        operation=OPERATIONS[acl.operation],
        permission_type=PERMISSIONS[acl.permission],
    )


def _exactly(acl: Acl) -> dict[str, Any]:
    """Return the filter fields that match exactly this ACL."""
    return {
        "resource_type_filter": RESOURCES[acl.resource],
        "resource_name_filter": acl.name,
        "pattern_type_filter": PATTERNS[acl.pattern],
        "principal_filter": acl.principal,
        "host_filter": acl.host,
        "operation": OPERATIONS[acl.operation],
        "permission_type": PERMISSIONS[acl.permission],
    }


def _worst(said: Any) -> Any:
    """Return the result of a deletion, or of a matching ACL that was not deleted."""
    return next((acl for acl in said.matching_acls if acl.error_code), said)


class _StrangeError(Exception):
    """A number in the broker's answer that this program does not know."""


def _read(answer: Any) -> Listing[frozenset[Acl]]:
    found, strange = set(), set()
    for of, said in _bindings(answer):
        try:
            found.add(
                Acl(
                    resource=_named(RESOURCES, of.resource_type, "resource type"),
                    name=of.resource_name,
                    pattern=_named(PATTERNS, of.pattern_type, "pattern type"),
                    principal=said.principal,
                    host=said.host,
                    operation=_named(OPERATIONS, said.operation, "operation"),
                    permission=_named(PERMISSIONS, said.permission_type, "permission"),
                )
            )
        except _StrangeError as error:
            strange.add(str(error))
    return Listing(frozenset(found), tuple(sorted(strange)))


def _bindings(answer: Any) -> Iterator[tuple[Any, Any]]:
    for of in answer.resources:
        for said in of.acls:
            yield of, said


def _named(table: Mapping[T, int], number: int, what: str) -> T:
    for name, known in table.items():
        if known == number:
            return name
    raise _StrangeError(f"{what} {number}")
