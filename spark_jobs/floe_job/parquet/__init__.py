"""Arrow rows to Parquet files, as Iceberg wants them."""

from floe_job.parquet.budget import WriteBudget
from floe_job.parquet.writer import TableWriter

__all__ = ["TableWriter", "WriteBudget"]
