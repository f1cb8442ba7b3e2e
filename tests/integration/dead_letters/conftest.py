"""A connector with dead letters."""

from __future__ import annotations

import pytest

from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.redrive import DEAD_LETTERS, DEAD_LETTERS_KEY, order


@pytest.fixture
def spoilt(pipeline: MakePipeline) -> Pipeline:
    """A connector that has read 20 records, 5 of them with letters."""
    one = pipeline(**{DEAD_LETTERS_KEY: DEAD_LETTERS})
    one.produce([order(0)])
    one.run()
    one.produce([order(i, "many" if 5 <= i < 10 else 1) for i in range(1, 20)])
    one.run()
    assert one.column("id") == [*range(5), *range(10, 20)]
    return one
