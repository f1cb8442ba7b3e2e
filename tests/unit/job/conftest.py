"""What the job's unit tests share."""

from tests.support.parquet_tables import new_table

__all__ = ["new_table"]
