"""Values that a transform leaves nothing of, though they had a schema: tombstones to all transforms behind it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ConnectSchema, Kind, struct
from floe_job.convert.base import Parsed
from floe_job.convert.typed.base import TypedPart
from floe_job.convert.typed.whole_values import TypedColumns, TypedValues
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.chain import Chain
from tests.support.job.transforms import transform
from tests.support.kafka.messages import PIECE, records

ROW = struct({"a": ConnectSchema(Kind.STRING, True)}, optional=True)
EVENT = struct({"after": ROW})
EVENTS = [{"after": {"a": "x"}}, {"after": None}]


def batch(*, as_objects: bool) -> ParsedBatch:
    part = TypedPart(EVENT, np.arange(len(EVENTS)), pa.array(EVENTS, arrow_type(EVENT)))
    values = TypedColumns(len(EVENTS), [part])
    return ParsedBatch.of(records(PIECE, [b"{}"] * len(EVENTS)), Parsed(values.objects() if as_objects else values, ()))


@pytest.mark.parametrize("as_objects", [False, True])
@pytest.mark.parametrize(
    ("kind", "keys", "is_refused"),
    [
        ("MaskField$Value", {"fields": "a"}, True),
        ("HeaderFrom$Value", {"fields": "a", "headers": "h", "operation": "copy"}, True),
        ("ValueToKey", {"fields": "a"}, True),
        ("ReplaceField$Value", {"exclude": "b"}, False),
        ("Cast$Value", {"spec": "a:string"}, False),
        ("ExtractNewRecordState", {}, False),
    ],
)
def test_nothing_left_of_a_value_is_a_tombstone(
    kind: str, keys: dict[str, str], is_refused: bool, as_objects: bool
) -> None:
    chain = Chain([transform("ExtractField$Value", field="after"), transform(kind, **keys)])
    done = chain.apply(batch(as_objects=as_objects))
    assert [one.index for one in done.rejected] == ([1] if is_refused else [])
    assert set(done.values[0]) == {"a"}
    assert done.tombstones + done.filtered + len(done.rejected) == 1


@pytest.mark.parametrize("as_objects", [False, True])
def test_nothing_left_of_a_value_has_no_schema(as_objects: bool) -> None:
    (step,) = Chain([transform("ExtractField$Value", field="after")])._steps
    values = step.apply(batch(as_objects=as_objects)).with_objects().values
    assert isinstance(values, TypedValues)
    assert values.schemas[1] is None


def test_metadata_beside_a_null_field_leaves_it_null() -> None:
    whole = struct({"in": struct({"a": ConnectSchema(Kind.STRING, True, default="d")}, optional=True)})
    values = TypedColumns(1, [TypedPart(whole, np.arange(1), pa.array([{"in": None}], arrow_type(whole)))])
    given = ParsedBatch.of(records(PIECE, [b"{}"]), Parsed(values, ()))
    chain = Chain(
        [
            transform("Flatten$Value"),
            transform("org.apache.iceberg.connect.transforms.KafkaMetadataTransform"),
            transform("HoistField$Value", field="x"),
        ]
    )
    (row,) = chain.apply(given.with_objects()).values
    assert row["x"]["in.a"] is None
