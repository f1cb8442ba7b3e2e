"""Tables to write files for."""

from tests.support.tables.parquet_tables import new_table

__all__ = ["new_table"]
