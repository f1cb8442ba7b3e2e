"""A connector that has read what is replayed."""

from __future__ import annotations

import pytest

from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.records import orders


@pytest.fixture
def eaten(pipeline: MakePipeline) -> Pipeline:
    """A connector that has read 300 records of three partitions."""
    pizzas = pipeline(partitions=3)
    for partition in range(3):
        pizzas.produce(orders(partition * 100, partition * 100 + 100), partition=partition)
    pizzas.run()
    return pizzas
