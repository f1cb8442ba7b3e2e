"""What tasks log."""

import io
import logging
from collections.abc import Iterator

import pytest


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """The lines of a handler of the root logger, as Airflow's is one."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logging.getLogger().addHandler(handler)
    yield stream
    logging.getLogger().removeHandler(handler)
