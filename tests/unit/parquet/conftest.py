"""Tables to write files for."""

from tests.support.tables.any_table import any_table
from tests.support.tables.parquet_tables import new_table

__all__ = ["any_table", "new_table"]
