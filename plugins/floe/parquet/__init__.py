"""Arrow rows to Parquet files, as Iceberg wants them."""

from floe.parquet.budget import WriteBudget
from floe.parquet.table_writer import TableWriter

__all__ = ["TableWriter", "WriteBudget"]
