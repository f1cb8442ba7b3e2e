"""What decoding a batch gives."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from floe_job.contract.rejected import Rejected


@dataclass(frozen=True)
class Decoded:
    """A decoded batch.

    ``table`` holds the accepted rows in input order, in the Arrow schema of the Iceberg schema with its field ids; None
    for a table that does not exist yet, or lacks something. ``fast_rows`` of the ``records`` took the columnar path.
    """

    table: pa.Table | None
    rejected: tuple[Rejected, ...]
    fast_rows: int
    records: int

    @property
    def fast(self) -> bool:
        """Say whether every record took the columnar path."""
        return self.fast_rows == self.records
