"""How far a table has the control topic: the sink's own snapshot property, read and raised."""

import json
import logging
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from floe.commit.ancestry import GROUP, branch_history, snapshot_property
from floe.commit.exceptions import TableRefused
from floe.config.mask import clip
from floe.offsets.ledger import Anchor
from floe.offsets.routing import MAIN_BRANCH

log = logging.getLogger(__name__)

PREFIX = "kafka.connect.offsets."

Offsets = Mapping[int, int]
"""Next offset by partition of the control topic."""

_MOST = 2**63 - 1
_SHOWN_CHARACTERS = 100


class Committed(NamedTuple):
    """What a branch says of one group: events below ``offsets`` are in it.

    ``is_known`` is False when no snapshot says anything and older ones have expired: they may have.
    """

    offsets: Offsets
    is_known: bool


def offsets_property(control_topic: str, group_id: str) -> str:
    """Name the snapshot property that holds the control offsets of one group."""
    return f"{PREFIX}{control_topic}.{group_id}"


def committed_offsets(metadata: TableMetadata, branch: str, name: str) -> Committed:
    """Read the property in the nearest ancestor that has it. Raises TableRefused for one that is no offsets."""
    oldest = None
    for snapshot in _history(metadata, branch):
        try:
            offsets = _offsets(snapshot, name)
        except ValueError as error:
            msg = (
                f"table at {metadata.location!r}: {error}: which events of the control topic it has cannot be told. Nothing "
                "was changed. Roll it back to the snapshot before, or commit one that has the property as it was"
            )
            raise TableRefused(msg) from error
        if offsets is not None:
            return Committed(offsets, True)
        oldest = snapshot
    return Committed({}, oldest is None or _is_first(oldest))


def known_offsets(metadata: TableMetadata, branch: str, name: str) -> Offsets:
    """Read the property in the nearest ancestor that has offsets there; what others wrote in their place is passed over."""
    for snapshot in _history(metadata, branch):
        try:
            offsets = _offsets(snapshot, name)
        except ValueError as error:
            log.warning("%s: it is passed over. Check who commits to the table", error)
            continue
        if offsets is not None:
            return offsets
    return {}


def _offsets(snapshot: Snapshot, name: str) -> Offsets | None:
    """Read the property of one snapshot; None where it has none. Raises ValueError for what no sink reads."""
    text = snapshot_property(snapshot, name)
    if text is None:
        return None
    try:
        offsets = {int(partition): int(offset) for partition, offset in json.loads(text).items()}
        if all(partition >= 0 and 0 <= offset <= _MOST for partition, offset in offsets.items()):
            return offsets
    except (ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):
        pass
    msg = f"property {name!r} of snapshot {snapshot.snapshot_id} is {clip(text, _SHOWN_CHARACTERS)!r}, which is no offsets"
    raise ValueError(msg)


def _is_first(oldest: Snapshot) -> bool:
    """Say whether nothing came before a snapshot. PyIceberg's expiry takes its parent's id away: the number tells."""
    return oldest.parent_snapshot_id is None and oldest.sequence_number == 1


def raised(offsets: Offsets, ends: Offsets) -> str:
    """Write the property: the higher of two offsets of each partition, never a lower one."""
    highest = {p: max(offsets.get(p, 0), ends.get(p, 0)) for p in sorted({*offsets, *ends})}
    return json.dumps({str(partition): end for partition, end in highest.items()}, separators=(",", ":"))


def topic_in_use(metadata: TableMetadata, branch: str, group_id: str) -> str | None:
    """Return the control topic that the newest snapshot of a group names; None when there is no such snapshot."""
    topics = (_control_topic(snapshot, group_id) for snapshot in _history(metadata, branch))
    return next(filter(None, topics), None)


def last_of_sink(metadata: TableMetadata, branch: str, group_id: str, anchor: Anchor | None) -> Snapshot | None:
    """Return the newest snapshot that the sink of a group made, and that a ledger of this anchor cannot know of.

    None when there is none: then what the ledger does not hold, the sink did not write. ``anchor`` is None for a table
    without ledger.
    """
    for snapshot in _history(metadata, branch):
        if anchor is not None and snapshot.snapshot_id == anchor.snapshot_id:
            return None
        if snapshot_property(snapshot, GROUP) is None and _control_topic(snapshot, group_id) is not None:
            return snapshot
    return None


def _history(metadata: TableMetadata, branch: str) -> Iterator[Snapshot]:
    """Walk the branch backwards; one that does not exist yet grows from main."""
    return branch_history(metadata, branch if branch in metadata.refs else MAIN_BRANCH)


def _control_topic(snapshot: Snapshot, group_id: str) -> str | None:
    names = snapshot.summary.additional_properties if snapshot.summary else {}
    ours = (name for name in names if name.startswith(PREFIX) and name.endswith(f".{group_id}"))
    return next((name[len(PREFIX) : -len(group_id) - 1] for name in ours), None)
