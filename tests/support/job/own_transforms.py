"""Transforms as a contributor would add them: one for whole records, one for columns, and a condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema

from floe.config.engine import Engine
from floe.config.properties import Properties
from floe.config.sections.transforms import PredicateSpec, TransformSpec
from floe.config.transforms import registry as config
from floe.config.transforms.options import By, PredicateClass, TransformClass, TransformEngine, TransformOptions
from floe.config.transforms.predicates import PREDICATES
from floe_job.schema.evolution import Path
from floe_job.schema.proposal import Proposal
from floe_job.transform.base import Refusal
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.record_metadata import RecordMetadata

# -- whole records: what the field "do" says ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Steering(TransformOptions):
    """``mark``: what a record gets that goes on."""

    engine: ClassVar = TransformEngine(Engine(f"{__name__}:Steer"))

    mark: str = "seen"


class Steer:
    """Drops, refuses, renames or empties the records that say so, and marks the others."""

    def __init__(self, options: Steering) -> None:
        self._mark = options.mark

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        batch = batch.filter([_does(value) != "drop" for value in batch.values])
        batch = batch.reject({row: "as asked" for row, value in enumerate(batch.values) if _does(value) == "refuse"})
        topics = [
            value["to"] if _does(value) == "rename" else topic
            for topic, value in zip(batch.read_topics(), batch.values, strict=True)
        ]
        return batch.changed(values=[self._marked(value) for value in batch.values], topics=topics)

    def _marked(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return None if _does(value) == "empty" else {**value, "mark": self._mark}


class Forgive(Steer):
    """The same, corrected: it refuses nothing, and drops nothing."""

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        return batch.changed(values=[self._marked(value) for value in batch.values])


def _does(value: Any) -> Any:
    return value.get("do") if isinstance(value, dict) else None


STEER = TransformClass("example.Steer", ("mark",), lambda problems, prefix, keys: Steering(keys.get("mark", "seen")))

# -- columns: one with a text ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Label(TransformOptions):
    """One column of one text; rows with an odd offset are refused if it is ``picky``."""

    engine: ClassVar = TransformEngine(Engine(f"{__name__}:LabelRecords"), columns=Engine(f"{__name__}:LabelColumns"))

    column: str = "label"
    picky: bool = False

    @property
    def is_columnar(self) -> bool:
        return True

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def changes_routing(self, by: By, name: str) -> bool:
        return False

    @property
    def renames_topic(self) -> bool:
        return False


class LabelRecords:
    """The same, where other transforms come behind."""

    def __init__(self, options: Label) -> None:
        self._column = options.column

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        return batch.changed(values=[v if v is None else {**v, self._column: "x"} for v in batch.values])


class LabelColumns:
    """Adds the columns to rows."""

    with_keys = with_headers = False

    def __init__(self, schema: Schema | None, transforms: Sequence[Label], *, fold: bool = False) -> None:
        self._transforms = transforms
        self._schema = schema
        self.injected = frozenset(one.column for one in transforms)
        fields = () if schema is None else schema.fields
        self.record_schema = None if schema is None else Schema(*(f for f in fields if f.name not in self.injected))

    @property
    def full_names(self) -> frozenset[str]:
        return self.injected

    def needs(self) -> dict[Path, Proposal]:
        there = set() if self._schema is None else {field.name for field in self._schema.fields}
        return {(name,): "string" for name in sorted(self.injected - there)}

    def fill(self, rows: pa.Table, metadata: RecordMetadata) -> tuple[pa.Table, list[Refusal]]:
        assert self._schema is not None
        refused = [
            row for row, offset in enumerate(metadata.offsets) if any(o.picky for o in self._transforms) and offset % 2
        ]
        rows = rows.take([row for row in range(rows.num_rows) if row not in refused]) if refused else rows
        wanted = schema_to_pyarrow(self._schema)
        arrays = [pa.array(["x"] * rows.num_rows, f.type) if f.name in self.injected else rows[f.name] for f in wanted]
        return pa.Table.from_arrays(arrays, schema=wanted), [(row, "Odd", "an odd offset") for row in refused]


LABEL = TransformClass("example.Label", ("column",), lambda problems, prefix, keys: Label(keys.get("column", "label")))

# -- a condition -------------------------------------------------------------------------------------------------------


class HasField:
    """Holds for records with a field."""

    def __init__(self, spec: PredicateSpec) -> None:
        self._name = spec.options["name"]

    def test(self, batch: ParsedBatch) -> Sequence[bool]:
        return [isinstance(value, dict) and self._name in value for value in batch.values]


HAS_FIELD = PredicateClass(
    "example.HasField", ("name",), lambda problems, prefix, keys: None, Engine(f"{__name__}:HasField")
)


def has_field(name: str) -> PredicateSpec:
    return PredicateSpec("p", "example.HasField", Properties({"name": name}))


# -- the lines in the registries ---------------------------------------------------------------------------------------


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add all of them, each by one line in its registry."""
    monkeypatch.setitem(config.TRANSFORMS, STEER.name, STEER)
    monkeypatch.setitem(config.TRANSFORMS, LABEL.name, LABEL)
    monkeypatch.setitem(PREDICATES, HAS_FIELD.name, HAS_FIELD)


def steer(alias: str = "steer", mark: str = "seen", **more: Any) -> TransformSpec:
    return TransformSpec(alias, STEER.name, Steering(mark), **more)


def label(column: str = "label", **options: Any) -> TransformSpec:
    return TransformSpec("label", LABEL.name, Label(column, **options))
