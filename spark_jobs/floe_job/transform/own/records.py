"""Runs a transform of the user on the records of a batch: those of each schema together, and those of JSON."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from floe.config.transforms.python_class import PREFIX, PythonClass, SourceProblem
from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.json.parse import parse_value
from floe_job.convert.typed.base import SchemalessPart, TypedPart
from floe_job.convert.typed.python_values import python_values
from floe_job.convert.typed.whole_values import TypedColumns, TypedValues, batch_of
from floe_job.exceptions import Malformed, OwnTransformFailed, clip
from floe_job.source.record_batch import ParsedValues
from floe_job.transform.batch import Mask, ParsedBatch
from floe_job.transform.own.answer import OwnAnswer, WrongAnswer, checked
from floe_job.transform.own.batch import HEADERS, TIMESTAMP, Batch, json_line, schema_of

Rows = np.ndarray[Any, np.dtype[np.int64]]
MAX_RAISED = 10_000
"""Records of a batch for which the class may raise an error: each costs a few calls of it."""

MAX_KNOWN = 1000
"""Schemas whose change is kept."""


@dataclass
class PythonRecords:
    """Applies a class of the user: a ``RecordTransform``. The class is imported once there are records."""

    options: PythonClass
    _apply: Callable[[Batch], Any] | None = None
    _schemas: dict[tuple[int, pa.DataType], tuple[ConnectSchema, ConnectSchema]] = field(default_factory=dict)

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Return what the class makes of the records; those for which it raises an error are refused.

        Raises OwnTransformFailed for an error that is not that of a record, and for more than ``MAX_RAISED`` of a batch.
        """
        batch, texts = _written(replace(batch, values=_columns(batch.values)))
        if not len(batch):
            return batch
        found = _Outcome(batch)
        for part in batch.values.parts if isinstance(batch.values, TypedColumns) else ():
            self._typed(batch, part, found)
        rest = np.flatnonzero(~found.is_done)
        if len(rest):
            self._plain(batch, rest, [texts[row] for row in rest.tolist()], found)
        return found.applied()

    def _typed(self, batch: ParsedBatch, part: TypedPart, found: _Outcome) -> None:
        given, first = _given(batch, part.places, part.column), len(found.parts)
        for some, answer in self._answers(given, part.places, found):
            own = (
                part
                if len(some) == len(part.places)
                else TypedPart(part.schema, part.places[some], part.column.take(pa.array(some)))
            )
            self._note_typed(own, answer, found)
        found.parts[first:] = _merged(found.parts[first:])

    def _note_typed(self, part: TypedPart, answer: OwnAnswer, found: _Outcome) -> None:
        if answer.is_same_value:
            found.parts.append(part)
            return
        schema = self._schema(answer.value.type, part.schema)
        try:
            column = answer.value if answer.value.type == arrow_type(schema) else answer.value.cast(arrow_type(schema))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            self._refuse(f"returned values that cannot be cast: {str(error)[:200]}")
        present = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
        if len(present):
            found.parts.append(TypedPart(schema, part.places[present], column.take(pa.array(present))))

    def _plain(self, batch: ParsedBatch, rows: Rows, texts: Sequence[str | None], found: _Outcome) -> None:
        given = _given(batch, rows, pa.array(texts, pa.string()))
        values: Sequence[Any] = batch.values
        made = [values[row] for row in rows.tolist()]
        for some, answer in self._answers(given, rows, found):
            if not answer.is_same_value:
                for place, text in zip(some.tolist(), answer.value.to_pylist(), strict=True):
                    if text != texts[place]:
                        made[place] = self._parsed(text)
        found.plain = rows, made

    def _answers(self, given: Batch, rows: Rows, found: _Outcome) -> Iterator[tuple[Rows, OwnAnswer]]:
        """Yield what the class returns, and for which of the rows; records for which it raises an error are refused.

        Where it raises one, each half of the records is tried alone, down to the records that it raises it for.
        """
        if self._apply is None:
            self._apply = apply_of(self.options)
        waiting = [np.arange(len(given))]
        while waiting:
            some = waiting.pop()
            part = given if len(some) == len(given) else given.taken(pa.array(some))
            try:
                returned = self._apply(part)
            except (OSError, MemoryError) as error:  # of the worker, or of what the class talks to
                raise failure_of(self.options, error) from error
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # the user's code may raise anything: a panic of Rust's is no Exception
                if len(some) > 1:
                    middle = len(some) // 2
                    waiting += [some[middle:], some[:middle]]
                    continue
                found.refuse(int(rows[some[0]]), raised(self.options, error))
                if found.raised > MAX_RAISED:
                    raise failure_of(self.options, error) from error
                continue
            try:
                answer = checked(part, returned)
            except WrongAnswer as error:
                self._refuse(str(error))
            found.note(rows[some], answer)
            yield some, answer

    def _parsed(self, text: str | None) -> Any:
        if text is None:
            return None
        try:
            return parse_value(text.encode())
        except Malformed as error:
            self._refuse(f"returned the value {text[:60]!r}, which is {error}")

    def _schema(self, kind: pa.DataType, known: ConnectSchema) -> ConnectSchema:
        place = id(known), kind
        if place not in self._schemas:
            if len(self._schemas) >= MAX_KNOWN:
                self._schemas.clear()
            try:
                self._schemas[place] = schema_of(kind, known), known  # kept, so that no other gets its address
            except ValueError as error:
                self._refuse(f"returned values of another schema: {error}")
        return self._schemas[place][0]

    def _refuse(self, what: str) -> NoReturn:
        msg = f"{named(self.options)} {what}. {ADVICE}"
        raise OwnTransformFailed(msg)


def _merged(parts: Sequence[TypedPart]) -> list[TypedPart]:
    """Join the pieces of one part that have one schema: each costs what follows the same, however few records it has."""
    by_schema: dict[tuple[int, pa.DataType], list[TypedPart]] = {}
    for part in parts:
        by_schema.setdefault((id(part.schema), part.column.type), []).append(part)
    return [
        pieces[0]
        if len(pieces) == 1
        else TypedPart(
            pieces[0].schema,
            np.concatenate([one.places for one in pieces]),
            pa.concat_arrays([one.column for one in pieces]),
        )
        for pieces in by_schema.values()
    ]


class _Outcome:
    """What was returned for all parts of a batch, put together."""

    def __init__(self, batch: ParsedBatch) -> None:
        self._batch = batch
        self.is_done = np.zeros(len(batch), np.bool_)
        self.parts: list[TypedPart] = []
        self.plain: tuple[Rows, list[Any]] | None = None
        self.raised = 0
        self._kept = np.ones(len(batch), np.bool_)
        self._refused: dict[int, str] = {}
        self._changed: dict[str, list[tuple[Rows, list[Any]]]] = {}

    def note(self, rows: Rows, answer: OwnAnswer) -> None:
        """Note what was returned for some rows, but their values."""
        self.is_done[rows] = True
        self._kept[rows] = answer.kept.to_numpy(zero_copy_only=False)
        self._refused |= {int(rows[row]): reason for row, reason in answer.refused.items()}
        for name, column in answer.changed.items():
            self._changed.setdefault(name, []).append((rows, _objects(name, column)))

    def refuse(self, row: int, reason: str) -> None:
        """Note that the class raised an error for a row."""
        self.is_done[row] = True
        self.raised += 1
        self._refused[row] = reason

    def applied(self) -> ParsedBatch:
        """Return the batch as the class left it."""
        batch = self._batch
        columns: dict[str, Any] = {
            f"{name}s" if name != "headers" else name: self._column(name) for name in self._changed
        }
        if "keys" in columns:
            columns["other_keys"] = self._rows_with("key")
        made = batch.changed(values=self._values(), **columns)
        kept = self._kept.copy()
        kept[list(self._refused)] = True
        landing = np.cumsum(kept) - 1
        return made.filter(kept.tolist()).reject({int(landing[row]): why for row, why in self._refused.items()})

    def _column(self, name: str) -> list[Any]:
        column = list(_READ[name](self._batch))
        for rows, entries in self._changed[name]:
            for row, entry in zip(rows.tolist(), entries, strict=True):
                column[row] = entry
        return column

    def _rows_with(self, name: str) -> Mask:
        """Return the rows for which a column was returned."""
        found = np.zeros(len(self._batch), np.bool_)
        found[np.concatenate([rows for rows, _ in self._changed[name]])] = True
        return found

    def _values(self) -> Any:
        if not isinstance(self._batch.values, TypedColumns):
            return ParsedValues(self.plain[1] if self.plain is not None else [])
        schemaless = None
        if self.plain is not None:
            pairs = zip(self.plain[0].tolist(), self.plain[1], strict=True)
            left = [pair for pair in pairs if pair[1] is not None]
            if left:
                places, values = zip(*left, strict=True)
                schemaless = SchemalessPart(np.array(places, np.int64), ParsedValues(values))
        return TypedColumns(len(self._batch), self.parts, schemaless)


_READ = {
    "topic": ParsedBatch.read_topics,
    "timestamp": ParsedBatch.read_timestamps,
    "key": ParsedBatch.key_bytes,
    "headers": ParsedBatch.read_headers,
}


def _objects(name: str, column: pa.Array) -> list[Any]:
    if name == "timestamp":
        return list(column.cast(pa.int64()).to_pylist())
    if name == "headers":
        return [
            None if entries is None else [(entry["key"], entry["value"]) for entry in entries]
            for entries in column.to_pylist()
        ]
    return list(column.to_pylist())


def _given(batch: ParsedBatch, rows: Rows, value: pa.Array) -> Batch:
    """Return some rows of the batch as the user gets them."""

    def some(column: Sequence[Any]) -> list[Any]:
        return [column[row] for row in rows.tolist()]

    count = len(rows)
    headers = [
        None if found is None else [{"key": name, "value": of} for name, of in found]
        for found in some(batch.read_headers())
    ]
    return Batch(
        pa.array(some(batch.read_topics()), pa.string()),
        pa.array([batch.partition] * count, pa.int32()),
        pa.array(some(batch.offsets), pa.int64()),
        pa.array(some(batch.read_timestamps()), pa.int64()).cast(TIMESTAMP),
        pa.array(some(batch.key_bytes()), pa.binary()),
        pa.array(headers, HEADERS),
        value,
        pa.array([True] * count, pa.bool_()),
    )


def _written(batch: ParsedBatch) -> tuple[ParsedBatch, Mapping[int, str | None]]:
    """Return the batch, and the JSON text of each value without a schema; records whose value has none are refused."""
    refused: dict[int, str] = {}
    texts: dict[int, str | None] = {}
    for row, value in _plain_values(batch):
        try:
            texts[row] = None if value is None else json_line(value)
        except TypeError as error:
            refused[row] = f"the value cannot be passed to a transform in Python: {error}"
    if not refused:
        return batch, texts
    kept = [row for row in range(len(batch)) if row not in refused]
    return batch.reject(refused), {place: texts[row] for place, row in enumerate(kept) if row in texts}


def _columns(values: Any) -> Any:
    """Return values as columns, those with a schema; what is no struct goes the way of JSON."""
    if isinstance(values, TypedValues):
        found = batch_of(values)
        values = TypedColumns(len(values), found.parts, found.schemaless)
    if not isinstance(values, TypedColumns) or all(part.schema.kind is Kind.STRUCT for part in values.parts):
        return values
    structs = [part for part in values.parts if part.schema.kind is Kind.STRUCT]
    others = [part for part in values.parts if part.schema.kind is not Kind.STRUCT]
    pairs = [
        pair
        for part in others
        for pair in zip(part.places.tolist(), python_values(part.column, part.schema), strict=True)
    ]
    if values.schemaless is not None:
        pairs += zip(values.schemaless.places.tolist(), values.schemaless.values, strict=True)
    places, objects = zip(*sorted(pairs, key=lambda pair: pair[0]), strict=True)
    return TypedColumns(len(values), structs, SchemalessPart(np.array(places, np.int64), ParsedValues(objects)))


def _plain_values(batch: ParsedBatch) -> Iterator[tuple[int, Any]]:
    values = batch.values
    if not isinstance(values, TypedColumns):
        yield from enumerate(values)
        return
    if values.schemaless is not None:
        yield from zip(values.schemaless.places.tolist(), values.schemaless.values, strict=True)
    yield from ((row, None) for row in np.flatnonzero(~values.present).tolist())


# The class of the user, as a worker imports it: the code of the plan, and no other.


_MAX_ERROR = 300
_imported: dict[str, str] = {}
"""By module the hash of the code when this process imported it."""


def apply_of(options: PythonClass) -> Callable[[Batch], Any]:
    """Import the class, make the transform, and return what it applies. Raises OwnTransformFailed."""
    try:
        present = options.present()
    except SourceProblem as error:
        _fail(options, f"is not on this worker: {error}")
    if (present.version, present.sha256) != (options.version, options.sha256):
        _fail(
            options,
            f"is another one on this worker, with version {present.version} and hash {present.sha256[:12]}, than the plan's "
            f"{options.version} and {options.sha256[:12]}: remove it from the workers' own path, or trigger a new run",
        )
    _forget_other_code(options)
    try:
        module = importlib.import_module(options.module)
        _imported[options.module] = options.sha256
        apply: Callable[[Batch], Any] = getattr(module, options.class_name)(dict(options.keys)).apply
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the user's code may raise anything: a panic of Rust's is no Exception
        raise failure_of(options, error) from error
    return apply


def failure_of(options: PythonClass, error: BaseException) -> OwnTransformFailed:
    """Return the error of a run in which the class raised another one."""
    return OwnTransformFailed(f"{raised(options, error)}. {ADVICE}")


def raised(options: PythonClass, error: BaseException) -> str:
    """Return what the class raised, and where."""
    last = next(iter(reversed(traceback.extract_tb(error.__traceback__))), None)
    where = "" if last is None else f" ({last.filename.rpartition('/')[2]}, line {last.lineno})"
    line = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1:]
    text = clip(line[0] if line else type(error).__name__, _MAX_ERROR)
    return f"{named(options)} raised {text}{where}"


def named(options: PythonClass) -> str:
    """Return a transform as errors name it."""
    return f"transforms.{options.alias} ({PREFIX}{options.path})"


ADVICE = "Nothing was announced. Correct the class, raise its version if rows become others, and trigger a new run"


def _fail(options: PythonClass, what: str) -> NoReturn:
    msg = f"{named(options)} {what}. Nothing was announced"
    raise OwnTransformFailed(msg)


def _forget_other_code(options: PythonClass) -> None:
    """Have the module imported again where this process imported other code before."""
    if _imported.get(options.module, options.sha256) == options.sha256:
        return
    package = options.entry.removesuffix(".*")
    for name in [name for name in sys.modules if name in (package, options.module) or name.startswith(f"{package}.")]:
        del sys.modules[name]
    importlib.invalidate_caches()
