"""Where the rows of one table go in a task: to files at once, or to the task that writes their partition."""

from typing import Protocol

import pyarrow as pa

from floe.control.announcement import SpecFiles


class RowSink(Protocol):
    """Takes rows in the Arrow schema of the table's schema."""

    def write(self, rows: pa.Table) -> None:
        """Take rows. Raises WriteFailed."""

    def close(self) -> tuple[SpecFiles | None, int]:
        """Finish; return the files that were written here, with their rows. Raises WriteFailed."""

    def abort(self) -> None:
        """Drop what is not closed yet."""
