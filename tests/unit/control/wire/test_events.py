"""The events as values."""

from __future__ import annotations

import subprocess
import sys

from floe.control.wire.events import PartitionFieldType


def test_a_type_is_the_same_with_and_without_blanks() -> None:
    assert PartitionFieldType(1000, "p", "decimal(9, 2)") == PartitionFieldType(1000, "p", "decimal(9,2)")


def test_events_import_without_their_libraries() -> None:
    code = (
        "import sys, floe.control.wire.events; sys.exit(bool({'fastavro', 'pyiceberg', 'pyarrow'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"], check=True)
