"""Reading dead letters again: what is refused, and what a dry run reports."""

from __future__ import annotations

from typing import Any

import pytest

from floe.catalogs.client import CatalogClient
from floe.exceptions import FloeError
from floe.model.exceptions import PlanRefused
from floe.planning import dead_letter_replay
from floe.planning.replay_plan import draft_replay
from floe.tables.exceptions import DeadLettersLeft
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.redrive import DEAD_LETTERS, DEAD_LETTERS_KEY, REDRIVE, order, schema_of_text
from tests.support.runs.replays import drafted, drop, replay, trace


def test_redrive_dry_run_counts_dead_letters_and_writes_nothing(pipeline: MakePipeline) -> None:
    one = pipeline(2, **{DEAD_LETTERS_KEY: DEAD_LETTERS})
    for partition in range(2):
        one.produce([order(0)], partition=partition)
    one.run()
    one.produce([order(1, "many"), order(2, "many"), b"no json"], partition=0)
    one.produce([order(1, "many")], partition=1)
    one.run()
    before = trace(one)
    message = draft_replay(one.connector, one.settings, REDRIVE, dry_run=True).to_json()
    assert trace(one) == before
    assert [(t["table"], t["partition"], t["range"], t["letters"]) for t in message["letters"]] == [
        ("db.t", 0, [1, 4], 3),
        ("db.t", 1, [1, 2], 1),
    ]
    restricted = drafted(one, tables=["db.t"], ranges={"0": [2, 3]}, **REDRIVE).dead_letters
    assert [(t.range.partition, t.dead_letters) for t in restricted] == [(0, 1)]


def test_dead_letters_of_removed_table_are_skipped_with_warning(pipeline: MakePipeline) -> None:
    one = pipeline(**{DEAD_LETTERS_KEY: DEAD_LETTERS, "iceberg.tables": "db.a,db.b"})
    one.produce([order(0)])
    one.run()
    one.produce([order(1, "many")])
    one.run()
    less = one.changed(**{"iceberg.tables": "db.a"})
    message = drafted(less, **REDRIVE).dead_letters
    assert [(t.table, t.left_out) for t in message] == [
        ("db.a", None),
        ("db.b", "the connector does not write the table any more"),
    ]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"overlap": "append"}, r"dead_letters and overlap=append.*Leave overlap at skip"),
        ({"dead_letters": "yes"}, r"dead_letters is 'yes': write true or false"),
        ({"ranges": {"0": [0, 99]}}, "ends past the position"),
        ({"tables": ["db.other"]}, "is not configured in this connector"),
    ],
)
def test_what_cannot_be_is_refused_with_the_way(spoilt: Pipeline, params: dict[str, Any], words: str) -> None:
    before = trace(spoilt)
    with pytest.raises(PlanRefused, match=words):
        drafted(spoilt, **{**REDRIVE, **params})
    assert trace(spoilt) == before


def test_without_a_table_of_letters_there_is_nothing_to_drive(spoilt: Pipeline) -> None:
    for keys in ({DEAD_LETTERS_KEY: None}, {"errors.tolerance": "none"}):
        with pytest.raises(PlanRefused, match=r"has no dead-letter table: set floe\.deadletter\.table"):
            drafted(spoilt.changed(**keys), **REDRIVE)


def test_too_many_letters_are_refused_with_a_range_to_begin_with(
    spoilt: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoilt.produce([order(i, "many" if i % 2 else 1) for i in range(20, 40)])
    spoilt.run()
    monkeypatch.setattr(dead_letter_replay, "MAX_SPANS", 3)
    with pytest.raises(PlanRefused, match=r'15 dead letters are open, in 11 spans.*ranges=\{"0": \[null, 24\]\}'):
        drafted(spoilt, **REDRIVE)
    with pytest.raises(DeadLettersLeft):
        replay(spoilt, ranges={"0": [None, 24]}, **REDRIVE)


def test_a_missing_table_that_may_not_be_created_is_refused(spoilt: Pipeline) -> None:
    drop(spoilt)
    strict = spoilt.changed(**{"iceberg.tables.auto-create-enabled": "false"})
    with pytest.raises(FloeError, match=r"table 'db\.t' does not exist"):
        drafted(strict, **REDRIVE)


def test_dead_letters_of_another_connector_are_not_redriven(spoilt: Pipeline, pipeline: MakePipeline) -> None:
    other = pipeline(topic=spoilt.topic, **{DEAD_LETTERS_KEY: DEAD_LETTERS, "iceberg.tables": "db.other"})
    CatalogClient.of(other.connector).create("db.other", schema_of_text())
    other.run()
    assert drafted(other, **REDRIVE).dead_letters == ()
    assert [t.dead_letters for t in drafted(spoilt, **REDRIVE).dead_letters] == [5]
