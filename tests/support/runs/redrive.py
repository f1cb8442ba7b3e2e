"""Dead letters that are read again: the connector, the records, and what became of the dead letters."""

from __future__ import annotations

from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from floe.control.announcement import Announcement
from floe.model.plan import Plan
from tests.support.runs.pipeline import MakePipeline, Pipeline

DEAD_LETTERS = "db.letters"
DEAD_LETTERS_KEY = "floe.deadletter.table"
REDRIVE: dict[str, Any] = {"dead_letters": True}


def order(offset: int, amount: object = 1) -> dict[str, object]:
    return {"id": offset, "amount": amount}


def connector_with_dead_letters(pipeline: MakePipeline) -> Pipeline:
    """Make a connector that has read 20 records, 5 of them with dead letters."""
    one = pipeline(**{DEAD_LETTERS_KEY: DEAD_LETTERS})
    one.produce([order(0)])
    one.run()
    one.produce([order(i, "many" if 5 <= i < 10 else 1) for i in range(1, 20)])
    one.run()
    assert one.column("id") == [*range(5), *range(10, 20)]
    return one


def marks(one: Pipeline) -> list[tuple[str, int, str | None]]:
    """Return kind, offset and table of the rows of the dead-letter table."""
    rows = one.table(DEAD_LETTERS).scan().to_arrow().to_pylist()
    return sorted(((row["kind"], row["offset"], row["table"]) for row in rows), key=str)


def states(one: Pipeline) -> dict[str, list[int]]:
    return {kind: sorted(o for k, o, _ in marks(one) if k == kind) for kind in ("dead", "resolved")}


def announced(one: Pipeline, plan: Plan) -> Announcement:
    (slice_,) = plan.slices
    return one.committer(plan).announcements([plan.slice_id(slice_)])[plan.slice_id(slice_)]


def schema_of_text() -> Schema:
    return Schema(
        NestedField(1, "id", LongType(), required=False), NestedField(2, "amount", StringType(), required=False)
    )
