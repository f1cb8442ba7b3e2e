"""What the records of a run failed of, read back from the dead letters that the run committed."""

from collections import Counter
from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.table import Table

from floe.catalogs.client import Tables
from floe.control.announcement import Announcement, TableShare
from floe.model.plan import Plan

_COLUMN = "error"
_UNNAMED = "without a reason"


def reasons_of(tables: Tables, plan: Plan, announcements: Iterable[Announcement]) -> Mapping[str, int]:
    """Count the records that became dead letters in a run, by error, the most frequent first.

    Announcements of a replay of dead letters tell; of others one column of the files is read that they brought to the table
    of dead letters, nothing where they brought none. Raises what the catalog and the store raise.
    """
    counted: Counter[str] = Counter()
    shares: list[TableShare] = []
    for announcement in announcements:
        counted.update(announcement.reasons)
        if not announcement.reasons:
            shares += [share for share in announcement.shares if share.table == plan.letters]
    if shares:
        table = tables.require(shares[0].table)
        with tables.reading(shares[0].table):
            for share in shares:
                counted.update(_in_files(table, share))
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def _in_files(table: Table, share: TableShare) -> Counter[str]:
    counted: Counter[str] = Counter()
    for file in (file for spec in share.files for file in spec.files):
        with table.io.new_input(file.file_path).open() as stream, pq.ParquetFile(stream) as parquet:
            if _COLUMN not in parquet.schema_arrow.names:
                counted[_UNNAMED] += parquet.metadata.num_rows
                continue
            for batch in parquet.iter_batches(columns=[_COLUMN]):
                values = pc.value_counts(pc.fill_null(batch.column(0).cast(pa.large_string()), _UNNAMED))
                counted.update({one["values"]: one["counts"] for one in values.to_pylist()})
    return counted
