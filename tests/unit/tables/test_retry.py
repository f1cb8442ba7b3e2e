"""Attempts: repeated after a conflict and an outage, ended by time, by anything else, and by success."""

from collections.abc import Callable

import pytest
from pyiceberg.exceptions import CommitFailedException

from floe.catalogs.exceptions import CatalogUnreachable
from floe.tables.exceptions import TableNotCommitted, TableRefused
from floe.tables.retry import retry, retry_conflicts


def failing(*errors: Exception) -> Callable[[], int]:
    """Make an attempt that raises each of these once, and then returns how often it was made."""
    left = list(errors)

    def attempt() -> int:
        if left:
            raise left.pop(0)
        return len(errors) + 1

    return attempt


def test_conflicts_and_outages_are_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    errors = [CommitFailedException("the head moved"), CatalogUnreachable("no answer.")]
    assert retry("table 't'", 20, failing(*errors)) == 3
    assert [record.getMessage().rpartition(";")[0] for record in caplog.records] == [
        "table 't': another process committed first (the head moved)",
        "table 't': no answer",
    ]


def test_other_errors_are_not_tried_again() -> None:
    with pytest.raises(TableRefused, match="replaced"):
        retry("table 't'", 20, failing(TableRefused("replaced")))


def test_retries_end_with_the_last_reason() -> None:
    def attempt() -> None:
        raise CatalogUnreachable("no answer.")  # noqa: EM101

    with pytest.raises(TableNotCommitted, match=r"table 't' was not committed within 0 s: no answer\. Nothing is lost"):
        retry("table 't'", 0.05, attempt)


def test_conflicts_are_tried_again_a_number_of_times() -> None:
    conflicts = [CommitFailedException("the head moved")] * 2
    assert retry_conflicts("work", 3, failing(*conflicts)) == 3
    with pytest.raises(CommitFailedException, match="the head moved"):
        retry_conflicts("work", 2, failing(*conflicts))


def test_other_errors_end_attempts_after_conflicts() -> None:
    with pytest.raises(CatalogUnreachable):
        retry_conflicts("work", 3, failing(CommitFailedException("the head moved"), CatalogUnreachable("no answer.")))
