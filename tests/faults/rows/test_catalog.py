"""Rows 9 to 12: a REST catalog whose answers are lost, wrong or late. The outcome of a commit is looked up, not guessed."""

from __future__ import annotations

import uuid

import pytest

from stack.services.rest_catalog import RestCatalog
from tests.faults.harness.run import Run
from tests.faults.harness.sink import MakeSink, Sink
from tests.support.tables import catalog_proxy as fault
from tests.support.tables.catalog_proxy import CatalogProxy, Fault


@pytest.fixture
def rest_sink(make_sink: MakeSink, rest_catalog: RestCatalog, catalog_proxy: CatalogProxy) -> Sink:
    """A sink that reaches its catalog by the catalog_proxy."""
    keys = {
        "iceberg.catalog.type": "rest",
        "iceberg.catalog.uri": catalog_proxy.uri,
        "iceberg.catalog.warehouse": rest_catalog.warehouse,
    }
    return make_sink(tables=[f"db.t{uuid.uuid4().hex[:8]}"], catalog_uri=rest_catalog.uri, **keys)


def announced(sink: Sink) -> Run:
    """Return a run whose files are announced, on a table that has a snapshot already."""
    sink.producer.produce(200)
    sink.run()
    return sink.announced()


def assert_landed_once(sink: Sink, catalog_proxy: CatalogProxy, applied: int) -> None:
    """The second commit is there once; ``applied``: times that the catalog itself said yes, the first one included."""
    report = sink.assert_exactly_once()
    assert sink.snapshots() == 2, report
    assert catalog_proxy.statuses.count(200) == applied, catalog_proxy.statuses


@pytest.mark.parametrize(
    "wrong", [fault.answer_lost(), *(fault.answer_rewritten(status) for status in (409, 500, 502, 504))], ids=str
)
def test_row_09_commit_whose_answer_is_lost_is_found(
    rest_sink: Sink, catalog_proxy: CatalogProxy, wrong: Fault
) -> None:
    run = announced(rest_sink)
    catalog_proxy.put(wrong)
    outcome = run.step("commit")
    assert outcome.facts["landed_before"] == {rest_sink.tables[0]: True}, outcome
    assert_landed_once(rest_sink, catalog_proxy, applied=2)


@pytest.mark.parametrize("status", [500, 502, 504])
def test_row_10_commit_not_made_is_retried_with_same_commit_id(
    rest_sink: Sink, catalog_proxy: CatalogProxy, status: int
) -> None:
    run = announced(rest_sink)
    catalog_proxy.put(fault.refused(status), fault.refused(status))
    outcome = run.step("commit")
    assert outcome.facts["landed_before"] == {rest_sink.tables[0]: False}, outcome
    assert_landed_once(rest_sink, catalog_proxy, applied=2)


@pytest.mark.parametrize(
    ("wrong", "committed"),
    [
        (fault.refused(503), False),
        (fault.answer_rewritten(503), True),
        (fault.reset(), False),
        (fault.delayed(3), False),
    ],
    ids=str,
)
def test_row_11_failed_commit_is_looked_up_and_deletes_no_file(
    rest_sink: Sink, catalog_proxy: CatalogProxy, wrong: Fault, committed: bool
) -> None:
    run = announced(rest_sink)
    catalog_proxy.put(wrong)
    outcome = run.step("commit")
    assert outcome.facts["landed_before"] == {rest_sink.tables[0]: committed}, outcome
    assert_landed_once(rest_sink, catalog_proxy, applied=2)


def test_row_11_commit_timed_out_fails_and_next_try_commits(
    make_sink: MakeSink, rest_catalog: RestCatalog, catalog_proxy: CatalogProxy
) -> None:
    keys = {
        "iceberg.catalog.type": "rest",
        "iceberg.catalog.uri": catalog_proxy.uri,
        "iceberg.catalog.warehouse": rest_catalog.warehouse,
        "iceberg.control.commit.timeout-ms": 1_000,
    }
    sink = make_sink(tables=[f"db.t{uuid.uuid4().hex[:8]}"], catalog_uri=rest_catalog.uri, **keys)
    run = announced(sink)
    catalog_proxy.put(*[fault.refused(503)] * 6)
    assert run.step("commit").error == "TableNotCommitted"
    assert sum(sink.positions().values()) == 200
    assert run.persist("commit", tries=10).is_done
    assert_landed_once(sink, catalog_proxy, applied=2)


def test_row_12_commit_delivered_twice_makes_one_snapshot(rest_sink: Sink, catalog_proxy: CatalogProxy) -> None:
    run = announced(rest_sink)
    catalog_proxy.put(fault.sent_twice())
    outcome = run.step("commit")
    assert outcome.is_done, outcome
    assert catalog_proxy.statuses[-2:] == [200, 409]
    assert outcome.facts["landed_before"] == {rest_sink.tables[0]: True}, outcome
    assert_landed_once(rest_sink, catalog_proxy, applied=2)
