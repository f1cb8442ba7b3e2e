"""Rows of the sink that no ledger knows of stop whoever would read them again."""

from __future__ import annotations

import pytest

from floe.model.exceptions import PlanRefused
from floe.tables.connector_ledgers import Ledgers, check_no_rows_of_sink
from tests.support.tables.lake import GROUP, OFFSETS, Lake, append_foreign
from tests.support.tables.sink_leftovers import Sink, as_the_sink


def check(lake: Lake, **keys: object) -> None:
    connector = lake.connector(**keys)
    check_no_rows_of_sink(Ledgers(connector), connector)


def test_table_missing_or_never_written_by_sink_is_accepted(lake: Lake) -> None:
    check(lake)
    lake.create()
    append_foreign(lake, 1)
    check(lake)


def test_a_table_of_the_sink_is_refused_until_it_is_taken_over(lake: Lake) -> None:
    lake.create()
    as_the_sink(lake)
    with pytest.raises(PlanRefused, match=rf"'rpc\.pizzas' has rows that .* group '{GROUP}' wrote.*`takeover`"):
        check(lake)
    Sink(lake).land()
    check(lake)


def test_a_sink_that_ran_after_floe_is_refused_again(lake: Lake) -> None:
    lake.create()
    Sink(lake).land()
    as_the_sink(lake)
    append_foreign(lake, 1)
    with pytest.raises(PlanRefused, match="no ledger tells which"):
        check(lake)


def test_the_sink_of_another_connector_does_not_matter(lake: Lake) -> None:
    assert OFFSETS.endswith(GROUP)
    lake.create()
    as_the_sink(lake)
    check(lake, **{"iceberg.connect.group-id": "connect-other"})
