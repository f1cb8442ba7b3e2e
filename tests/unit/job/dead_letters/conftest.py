"""Tables to write files for."""

from tests.support.parquet_tables import new_table

__all__ = ["new_table"]
