"""The write of group offsets to the target, with a check by reading them back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from towpath.cluster.admin import Admin
from towpath.cluster.admin.groups import GroupState, UnaskedError
from towpath.cluster.metadata import Answers
from towpath.groups.model import GroupPosition, PositionOutcome
from towpath.groups.observe_groups import known_coordinators
from towpath.model.errors import ClusterError, RefusedError
from towpath.model.groups import ClientGroup, Commit
from towpath.model.nouns import TargetOffset, TopicPartition
from towpath.model.reasons import Reason, ReasonCode

_MEMBERS = frozenset({22, 25, 68, 110, 113})
"""Codes of a group that has members: ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, NON_EMPTY_GROUP,
FENCED_MEMBER_EPOCH, STALE_MEMBER_EPOCH."""
_PERHAPS = frozenset({-1, 7, 15})
"""Codes after which the commit may be in the coordinator's log all the same:
UNKNOWN_SERVER_ERROR, REQUEST_TIMED_OUT, COORDINATOR_NOT_AVAILABLE."""

Wanted = dict[ClientGroup, dict[TopicPartition, Commit]]
Found = Mapping[TopicPartition, Commit]


def write(
    target: Admin, listed: Mapping[str, GroupState], positions: Iterable[GroupPosition]
) -> list[GroupPosition]:
    """Write the due offsets, read them back, and return all with their outcomes.

    Args:
        target: The target.
        listed: Its groups by name, with their coordinators.
        positions: Positions, also those that are not due.
    """
    given = list(positions)
    wanted: Wanted = {}
    for each in given:
        if each.due and each.mirror is not None and each.answer is not None:
            commits = wanted.setdefault(client_of(each), {})
            commits[each.mirror] = Commit(each.answer.offset, each.metadata)
    if not wanted:
        return given
    done = _written(target, listed, wanted)
    back = _read_back(target, listed, wanted)
    return [_judged(each, done, back) if each.due else each for each in given]


def client_of(position: GroupPosition) -> ClientGroup:
    """Return the mirror group that an offset belongs to."""
    return ClientGroup(position.mirror_group, position.group.kind)


def under_members(position: GroupPosition) -> bool:
    """Return whether members on the target prevent an offset from being written."""
    return position.reason is not None and position.reason.code is ReasonCode.GROUP_HAS_MEMBERS


Errors = dict[ClientGroup, dict[TopicPartition, ClusterError]]


def _written(target: Admin, listed: Mapping[str, GroupState], wanted: Wanted) -> Errors:
    """Write; return the errors."""
    try:
        done = target.groups.write(wanted, known_coordinators(listed, wanted))
    except ClusterError as error:
        return {group: dict.fromkeys(commits, error) for group, commits in wanted.items()}
    return {group: dict(each.failed) for group, each in done.items()}


def _read_back(
    target: Admin, listed: Mapping[str, GroupState], wanted: Wanted
) -> Answers[ClientGroup, dict[TopicPartition, Commit]]:
    try:
        return target.groups.offsets(wanted, known_coordinators(listed, wanted))
    except ClusterError as error:
        return Answers({}, dict.fromkeys(wanted, error))


def _judged(
    position: GroupPosition,
    errors: Errors,
    back: Answers[ClientGroup, dict[TopicPartition, Commit]],
) -> GroupPosition:
    """Return a position that was due with its outcome."""
    client, mirror, answer = client_of(position), position.mirror, position.answer
    if mirror is None or answer is None:
        return position
    error = errors.get(client, {}).get(mirror)
    if error is not None and not _may_be_written(error):
        return replace(position, reason=_refusal(error, client))
    unread = back.failed.get(client)
    if unread is not None:
        return _unknown(position, answer.offset, error or unread)
    found = back[client].get(mirror)
    known = None if found is None else TargetOffset(found.offset)
    if known == answer.offset:
        # What a broker said of its lag was about the start offset before.
        return replace(position, known=known, target_lag=-1, outcome=PositionOutcome.CONFIRMED)
    if error is not None:
        return _unknown(replace(position, known=known), answer.offset, error)
    at = -1 if known is None else known
    moved = Reason.of(ReasonCode.GROUP_MOVED, offset=answer.offset, found=at)
    return replace(position, known=known, outcome=PositionOutcome.UNKNOWN, reason=moved)


def _may_be_written(error: ClusterError) -> bool:
    """Whether the coordinator may have written the offset although it did not say so."""
    if isinstance(error, RefusedError):
        return error.error in _PERHAPS
    return not isinstance(error, UnaskedError)


def _refusal(error: ClusterError, client: ClientGroup) -> Reason:
    if isinstance(error, RefusedError) and error.error in _MEMBERS:
        return Reason.of(ReasonCode.GROUP_HAS_MEMBERS, group=client.name, state="")
    return error.reason


def _unknown(position: GroupPosition, offset: TargetOffset, error: ClusterError) -> GroupPosition:
    why = Reason.of(ReasonCode.GROUP_ANSWER_LOST, offset=offset, why=error.reason)
    return replace(position, outcome=PositionOutcome.UNKNOWN, reason=why)
