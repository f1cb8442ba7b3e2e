"""A sink with dead letters."""

from __future__ import annotations

import pytest

from tests.faults.harness.dead_letters import DEAD_LETTERS, known
from tests.faults.harness.sink import MakeSink, Sink


@pytest.fixture
def lettered(make_sink: MakeSink) -> Sink:
    """A sink of two partitions into one table whose columns are known, and a table of dead letters."""
    return known(make_sink(**{"floe.deadletter.table": DEAD_LETTERS}))
