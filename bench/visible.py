"""What a reader of the tables sees, read without load on the catalog's server, which serves the measured system."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit


@dataclass
class Visible:
    """Reads the server's database, and a table's metadata file once for each version."""

    database: Path
    _counts: dict[str, int] = field(default_factory=dict, init=False)

    def rows(self, names: Sequence[str]) -> int:
        """Count the rows of tables, by the summary of the snapshot that each has now."""
        query = "SELECT table_namespace || '.' || table_name, metadata_location FROM iceberg_tables"
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=10)) as connection:
            found = dict(connection.execute(query))
        return sum(self._count(found[name]) for name in names)

    def _count(self, location: str) -> int:
        if location not in self._counts:
            metadata = json.loads(Path(urlsplit(location).path).read_text())
            summaries = {one["snapshot-id"]: one["summary"] for one in metadata.get("snapshots", ())}
            summary = summaries.get(metadata.get("current-snapshot-id"), {})
            self._counts[location] = int(summary.get("total-records", 0))
        return self._counts[location]
