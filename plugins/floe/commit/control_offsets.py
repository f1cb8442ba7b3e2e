"""How far a table has the control topic: the sink's own snapshot property, read and raised."""

import json
from collections.abc import Mapping
from typing import NamedTuple

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from floe.commit.ancestry import branch_history, snapshot_property
from floe.offsets.routing import MAIN_BRANCH

PREFIX = "kafka.connect.offsets."

Offsets = Mapping[int, int]
"""Next offset by partition of the control topic."""


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
    """Read the property in the nearest ancestor that has it; a branch that does not exist yet grows from main."""
    oldest = None
    for snapshot in branch_history(metadata, branch if branch in metadata.refs else MAIN_BRANCH):
        text = snapshot_property(snapshot, name)
        if text is not None:
            return Committed({int(partition): int(offset) for partition, offset in json.loads(text).items()}, True)
        oldest = snapshot
    return Committed({}, oldest is None or _is_first(oldest))


def _is_first(oldest: Snapshot) -> bool:
    """Say whether nothing came before a snapshot. PyIceberg's expiry takes its parent's id away: the number tells."""
    return oldest.parent_snapshot_id is None and oldest.sequence_number == 1


def raised(offsets: Offsets, ends: Offsets) -> str:
    """Write the property: the higher of two offsets of each partition, never a lower one."""
    highest = {p: max(offsets.get(p, 0), ends.get(p, 0)) for p in sorted({*offsets, *ends})}
    return json.dumps({str(partition): end for partition, end in highest.items()}, separators=(",", ":"))


def topic_in_use(metadata: TableMetadata, branch: str, group_id: str) -> str | None:
    """Return the control topic that the newest snapshot of a group names; None when there is no such snapshot."""
    for snapshot in branch_history(metadata, branch if branch in metadata.refs else MAIN_BRANCH):
        names = snapshot.summary.additional_properties if snapshot.summary else {}
        for name in names:
            if name.startswith(PREFIX) and name.endswith(f".{group_id}"):
                return name[len(PREFIX) : -len(group_id) - 1]
    return None
