"""Files that a Kafka Connect sink announced, compared with their own footers: any client may have announced them.

The sink signs nothing. What a footer says can be produced only by writing into the table's folder.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.table import Table

from floe.catalogs.exceptions import CatalogUnreachable
from floe.control.wire.events import DataFile
from floe.tables.exceptions import AnnouncementVoid

PARALLELISM = 8


def check_footers(table: Table, name: str, files: Sequence[DataFile]) -> None:
    """Raise AnnouncementVoid unless each file is Parquet with the announced number of records."""
    with ThreadPoolExecutor(PARALLELISM) as pool:
        list(pool.map(lambda file: _check_footer(table, name, file), files))


def without_metrics(file: DataFile) -> DataFile:
    """Return a file without the bounds and counts of its columns, by which readers skip files.

    Readers do without them; false ones hide rows from every filter.
    """
    return replace(
        file,
        value_counts=None,
        null_value_counts=None,
        nan_value_counts=None,
        lower_bounds=None,
        upper_bounds=None,
    )


def _check_footer(table: Table, name: str, file: DataFile) -> None:
    try:
        with table.io.new_input(file.file_path).open() as stream:
            records = pq.ParquetFile(stream).metadata.num_rows
    except pa.ArrowInvalid as error:
        msg = f"{file.file_path!r} is announced for table {name!r} but is no Parquet file ({error})"
        raise AnnouncementVoid(msg) from error
    except OSError as error:
        msg = f"{file.file_path!r} was announced but could not be looked at ({type(error).__name__}: {error})"
        raise CatalogUnreachable(msg) from error
    if records != file.record_count:
        msg = (
            f"{file.file_path!r} is announced for table {name!r} with {file.record_count} records but has {records}: "
            "another writer than the sink announced it. Check who may write to the control topic"
        )
        raise AnnouncementVoid(msg)
