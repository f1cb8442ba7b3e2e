"""Replacing replays: connectors whose rows tell where they came from."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow

from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.records import orders

META: dict[str, Any] = {
    "transforms": "meta",
    "transforms.meta.type": "org.apache.iceberg.connect.transforms.KafkaMetadataTransform",
    "transforms.meta.field_name": "kafka",
}
NESTED: dict[str, Any] = {**META, "transforms.meta.nested": "true"}
REPLACE: dict[str, Any] = {"overlap": "replace"}


def eaten(pipeline: MakePipeline, **keys: Any) -> Pipeline:
    """A connector that has read 100 records of each of two partitions, in two runs."""
    one = pipeline(2, **{**META, **keys})
    for start in (0, 50):
        for partition in range(2):
            one.produce(orders(partition * 100 + start, partition * 100 + start + 50), partition=partition)
        one.run()
    return one


def append_foreign(one: Pipeline, **origin: object) -> None:
    table = one.table()
    row = {"id": 999, "kafka_topic": "elsewhere", "kafka_partition": 0, "kafka_offset": 15, **origin}
    table.append(pa.Table.from_pylist([row], schema=schema_to_pyarrow(table.schema())))


def kinds(one: Pipeline) -> list[str]:
    return sorted(one.table("letters.all").scan("offset = 2").to_arrow()["kind"].to_pylist())
