"""How long a table says that its snapshots are kept."""

import logging

import pytest
from pyiceberg.table.refs import SnapshotRef, SnapshotRefType

from floe.config.sections.table_properties import SHIPPED_RETENTION
from floe.tables.expiry import Retention

DAY = 86_400_000


def branch(**own: int) -> SnapshotRef:
    return SnapshotRef(snapshot_id=1, snapshot_ref_type=SnapshotRefType.BRANCH, **own)


def retention(**properties: str) -> Retention | None:
    named = {name.replace("__", ".").replace("_", "-"): value for name, value in properties.items()}
    return Retention.of("rpc.pizzas", named)


@pytest.mark.parametrize("properties", [{}, {"owner": "me"}, {"history__expire__max_ref_age_ms": "1"}])
def test_a_table_that_says_nothing_of_snapshots_is_left_alone(properties: dict[str, str]) -> None:
    assert retention(**properties) is None


def test_an_age_comes_with_icebergs_default_of_one_snapshot() -> None:
    assert retention(history__expire__max_snapshot_age_ms="7") == Retention(7, 1, None, None)


def test_count_to_keep_comes_with_iceberg_default_of_five_days() -> None:
    assert retention(history__expire__min_snapshots_to_keep="3") == Retention(5 * DAY, 3, None, None)


def test_a_count_alone_says_nothing_of_ages() -> None:
    assert retention(floe__expire__max_snapshots="9") == Retention(None, 1, 9, None)


def test_a_count_of_zero_is_none() -> None:
    assert retention(floe__expire__max_snapshots="0") == Retention(None, 1, None, None)


@pytest.mark.parametrize("gc", ["false", "False", "no", "?"])
def test_where_files_may_not_be_removed_nothing_expires(gc: str) -> None:
    assert retention(history__expire__max_snapshot_age_ms="7", gc__enabled=gc) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("history.expire.max-snapshot-age-ms", "abc"),
        ("history.expire.max-snapshot-age-ms", "-1"),
        ("history.expire.min-snapshots-to-keep", "0"),
        ("history.expire.min-snapshots-to-keep", "1.5"),
        ("history.expire.max-ref-age-ms", "five days"),
        ("floe.expire.max-snapshots", ""),
    ],
)
def test_unparsable_value_expires_nothing_and_is_logged_once(
    name: str, value: str, caplog: pytest.LogCaptureFixture
) -> None:
    properties = {"history.expire.min-snapshots-to-keep": "1", name: value}
    with caplog.at_level(logging.WARNING):
        assert [Retention.of(f"once.{value}", properties) for _ in range(3)] == [None] * 3
    (record,) = caplog.records
    assert name in record.getMessage()
    assert repr(value) in record.getMessage()


def test_branch_setting_precedes_table_and_age_precedes_count() -> None:
    table = Retention(5 * DAY, 1, 100, None)
    assert table.on(branch(min_snapshots_to_keep=7)) == Retention(5 * DAY, 7, 100, None)
    assert table.on(branch(max_snapshot_age_ms=9)) == Retention(9, 1, None, None)
    assert table.on(branch(max_ref_age_ms=9)) == Retention(5 * DAY, 1, 100, 9)
    assert table.on(None) == table


@pytest.mark.parametrize(
    ("kept", "age", "keeps"),
    [(0, 9 * DAY, True), (1, 9 * DAY, True), (2, 9 * DAY, False), (2, DAY, True), (3, DAY, False), (2, -DAY, True)],
)
def test_the_number_to_keep_goes_before_age_and_count(kept: int, age: int, keeps: bool) -> None:
    assert Retention(5 * DAY, 2, 3, None).keeps(kept, age) is keeps


def test_what_is_shipped_can_be_read() -> None:
    assert Retention.of("rpc.pizzas", SHIPPED_RETENTION) == Retention(5 * DAY, 20, 100, None)
