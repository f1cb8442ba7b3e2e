"""What the tests of Parquet files share."""

from tests.support.parquet_tables import new_table

__all__ = ["new_table"]
