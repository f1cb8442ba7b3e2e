"""Times of tables: after the last one, whatever the clock says."""

import logging
import time

import pytest
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

from floe.catalogs.clock import DAY, MAX_SKEW, age_of, next_time, with_risen_times

NOW = 1_800_000_000_000


@pytest.fixture(autouse=True)
def _at_a_known_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: NOW / 1000)


def metadata(last: int) -> TableMetadata:
    made = new_table_metadata(Schema(), UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER, "file:///t")
    return made.model_copy(update={"last_updated_ms": last})


@pytest.mark.parametrize(
    ("last", "wanted"), [(NOW - 5, NOW), (NOW, NOW + 1), (NOW + 9, NOW + 10), (NOW + 2 * DAY, NOW + 2 * DAY + 1)]
)
def test_the_next_time_is_after_the_last_one(last: int, wanted: int) -> None:
    assert next_time("db.t", metadata(last)) == wanted


@pytest.mark.parametrize(
    ("ahead", "said"), [(MAX_SKEW, ""), (MAX_SKEW + 1, "this host's clock says"), (DAY + 1, "more than a day ahead")]
)
def test_a_last_time_ahead_of_the_clock_is_warned_of(ahead: int, said: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        next_time("db.t", metadata(NOW + ahead))
    assert said in caplog.text
    assert bool(said) == ("db.t" in caplog.text)


def test_metadata_that_was_not_changed_keeps_its_time() -> None:
    same = metadata(NOW + DAY)
    assert with_risen_times(same, same, "db.t") is same


def test_ages_count_by_the_clock() -> None:
    assert age_of(NOW - 7, NOW) == 7
    assert age_of(NOW - 7, NOW + DAY) == 7
    assert age_of(NOW + 7, NOW + DAY) == -7


def test_ages_of_a_time_far_ahead_count_by_the_newest() -> None:
    newest = NOW + 100 * DAY
    assert age_of(newest - 3 * DAY, newest) == 3 * DAY
    assert age_of(NOW - 3 * DAY, newest) == 3 * DAY
