"""Arrow rows to Parquet files, as Iceberg wants them."""

from floe.parquet.budget import WriteBudget
from floe.parquet.file_rewriter import FileRewriter
from floe.parquet.table_writer import TableWriter

__all__ = ["FileRewriter", "TableWriter", "WriteBudget"]
