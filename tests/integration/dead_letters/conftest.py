"""A connector with dead letters."""

from __future__ import annotations

import pytest

from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.redrive import connector_with_dead_letters


@pytest.fixture
def spoilt(pipeline: MakePipeline) -> Pipeline:
    """A connector that has read 20 records, 5 of them with dead letters."""
    return connector_with_dead_letters(pipeline)
