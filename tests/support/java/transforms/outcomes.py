"""What floe's transforms make of records, as the Java program says it.

The one place that knows how floe's chain is asked, and what it returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from floe.config.converters.base import ConverterSpec, Role
from floe.config.converters.converter_classes import read_converter
from floe.config.keys.reader import Settings
from floe.config.sections.transforms import TransformSpec
from floe.model.offsets import OffsetRange
from floe_job.convert.makers import converters_of
from floe_job.convert.typed.python_values import python_values
from floe_job.convert.typed.whole_values import TypedColumns, TypedValues, batch_of
from floe_job.source.record_batch import RangePart, Records
from floe_job.transform.batch import UNREAD_KEY, ParsedBatch, Readers, key_reader, objects_of, value_reader
from floe_job.transform.chain import Chain, _Step
from tests.support.java.transforms.given import Given
from tests.support.java.transforms.setup import Reader, Setup
from tests.support.java.transforms.trees import tree_of
from tests.support.job.connect_json import schema_json, value_json
from tests.support.job.converters import NO_REGISTRY
from tests.support.kafka.messages import GivenMessages, Message, values_of

Outcome = dict[str, Any]
"""What became of one record: {"refused", "stage"}, {"filtered": True}, or the record.

The record: {"topic", "timestamp", "key", "value", "headers": [[name, hex or None], ...]}. Keys and values are {"schema",
"value"}, or {"tree"} where there is no schema. "key" is {"bytes": hex or None} where no transform changed it.
"""


class WholeChain(Chain):
    """A chain whose transforms see all records: those too that could do with adding columns."""

    def __init__(self, specs: Sequence[TransformSpec]) -> None:
        super().__init__(specs)
        self._steps = [_Step.of(spec) for spec in specs]


def outcomes_of(specs: Sequence[TransformSpec], setup: Setup, given: Sequence[Given]) -> list[Outcome]:
    """Run records through floe's transforms, those of each partition together."""
    chain, readers = WholeChain(specs), _readers(setup)
    places: dict[tuple[str, int], list[int]] = {}
    for place, one in enumerate(given):
        places.setdefault((one.topic, one.partition), []).append(place)
    found: dict[int, Outcome] = {}
    for of in places.values():
        start = 0
        for batch in chain.batches(_records([given[place] for place in of]), readers):
            own = of[start : start + len(batch.source)]
            found |= {own[place]: outcome for place, outcome in _outcomes(batch.with_values())}
            start += len(own)
    assert sorted(found) == list(range(len(given)))
    return [found[place] for place in range(len(given))]


def _outcomes(batch: ParsedBatch) -> Iterator[tuple[int, Outcome]]:
    """Yield what became of each record of a batch, by its place in the source."""
    gone = set(range(len(batch.source))) - set(batch.places) - {one.index for one in batch.rejected}
    assert len(gone) == batch.filtered
    yield from ((place, {"filtered": True}) for place in gone)
    yield from ((one.index, {"refused": one.reason, "stage": one.stage}) for one in batch.rejected)
    own = batch.source.messages.select(batch.places).keys()
    keys: list[Any] = [{"bytes": _hex(key)} for key in own]
    if batch.other_keys is not None:
        read = [row for row, key in enumerate(objects_of(batch.parsed_keys)) if key is not UNREAD_KEY]
        for row, key in zip(read, _written(batch.parsed_keys.select(read)), strict=True):
            keys[row] = key
    columns = (batch.read_topics(), batch.read_timestamps(), keys, _written(batch.values), batch.read_headers())
    for place, topic, timestamp, key, value, headers in zip(batch.places, *columns, strict=True):
        written = [[name, _hex(one)] for name, one in headers or ()]
        yield (
            place,
            {"topic": topic, "timestamp": timestamp, "key": key, "value": value, "headers": written},
        )


def _written(values: Any) -> list[Any]:
    """Return values as {"schema", "value"} or {"tree"}; a tombstone is a tree of None."""
    if not isinstance(values, TypedColumns | TypedValues):
        return [{"tree": tree_of(value)} for value in values]
    typed = batch_of(values)
    found: list[Any] = [{"tree": None}] * len(values)
    for part in typed.parts:
        schema = schema_json(part.schema)
        for place, value in zip(part.places.tolist(), python_values(part.column, part.schema), strict=True):
            found[place] = {"schema": schema, "value": value_json(part.schema, value)}
    if typed.schemaless is not None:
        for place, value in zip(typed.schemaless.places.tolist(), typed.schemaless.values, strict=True):
            found[place] = {"tree": tree_of(value)}
    return found


# -- floe's records ---------------------------------------------------------------------------------------------------


class _TimedMessages(GivenMessages):
    """Messages with times of their own."""

    def __init__(self, given: Sequence[Message], times: Sequence[int | None]) -> None:
        super().__init__(given)
        self._times = times

    def select(self, indices: Sequence[int] | slice) -> _TimedMessages:
        chosen = range(len(self))[indices] if isinstance(indices, slice) else indices
        return _TimedMessages([self._given[i] for i in chosen], [self._times[i] for i in chosen])

    def timestamps(self) -> list[int | None]:
        return list(self._times)


def _records(given: Sequence[Given]) -> Records:
    first, last = given[0], given[-1]
    range_ = OffsetRange(first.topic, "T1", first.partition, first.offset, last.offset + 1)
    messages = [Message(one.offset, one.key, one.headers) for one in given]
    return Records(
        RangePart(range_, range_.start, range_.end),
        [one.offset for one in given],
        values_of([one.value for one in given]),
        _TimedMessages(messages, [one.timestamp for one in given]),
    )


def _readers(setup: Setup) -> Readers:
    values = value_reader(converters_of(_spec(setup.value, "value"), NO_REGISTRY))
    return Readers(values, key_reader(_spec(setup.key, "key"), NO_REGISTRY))


def _spec(reader: Reader, role: Role) -> ConverterSpec:
    keys = {f"{role}.converter.{name}": value for name, value in reader.options.items()}
    settings = Settings({f"{role}.converter": reader.type, **keys})
    spec = read_converter(settings, role)
    assert settings.problems == []
    return spec


def _hex(value: bytes | None) -> str | None:
    return None if value is None else value.hex()
