"""The few writes to ZooKeeper, each conditional on the versions that were read.

A connection may be lost before the answer of a write; then the znodes tell whether it was done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, KazooException, NoNodeError

from towpath.kraft.errors import ZnodeChangedError
from towpath.kraft.zookeeper import forms
from towpath.kraft.zookeeper.forms import FormError
from towpath.kraft.zookeeper.session import LostError, Znode, ZooKeeperSession
from towpath.runtime.deadline import Deadline

EPOCH, CONTROLLER, MIGRATION = "/controller_epoch", "/controller", "/migration"
_ADVICE = "look again before anything else is done: start the command once more"


@dataclass(frozen=True, slots=True)
class ReleasedZnodes:
    """The contents of deleted znodes, `None` for a missing one."""

    controller: str | None
    migration: str | None


def raise_epoch(session: ZooKeeperSession, to: int, version: int, deadline: Deadline) -> int:
    """Raise `/controller_epoch`, which brokers in ZooKeeper mode continue from.

    Args:
        session: An open session.
        to: The epoch; it is never lowered.
        version: The version of the znode that was seen.
        deadline: When to give up.

    Returns:
        The version of the znode now.

    Raises:
        ZnodeChangedError: The znode is another one, or its epoch is higher; nothing was written.
        ZooKeeperError: ZooKeeper could not be used.
    """
    what = f"raising {EPOCH} to {to}"
    path, data = session.path(EPOCH), str(to).encode()
    while True:
        znode = there(session, what, EPOCH, deadline)
        epoch = _epoch(session, what, znode)
        if epoch == to and znode.version == version + 1:
            return znode.version  # written, and the answer was lost
        _same_version(session, what, EPOCH, znode, version)
        if epoch > to:
            raise changed(session, what, f"it is {epoch} already, and is never lowered")
        try:
            told = session.once(what, lambda made: made.set_async(path, data, version), deadline)
        except LostError:
            continue
        except (BadVersionError, NoNodeError):
            raise changed(session, what, f"{EPOCH} was changed meanwhile") from None
        except KazooException as error:
            raise session.error(what, error) from None
        return int(told.version)


def release(
    session: ZooKeeperSession,
    controller: int | None,
    migration: int | None,
    deadline: Deadline,
    before: Callable[[ReleasedZnodes], None] = lambda _: None,
) -> ReleasedZnodes:
    """Delete `/controller` and `/migration` in one transaction, so that a broker takes over.

    A controller in KRaft mode and one in ZooKeeper mode both make `/controller` with version 0. So
    the transaction also names the version of `/controller_epoch`, which each election raises.

    Args:
        session: An open session.
        controller: The version of `/controller` that was seen; None where it stays, since a broker
            holds it.
        migration: The version of `/migration` that was seen; None where there was none.
        deadline: When to give up.
        before: Is called with what the znodes hold, before they are deleted.

    Returns:
        What the znodes held.

    Raises:
        ZnodeChangedError: A znode is another one; nothing was deleted.
        ZooKeeperError: ZooKeeper could not be used.
    """
    what = (
        "deleting /controller and /migration" if controller is not None else "deleting /migration"
    )
    epoch = there(session, what, EPOCH, deadline)
    held = session.one(what, CONTROLLER, deadline)
    state = session.one(what, MIGRATION, deadline)
    _check_controller(session, what, held, controller)
    _check_migration(session, what, state, migration)
    wanted = [
        (path, znode)
        for path, znode, version in ((CONTROLLER, held, controller), (MIGRATION, state, migration))
        if znode is not None and version is not None
    ]
    texts = {path: (znode.data or b"").decode(errors="replace") for path, znode in wanted}
    released = ReleasedZnodes(texts.get(CONTROLLER), texts.get(MIGRATION))
    if wanted:
        before(released)
        _delete(session, what, epoch, wanted, deadline)
    return released


def _delete(
    session: ZooKeeperSession,
    what: str,
    epoch: Znode,
    wanted: list[tuple[str, Znode]],
    deadline: Deadline,
) -> None:
    def transaction(made: KazooClient) -> Any:
        request = made.transaction()
        request.check(session.path(EPOCH), epoch.version)
        for path, znode in wanted:
            request.delete(session.path(path), znode.version)
        return request.commit_async()

    while True:
        try:
            results = session.once(what, transaction, deadline)
        except LostError:
            # Ours are gone, or all of them are still there: a transaction is done as a whole.
            path, znode = wanted[-1]
            if not _is_still(session.one(what, path, deadline), znode):
                return
            continue
        except KazooException as error:
            raise session.error(what, error) from None
        _require_deleted(session, what, results)
        return


def _require_deleted(session: ZooKeeperSession, what: str, results: Iterable[object]) -> None:
    failed = [each for each in results if isinstance(each, Exception)]
    if any(isinstance(each, BadVersionError | NoNodeError) for each in failed):
        why = "a controller was elected, or a znode was changed, in this moment"
        raise changed(session, what, why)
    if failed:
        raise session.error(what, failed[-1])


def _is_still(now: Znode | None, before: Znode) -> bool:
    return now is not None and now.created == before.created


def _check_controller(
    session: ZooKeeperSession, what: str, held: Znode | None, version: int | None
) -> None:
    is_kraft = held is not None and not held.owner
    if version is None and is_kraft:
        why = "/controller belongs to a controller of KRaft, and must go together with /migration"
        raise changed(session, what, why)
    if version is None or held is None:
        # One that is gone was released before, by us or by its controller.
        return
    if not is_kraft:
        raise changed(session, what, "/controller belongs to a broker that runs")
    _same_version(session, what, CONTROLLER, held, version)


def _check_migration(
    session: ZooKeeperSession, what: str, state: Znode | None, version: int | None
) -> None:
    if version is None and state is not None:
        raise changed(session, what, "there is a /migration, and there was none before")
    if version is not None and state is not None:
        _same_version(session, what, MIGRATION, state, version)


def _same_version(
    session: ZooKeeperSession, what: str, path: str, znode: Znode, version: int
) -> None:
    if znode.version != version:
        why = f"{path} has version {znode.version}, and had {version} when it was looked at"
        raise changed(session, what, why)


def _epoch(session: ZooKeeperSession, what: str, znode: Znode) -> int:
    try:
        return forms.number(znode.data)
    except FormError as error:
        raise changed(session, what, str(error)) from None


def there(session: ZooKeeperSession, what: str, path: str, deadline: Deadline) -> Znode:
    """Read a znode; raise if it does not exist.

    Raises:
        ZnodeChangedError: It is not.
        ZooKeeperError: ZooKeeper could not be used.
    """
    found = session.one(what, path, deadline)
    if found is None:
        raise changed(session, what, f"there is no {path}")
    return found


def changed(session: ZooKeeperSession, what: str, why: str) -> ZnodeChangedError:
    """Return the error for a write that was refused because ZooKeeper has changed."""
    return ZnodeChangedError(session.servers, what, f"{why}; nothing was written", _ADVICE)
