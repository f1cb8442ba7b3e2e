"""A lake for each test, and slices written for it."""

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from floe.tables import retry
from tests.support.tables.lake import Lake
from tests.support.tables.old_snapshots import AgingLake
from tests.support.tables.slices import Written, write_slice


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look again at once."""
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.001)
    monkeypatch.setattr(retry, "MAX_WAIT", 0.002)


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    """Give an empty lake in a folder of its own."""
    (tmp_path / "warehouse").mkdir()
    made = Lake(tmp_path)
    yield made
    made.close()


@pytest.fixture
def aging(lake: Lake) -> Iterator[AgingLake]:
    """Give the same lake as one that ages."""
    with closing(AgingLake(lake.folder)) as made:
        yield made


@pytest.fixture
def write(lake: Lake) -> Callable[..., Written]:
    """Plan ranges (partition, start, end) and write what the table lacks of them."""
    return partial(write_slice, lake)
