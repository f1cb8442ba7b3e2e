"""What floe's transforms make of records, as the Java program says it.

The one place that knows how floe's chain is asked, and what it returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from floe.config.converters.base import Role
from floe.config.converters.registry import read_converter
from floe.config.keys.reader import Settings
from floe.config.sections.transforms import TransformSpec
from floe.model.ranges import OffsetRange
from floe_job.connect.schema import ConnectSchema
from floe_job.convert.base import Converters
from floe_job.convert.registry import converters_of
from floe_job.convert.typed.parsed import arrow_column
from floe_job.source.range_part import RangePart
from floe_job.source.record_batch import Records
from floe_job.transform.batch import ParsedBatch
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
    chain, converters = WholeChain(specs), _converters(setup.value, "value")
    places: dict[tuple[str, int], list[int]] = {}
    for place, one in enumerate(given):
        places.setdefault((one.topic, one.partition), []).append(place)
    found: dict[int, Outcome] = {}
    for of in places.values():
        for batch, own in _batches(chain, converters, [given[place] for place in of]):
            found |= {of[place]: outcome for place, outcome in _outcomes(batch, own)}
    return [found[place] for place in range(len(given))]


def _batches(
    chain: Chain, converters: Converters, given: Sequence[Given]
) -> Iterator[tuple[ParsedBatch, Sequence[int]]]:
    """Yield what the chain makes of the records of one partition, and which records each batch was made of."""
    start = 0
    for batch in chain.batches(_records(given), converters):
        yield batch, range(start, start + len(batch.source))
        start += len(batch.source)
    assert start == len(given)


def _outcomes(batch: ParsedBatch, own: Sequence[int]) -> Iterator[tuple[int, Outcome]]:
    gone = set(range(len(own))) - set(batch.places) - {one.index for one in batch.rejected}
    assert len(gone) == batch.filtered
    yield from ((own[place], {"filtered": True}) for place in gone)
    yield from ((own[one.index], {"refused": one.reason, "stage": one.stage}) for one in batch.rejected)
    values = _written(list(batch.values), getattr(batch.values, "schemas", [None] * len(batch)))
    keys = [
        _key(*both) for both in zip(batch.read_keys(), batch.source.messages.select(batch.places).keys(), strict=True)
    ]
    columns = (batch.places, batch.read_topics(), batch.read_timestamps(), keys, values, batch.read_headers())
    for place, topic, timestamp, key, value, headers in zip(*columns, strict=True):
        written = [[name, _hex(one)] for name, one in headers or ()]
        record = {"topic": topic, "timestamp": timestamp, "key": key, "value": value, "headers": written}
        yield own[place], record


def _key(key: Any, own: bytes | None) -> dict[str, Any]:
    return {"bytes": _hex(own)} if key == own else {"tree": tree_of(key)}


def _written(values: Sequence[Any], schemas: Sequence[ConnectSchema | None]) -> list[Any]:
    """Return values as {"schema", "value"} or {"tree"}; a tombstone is a tree of None."""
    found: list[Any] = [
        {"tree": tree_of(value)} if schema is None else None for value, schema in zip(values, schemas, strict=True)
    ]
    places: dict[ConnectSchema, list[int]] = {}
    for place, schema in enumerate(schemas):
        if schema is not None:
            places.setdefault(schema, []).append(place)
    for schema, some in places.items():
        column: pa.Array = arrow_column([values[place] for place in some], schema)
        text = schema_json(schema)
        for place, value in zip(some, column.to_pylist(), strict=True):
            found[place] = {"schema": text, "value": value_json(schema, value)}
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


def _converters(reader: Reader, role: Role) -> Converters:
    keys = {f"{role}.converter.{name}": value for name, value in reader.options.items()}
    settings = Settings({f"{role}.converter": reader.type, **keys})
    spec = read_converter(settings, role)
    assert settings.problems == []
    return converters_of(spec, NO_REGISTRY)


def _hex(value: bytes | None) -> str | None:
    return None if value is None else value.hex()
