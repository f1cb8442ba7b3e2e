"""The columnar path has the result of the exact path, whatever the records are."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.name_mapping import NameMapping
from pyiceberg.table.update.schema import UpdateSchema

from floe.parquet.layout import FileLayout
from floe_job.convert.base import Decoded
from floe_job.convert.json import template
from floe_job.convert.json.decoder import JsonDecoder
from floe_job.convert.json.framing import NotExact
from floe_job.exceptions import SchemaConflict
from floe_job.schema.proposal import ColumnRules
from tests.support.job.json_batches import batches, hollow_batches, mappings, rules
from tests.support.job.json_records import records


@pytest.fixture(autouse=True, scope="module", params=[0, template.MIN_BYTES], ids=["by skeletons", "parsed"])
def fewest_bytes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Read also small chunks of like records as large ones are read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(template, "MIN_BYTES", request.param)
        yield


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("decoder", "pace"):
        monkeypatch.setattr(f"floe_job.convert.json.{module}.MIN_CHUNK_RECORDS", 1)


class ExactDecoder(JsonDecoder):
    """Refuses the columnar path, so that every record takes the exact one."""

    def decode(self, values: Any) -> Decoded:
        class Never:
            most, columns = 1, 0

            def read(self, values: object) -> pa.StructArray:
                raise NotExact

        self._columnar_reader = Never  # type: ignore[method-assign, assignment]
        self._columnar = Never()  # type: ignore[assignment]
        return super().decode(values)


def bits(value: Any) -> Any:
    """Make NaN equal to itself and 0.0 different from -0.0."""
    if isinstance(value, float):
        return struct.pack(">d", value) if not math.isnan(value) else "NaN"
    if isinstance(value, dict):
        return {name: bits(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [bits(entry) for entry in value]
    return value


def assert_same(
    schema: Schema | None, values: list[bytes], of: ColumnRules, mapping: NameMapping | None = None
) -> tuple[Decoded, JsonDecoder]:
    decoder = JsonDecoder(schema, of, create=schema is None, name_mapping=mapping)
    exact = ExactDecoder(schema, of, create=schema is None, name_mapping=mapping)
    try:
        one = decoder.decode(values)
    except SchemaConflict:
        with pytest.raises(SchemaConflict):
            exact.decode(values)
        reject()
    other = exact.decode(values)
    assert one.rejected == other.rejected
    assert other.fast_rows == 0
    assert list(decoder.needs.columns.items()) == list(exact.needs.columns.items())
    assert list(decoder.needs.promotions.items()) == list(exact.needs.promotions.items())
    assert list(decoder.needs.optional) == list(exact.needs.optional)
    if one.table is None or other.table is None:
        assert one.table is other.table is None
    else:
        one.table.validate(full=True)
        assert one.table.schema.equals(other.table.schema, check_metadata=True)
        assert bits(one.table.to_pylist()) == bits(other.table.to_pylist())
        assert_same_in_files(schema, one.table)
    return one, decoder


def assert_same_in_files(schema: Schema | None, table: pa.Table) -> None:
    """Rows that the two paths have woven together are slices of arrays, which are to be renamed as such."""
    assert schema is not None
    written = FileLayout.of(schema, {}).in_file(table)
    written.validate(full=True)
    assert bits(nameless(written.to_pylist())) == bits(nameless(table.to_pylist()))


def nameless(value: Any) -> Any:
    if isinstance(value, dict):
        return [nameless(entry) for entry in value.values()]
    return [nameless(entry) for entry in value] if isinstance(value, list | tuple) else value


thorough = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], derandomize=False
)


@thorough
@given(st.data(), batches(), rules)
def test_both_paths_give_the_same_rows_rejections_and_needs(
    data: st.DataObject, batch: tuple[Schema, list[bytes]], of: ColumnRules
) -> None:
    schema, values = batch
    assert_same(schema, values, of, data.draw(mappings(schema)))


@thorough
@given(hollow_batches(), rules)
def test_both_paths_take_alike_what_says_nothing(batch: tuple[Schema, list[bytes]], of: ColumnRules) -> None:
    assert_same(*batch, of)


@thorough
@given(st.lists(records, max_size=10), rules)
def test_both_paths_infer_the_same_new_table(values: list[bytes], of: ColumnRules) -> None:
    assert_same(None, values, of)


@thorough
@given(batches())
def test_a_table_with_the_needed_columns_needs_nothing_more(batch: tuple[Schema, list[bytes]]) -> None:
    _, values = batch
    decoder = JsonDecoder(None, ColumnRules(evolve=True), create=True)
    first = decoder.decode(values)
    # A record that was rejected for a type that widened later is a row now, with needs of its own.
    while (second := decoder.decode(values)).rejected != first.rejected:
        first = second
    if decoder.needs:
        again = JsonDecoder(decoder.needs.new_schema(), ColumnRules(evolve=True), create=False)
        assert {r.index for r in again.decode(values).rejected} == {r.index for r in second.rejected}
        assert not again.needs


@thorough
@given(batches(), rules)
def test_batch_needs_nothing_after_successive_updates(
    any_table: Table, batch: tuple[Schema, list[bytes]], of: ColumnRules
) -> None:
    """The driver gives up after five rounds."""
    schema, values = batch
    of = replace(of, evolve=True, on_conflict="dead-letter" if of.on_conflict == "fail" else of.on_conflict)
    for _ in range(5):
        decoder = JsonDecoder(schema, of, create=False)
        decoded = decoder.decode(values)
        if not decoder.needs:
            break
        update = UpdateSchema(any_table.transaction(), schema=schema)
        decoder.needs.apply(update)
        grown = update._apply()
        assert grown.fields != schema.fields
        schema = grown
    assert not decoder.needs
    assert decoded.table is not None
    assert decoded.table.num_rows + len(decoded.rejected) == len(values)
