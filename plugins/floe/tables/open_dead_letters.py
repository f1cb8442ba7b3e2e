"""The dead letters on record that are still open: more rows of the dead-letter table say dead than resolved."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH

from floe.model.dead_letters import DeadLetterKind, DeadLetterOffsets, Entry
from floe.model.holding import LogId
from floe.model.offsets import Intervals, OffsetRange

_COLUMNS = ("partition", "offset", "table", "kind", "connector")
_PLACE = pa.schema(
    [("partition", pa.int64()), ("offset", pa.int64()), ("table", pa.large_string()), ("weight", pa.int64())]
)


def scan_open_dead_letters(
    table: Table, branch: str, connector: str, ranges: Sequence[OffsetRange]
) -> DeadLetterOffsets:
    """Return the open dead letters of a connector in some ranges, as a branch of the dead-letter table has them.

    A branch that does not exist yet is read as main. Rows that name no connector count for each connector.
    """
    refs = table.metadata.refs
    ref = refs.get(branch) or refs.get(MAIN_BRANCH)
    if ref is None:
        return DeadLetterOffsets()
    found: list[DeadLetterOffsets] = []
    for topic, topic_id in dict.fromkeys((r.topic, r.topic_id) for r in ranges):
        of_topic = [r for r in ranges if (r.topic, r.topic_id) == (topic, topic_id)]
        scan = table.scan(rows_filter(of_topic), selected_fields=_COLUMNS, snapshot_id=ref.snapshot_id)
        weighed = [_weighed(batch, connector) for batch in scan.to_arrow_batch_reader()]
        places = pa.Table.from_batches(weighed, schema=_PLACE)
        found.append(DeadLetterOffsets.of(_entries(places, topic, topic_id)))
    return DeadLetterOffsets.of(entry for one in found for entry in one).within(ranges)


def dead_letters_of_commits(
    table: Table, branch: str, connector: str, ranges: Sequence[OffsetRange], commit_ids: Sequence[str]
) -> dict[str, DeadLetterOffsets]:
    """Return by commit id the dead letters, open or not, that the commits of some plans added in some ranges."""
    refs = table.metadata.refs
    ref = refs.get(branch) or refs.get(MAIN_BRANCH)
    if ref is None or not commit_ids:
        return {}
    listed = ", ".join(f"'{commit_id}'" for commit_id in commit_ids)
    found: dict[str, list[Entry]] = {}
    for topic, topic_id in dict.fromkeys((r.topic, r.topic_id) for r in ranges):
        of_topic = [r for r in ranges if (r.topic, r.topic_id) == (topic, topic_id)]
        condition = f"{rows_filter(of_topic)} and kind = '{DeadLetterKind.DEAD}' and commit_id in ({listed})"
        scan = table.scan(condition, selected_fields=(*_COLUMNS, "commit_id"), snapshot_id=ref.snapshot_id)
        for batch in scan.to_arrow_batch_reader():
            for row in batch.to_pylist():
                if row["connector"] in (connector, None):
                    offset = Intervals(((row["offset"], row["offset"] + 1),))
                    place = LogId(topic, topic_id, row["partition"])
                    found.setdefault(row["commit_id"], []).append((row["table"], place, offset))
    return {commit_id: DeadLetterOffsets.of(entries).within(ranges) for commit_id, entries in found.items()}


def rows_filter(ranges: Sequence[OffsetRange]) -> str:
    """Return the filter of the rows; of several ranges, rows between them are read too."""
    partitions = ", ".join(str(p) for p in sorted({r.partition for r in ranges}))
    return (
        f"topic = '{ranges[0].topic}' and topic_id = '{ranges[0].topic_id}' and partition in ({partitions}) "
        f"and offset >= {min(r.start for r in ranges)} and offset < {max(r.end for r in ranges)}"
    )


def _weighed(batch: pa.RecordBatch, connector: str) -> pa.RecordBatch:
    """Return the place of each dead letter of a connector, and the weight of its row: 1 for dead, -1 for resolved."""
    of_others = pc.fill_null(pc.not_equal(batch.column("connector"), connector), False)
    batch = batch.filter(pc.invert(of_others))
    is_dead = pc.equal(batch.column("kind"), DeadLetterKind.DEAD.value)
    is_resolved = pc.equal(batch.column("kind"), DeadLetterKind.RESOLVED.value)
    weight = pc.subtract(pc.cast(is_dead, pa.int64()), pc.cast(is_resolved, pa.int64()))
    columns = [batch.column(name).cast(_PLACE.field(name).type) for name in _PLACE.names[:3]]
    return pa.RecordBatch.from_arrays([*columns, weight], schema=_PLACE)


def _entries(places: pa.Table, topic: str, topic_id: str) -> Iterator[tuple[str | None, LogId, Intervals]]:
    """Add up the rows of each dead letter and join the offsets of those that are open."""
    sums = places.group_by(["table", "partition", "offset"]).aggregate([("weight", "sum")])
    left = sums.filter(pc.greater(sums.column("weight_sum"), 0)).sort_by(
        [("table", "ascending"), ("partition", "ascending"), ("offset", "ascending")]
    )
    spans: dict[tuple[str | None, int], list[tuple[int, int]]] = {}
    for batch in left.to_batches():
        rows = (batch.column(name).to_pylist() for name in ("table", "partition", "offset"))
        for name, partition, offset in zip(*rows, strict=True):
            known = spans.setdefault((name, partition), [])
            if known and known[-1][1] == offset:
                known[-1] = (known[-1][0], offset + 1)
            else:
                known.append((offset, offset + 1))
    for (name, partition), joined in spans.items():
        yield name, LogId(topic, topic_id, partition), Intervals.of(joined)
