"""Small integers of several columns, read together: as Arrow's parser has them, or not at all."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.json as pj
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floe_job.convert.json import template
from floe_job.convert.json.framing import joined
from floe_job.convert.json.template import TemplateReader

SCHEMA = pa.schema([("long", pa.int64()), ("in", pa.struct([("b", pa.int32())])), ("small", pa.int8())])


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let chunks of a few records be worth it."""
    monkeypatch.setattr(template, "MIN_BYTES", 0)


def parse(text: bytes | bytearray) -> pa.Table:
    return pj.read_json(pa.BufferReader(text), parse_options=pj.ParseOptions(explicit_schema=SCHEMA))


@pytest.mark.parametrize(("number", "is_read"), [(12_345_678, True), (123_456_789, False), (-1, False)])
def test_many_small_integers_in_few_bytes_are_read(monkeypatch: pytest.MonkeyPatch, number: int, is_read: bool) -> None:
    monkeypatch.setattr(template, "MIN_BYTES", 1000)
    names = [f"{n}" for n in range(100)]
    values = [json.dumps(dict.fromkeys(names, number)).encode()] * 5
    found = TemplateReader(pa.schema([(name, pa.int64()) for name in names])).read(joined(values), parse)
    assert (found is not None) == is_read
    assert found is None or found.to_pylist() == [json.loads(value) for value in values]


INTEGERS = st.one_of(
    st.integers(0, 10**8).map(str),
    st.integers(-(10**3), 10**10).map(str),
    st.integers(0, 127).map(str),
    st.sampled_from(
        ["0", "00", "01", "00000000", "000000000", "-0", "null", "/", ":", "1/", "1:", "9é", "\uff11", "1.0", "1e1"]
    ),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(INTEGERS, INTEGERS, INTEGERS), min_size=1, max_size=6))
def test_integers_of_several_columns_are_as_the_parser_has_them(rows: list[tuple[str, str, str]]) -> None:
    values = ['{{"long":{},"in":{{"b":{}}},"small":{}}}'.format(*row).encode() for row in rows]
    found = TemplateReader(SCHEMA).read(joined(values), parse)
    if found is not None:
        assert found.equals(parse(joined(values).text))
