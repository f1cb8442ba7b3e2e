"""What the records of a run failed of, read back from the dead letters that the run committed."""

from collections import Counter
from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.table import Table

from floe.catalogs.client import Tables
from floe.control.announcement import Announcement, TableFiles
from floe.model.plan import Plan

_COLUMN = "error"
_UNNAMED = "without a reason"


def reasons_of(tables: Tables, plan: Plan, announcements: Iterable[Announcement]) -> Mapping[str, int]:
    """Count the records that became dead letters in a run, by error, the most frequent first.

    The announcements of a redrive contain them. Of others, one column of the files is read that they added to the
    dead-letter table, nothing where they added none. Raises what the catalog and the store raise.
    """
    counted: Counter[str] = Counter()
    all_table_files: list[TableFiles] = []
    for announcement in announcements:
        counted.update(announcement.reasons)
        if not announcement.reasons:
            all_table_files += [files for files in announcement.files if files.table == plan.dead_letters]
    if all_table_files:
        table = tables.require(all_table_files[0].table)
        with tables.reading(all_table_files[0].table):
            for table_files in all_table_files:
                counted.update(_in_files(table, table_files))
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def _in_files(table: Table, table_files: TableFiles) -> Counter[str]:
    counted: Counter[str] = Counter()
    for file in (file for spec in table_files.files for file in spec.files):
        with table.io.new_input(file.file_path).open() as stream, pq.ParquetFile(stream) as parquet:
            if _COLUMN not in parquet.schema_arrow.names:
                counted[_UNNAMED] += parquet.metadata.num_rows
                continue
            for batch in parquet.iter_batches(columns=[_COLUMN]):
                values = pc.value_counts(pc.fill_null(batch.column(0).cast(pa.large_string()), _UNNAMED))
                counted.update({one["values"]: one["counts"] for one in values.to_pylist()})
    return counted
