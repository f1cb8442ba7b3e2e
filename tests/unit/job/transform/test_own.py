"""Transforms in Python: what the class gets, what it may return, and what it may not."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from floe.exceptions import Terminal
from floe_job.connect import logical
from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ABSENT, ConnectSchema, Kind, array, map_of, struct
from floe_job.convert.base import Parsed
from floe_job.convert.typed.base import SchemalessPart, TypedPart
from floe_job.convert.typed.whole_values import TypedColumns, TypedValues
from floe_job.exceptions import OwnTransformFailed
from floe_job.source.record_batch import ParsedValues
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.chain import Chain
from floe_job.transform.own import Batch
from floe_job.transform.own.batch import json_line, schema_of
from floe_job.types.numbers import HugeInteger, Literal, Single
from floe_job.types.typed_values import Moment
from tests.support.job.converters import JSON_CONVERTERS
from tests.support.job.python_classes import Modules, python_transform, source
from tests.support.kafka.messages import PIECE, records
from tests.support.repository import ROOT

TEXT, LONG = ConnectSchema(Kind.STRING), ConnectSchema(Kind.INT64)
ORDER = struct({"id": LONG, "name": TEXT})
Run = Callable[..., ParsedBatch]


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Modules]:
    yield Modules(tmp_path, monkeypatch)
    sys.modules.pop("own_steps", None)


@pytest.fixture
def run(modules: Modules) -> Run:
    """Apply a class whose ``apply`` has a body."""

    def apply(body: str, given: Any, head: str = "", **options: str) -> ParsedBatch:
        modules.write("own_steps", head + source(body))
        spec = python_transform("own_steps.Own", "own_steps", **options)
        return Chain.of([spec]).apply(given if isinstance(given, ParsedBatch) else plain(given))

    return apply


def plain(values: Sequence[Any]) -> ParsedBatch:
    raw = [None if value is None else b"x" for value in values]
    return ParsedBatch.of(records(PIECE, raw), Parsed(ParsedValues(values), ()))


def typed(rows: Sequence[Any], schema: ConnectSchema = ORDER, others: Sequence[Any] = ()) -> ParsedBatch:
    """Return a batch of values with a schema, a tombstone, and values without one."""
    count = len(rows)
    parts = [TypedPart(schema, np.arange(count), pa.array(rows, arrow_type(schema)))]
    after = np.arange(count + 1, count + 1 + len(others))
    schemaless = SchemalessPart(after, ParsedValues(others)) if others else None
    values = TypedColumns(count + 1 + len(others), parts, schemaless)
    source_ = records(PIECE, [b"x"] * count + [None] + [b"x"] * len(others))
    return ParsedBatch.of(source_, Parsed(values, ()))


def failure(run: Run, body: str, given: Any = None, **options: str) -> str:
    with pytest.raises(OwnTransformFailed) as found:
        run(body, [{"id": 1}, {"id": 2}] if given is None else given, **options)
    assert isinstance(found.value, Terminal)
    text = str(found.value)
    assert text.startswith("transforms.x (python:own_steps.Own) ")
    assert "Nothing was announced" in text
    return text


# -- JSON -------------------------------------------------------------------------------------------------------------


def test_class_gets_every_part_of_a_record(run: Run) -> None:
    done = run(
        "return batch.with_objects([{**value, 'saw': [str(topic), partition.as_py(), offset.as_py(), key.as_py().decode(),\n"
        "    headers.as_py()[0]['key'], self.options['unit']]} for value, topic, partition, offset, key, headers in zip(\n"
        "    batch.objects(), batch.topic, batch.partition, batch.offset, batch.key, batch.headers)])",
        [{"id": 1}, {"id": 2}],
        unit="cent",
    )
    assert done.values[1] == {"id": 2, "saw": ["pizzas", 0, done.offsets[1], "k", "h", "cent"]}


def test_class_changes_topic_key_headers_and_time(run: Run) -> None:
    done = run(
        "return batch.changed(topic=pa.array(['a', 'b']), key=pa.array([b'1', None]),\n"
        "    timestamp=pa.array([5, None], pa.timestamp('ms', 'UTC')),\n"
        "    headers=pa.array([[{'key': 'n', 'value': None}], None], batch.headers.type))",
        [{"id": 1}, {"id": 2}],
    )
    assert list(done.read_topics()) == ["a", "b"]
    assert list(done.key_bytes()) == [b"1", None]
    assert list(done.read_timestamps()) == [5, None]
    assert list(done.read_headers()) == [[("n", None)], None]
    assert list(done.values) == [{"id": 1}, {"id": 2}]


def test_what_class_leaves_alone_stays_unread(run: Run) -> None:
    done = run("return batch", [{"id": 1}, None])
    assert (done.topics, done.headers, done.timestamps, done.other_keys) == (None, None, None, None)


def test_filtered_and_refused_rows_are_counted_once(run: Run) -> None:
    done = run(
        "return batch.filter([v != {'id': 1} for v in batch.objects()]).refuse({1: 'first', 2: 'bad', 4: 'late'})",
        [{"id": 0}, {"id": 1}, {"id": 2}, {"id": 3}, {"id": 4}],
    )
    assert list(done.places) == [0, 3]
    assert done.filtered == 0, "a refused record is refused, filtered or not"
    assert [(one.index, one.stage, one.reason) for one in done.rejected] == [
        (1, "transform", "first"), (2, "transform", "bad"), (4, "transform", "late")
    ]  # fmt: skip


def test_tombstones_reach_the_class_and_may_be_made(run: Run) -> None:
    done = run("return batch.with_objects([{'was': 'gone'}, None])", [None, {"id": 1}])
    assert list(done.values) == [{"was": "gone"}, None]
    assert done.tombstones == 1


EXACT: list[Any] = [
    {"n": Literal("1.10")}, {"n": 12345678901234567890123}, {"n": Literal("1e400")}, {"t": "\ud800 \x1f ü"}, {}, [1, [2]],
    "text", True, {"d": Moment(1_700_000_000_000_000)}, {"b": b"\x00\xff"}, {"s": Single(0.1)},
]  # fmt: skip


def test_values_that_class_leaves_are_the_same_objects(run: Run) -> None:
    given = plain(EXACT)
    done = run("return batch.changed(value=pa.array(batch.value.to_pylist()))", given)
    assert all(one is other for one, other in zip(done.values, given.values, strict=True))


def test_numbers_of_changed_values_keep_their_digits(run: Run) -> None:
    done = run(
        "return batch.with_objects([{**v, 'x': 1} for v in batch.objects()])",
        [{"n": Literal("1.10")}, {"n": Literal("0.1000000000000000055")}],
    )
    assert [value["n"].token for value in done.values] == ["1.10", "0.1000000000000000055"]


def test_value_without_json_is_refused_alone(run: Run) -> None:
    done = run("return batch", [{"n": HugeInteger("1" * 6000)}, {"id": 1}])
    assert list(done.values) == [{"id": 1}]
    assert "cannot be passed to a transform in Python" in done.rejected[0].reason


def test_json_line_is_read_as_the_same() -> None:
    for value in EXACT[:8]:
        (parsed,) = JSON_CONVERTERS.whole([json_line({"v": value}).encode()]).values
        assert parsed == {"v": value}


# -- values with a schema ---------------------------------------------------------------------------------------------


def test_struct_column_may_change_and_gain_fields(run: Run) -> None:
    done = run(
        "if not pa.types.is_struct(batch.value.type):\n"
        "    return batch.with_objects([None if v is None else {**v, 'n': 9} for v in batch.objects()])\n"
        "names = ['id', 'shout', 'length', 'tags']\n"
        "import pyarrow.compute as pc\n"
        "shout = pc.utf8_upper(batch.value.field('name'))\n"
        "columns = [batch.value.field('id'), shout, pc.utf8_length(shout), pa.array([['t']] * len(batch))]\n"
        "return batch.changed(value=pa.StructArray.from_arrays(columns, names))",
        typed([{"id": 1, "name": "a"}, {"id": 2, "name": "bc"}], others=[{"plain": True}]),
    )
    assert isinstance(done.values, TypedColumns)
    assert list(done.values) == [
        {"id": 1, "shout": "A", "length": 1, "tags": ["t"]},
        {"id": 2, "shout": "BC", "length": 2, "tags": ["t"]},
        None,
        {"plain": True, "n": 9},
    ]
    (part,) = done.values.parts
    assert part.column.type == arrow_type(part.schema)
    assert all(inner.optional for _, inner in part.schema.fields)


def test_struct_column_that_is_returned_keeps_its_schema(run: Run) -> None:
    given = typed([{"id": 1, "name": "a"}])
    done = run("return batch.filter(pa.array([True] * len(batch)))", given)
    assert done.values.parts[0].schema is ORDER


def test_struct_that_is_null_is_a_tombstone(run: Run) -> None:
    done = run(
        "if not pa.types.is_struct(batch.value.type):\n    return batch\n"
        "return batch.changed(value=pa.array([None, {'id': 2}], batch.value.type))",
        typed([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]),
    )
    assert list(done.values) == [None, {"id": 2, "name": None}, None]
    assert done.tombstones == 2


def test_rows_of_all_parts_keep_their_place(run: Run) -> None:
    done = run(
        "import pyarrow.compute as pc\n"
        "return batch.filter(pc.equal(pc.bit_wise_and(batch.offset, 1), 0)).refuse({0: 'first'})",
        typed([{"id": i, "name": "a"} for i in range(4)], others=[{"n": 5}, {"n": 6}]),
    )
    # offsets are places: refused is the first of each part, filtered what is odd
    assert [one.index for one in done.rejected] == [0, 4]
    assert list(done.places) == [2, 6]
    assert list(done.values) == [{"id": 2, "name": "a"}, {"n": 6}]


def test_objects_with_schemas_become_columns(run: Run) -> None:
    values = TypedValues([{"id": 1, "name": "a"}, None, {"plain": 1}], [ORDER, None, None])
    given = ParsedBatch.of(records(PIECE, [b"x", None, b"x"]), Parsed(values, ()))
    done = run("return batch.changed(topic=pa.array(['t'] * len(batch)))", given)
    assert list(done.values) == [{"id": 1, "name": "a"}, None, {"plain": 1}]
    assert done.values.parts[0].schema is ORDER


def test_values_with_schema_that_are_no_struct_are_json(run: Run) -> None:
    given = typed(["a", "b"], TEXT, others=[{"n": 1}])
    done = run("return batch.with_objects([None if v is None else {'v': v} for v in batch.objects()])", given)
    assert list(done.values) == [{"v": "a"}, {"v": "b"}, None, {"v": {"n": 1}}]


SCHEMAS = [
    struct({"i": ConnectSchema(Kind.INT32, name=logical.DATE), "b": ConnectSchema(Kind.BYTES)}),
    struct({"f": ConnectSchema(Kind.FLOAT32), "g": ConnectSchema(Kind.FLOAT64)}),
    struct({"m": map_of(TEXT, LONG), "l": array(ORDER), "s": ORDER}),
    struct({"d": ConnectSchema(Kind.BYTES, name=logical.DECIMAL, parameters=((logical.SCALE, "2"),))}),
    struct({"t": ConnectSchema(Kind.INT64, name=logical.AVRO_TIMESTAMP_MICROS)}),
    struct({"t": ConnectSchema(Kind.INT64, name=logical.TIMESTAMP), "x": ConnectSchema(Kind.INT8)}),
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_arrow_type_of_a_returned_struct_is_kept(schema: ConnectSchema) -> None:
    kind = arrow_type(schema)
    for known in (None, schema, ORDER):
        assert arrow_type(schema_of(kind, known)) == kind
    assert schema_of(kind, schema).fields[0][1].name == schema.fields[0][1].name
    assert schema_of(kind, schema).default is ABSENT


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        (pa.uint64(), "value.x"), (pa.timestamp("ns"), "value.x"), (pa.timestamp("us", "Europe/Rome"), "value.x"),
        (pa.dictionary(pa.int8(), pa.string()), "value.x"), (pa.null(), "value.x"), (pa.time32("ms"), "value.x"),
        (pa.list_(pa.float16()), "value.x[]"), (pa.decimal256(50, 2), "value.x"), (pa.decimal128(5, -2), "value.x"),
    ],
)  # fmt: skip
def test_arrow_type_without_schema_is_named(kind: pa.DataType, path: str) -> None:
    with pytest.raises(ValueError, match=r"has the Arrow type .*, which no schema has") as found:
        schema_of(pa.struct([pa.field("x", kind)]), ORDER)
    assert str(found.value).startswith(f"{path} has")


# -- what is wrong ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("return None", "returned a NoneType and no Batch"),
        ("return batch.value", "and no Batch"),
        ("return Batch.of([{}] * 3)", "returned 3 rows in column 'topic' for 2 records"),
        ("return batch.changed(value=pa.array(['{}'] * 1000))", "returned 1000 rows in column 'value' for 2 records"),
        ("return batch.changed(value=['{}', '{}'])", "returned a list as column 'value' and no Arrow array"),
        ("return batch.changed(value=pa.array([1, 2]))", "have a string column, the JSON text, and keep it"),
        ("return batch.changed(value=pa.array([{'a': 1}] * 2))", "have a string column, the JSON text, and keep it"),
        ("return batch.changed(value=pa.array(['{', '{}']))", "returned the value '{', which is not JSON"),
        ("return batch.changed(value=pa.array(['NaN', '{}']))", "which is not JSON"),
        ("return batch.changed(value=pa.array(['[' * 100 + ']' * 100, '{}']))", "nested deeper than 64"),
        ("return batch.changed(topic=pa.array(['a', None]))", "returned a null in column 'topic'"),
        ("return batch.changed(topic=pa.array(['a', '']))", "a topic of no or more than 249 characters"),
        ("return batch.changed(topic=pa.array(['a', 'b' * 250]))", "a topic of no or more than 249 characters"),
        ("return batch.changed(topic=pa.array([{'a': 1}] * 2))", "returned a column 'topic' of type struct"),
        ("return batch.changed(key=pa.array([1, 2]))", "returned a column 'key' of type int64"),
        (
            "return batch.changed(offset=pa.array([7, 8]))",
            "returned another column 'offset': progress is counted by it",
        ),
        ("return batch.changed(partition=pa.array([7, 8]))", "returned another column 'partition'"),
        ("return batch.changed(kept=pa.array([True, None]))", "returned a null in column 'kept'"),
        ("return batch.refuse({2: 'x'})", "refused row 2 of 2"),
        ("return batch.refuse({-1: 'x'})", "refused row -1 of 2"),
        ("return batch.refuse({True: 'x'})", "refused row True of 2"),
        ("return batch.refuse({0: None})", "refused row 0 of 2 for None: give a row's place and a text"),
        ("return batch.changed(refused=[1])", "returned a list as refused"),
        (
            "return batch.changed(headers=pa.array([[{'key': None, 'value': b''}], []], batch.headers.type))",
            "returned a header without a key",
        ),
        ("raise TimeoutError('no answer')", "raised TimeoutError: no answer (own_steps.py, line "),
        ("raise MemoryError", "raised MemoryError"),
    ],
)
def test_wrong_answer_fails_the_run(run: Run, body: str, problem: str) -> None:
    text = failure(run, body)
    assert problem in text
    assert len(text) < 800


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("raise KeyError('price')", "raised KeyError: 'price' (own_steps.py, line "),
        ("raise SystemExit(3)", "raised SystemExit: 3"),
        ("import asyncio\nraise asyncio.CancelledError('late')", "raised asyncio.exceptions.CancelledError: late"),
        ("return self.apply(batch)", "raised RecursionError"),
        ("return batch.with_objects([object()] * len(batch))", "JSON has no form for Python's object"),
        ("raise ValueError('first\\nlast ' + 'x' * 1000)", "raised last xxx"),
    ],
)
def test_error_for_every_record_refuses_each(run: Run, body: str, problem: str) -> None:
    done = run(body, [{"id": 1}, {"id": 2}, None])
    assert [one.index for one in done.rejected] == [0, 1, 2]
    assert len(done) == 0
    for one in done.rejected:
        assert one.stage == "transform"
        assert one.reason.startswith("transforms.x (python:own_steps.Own) raised ")
        assert problem in one.reason


DIVIDES = "return batch.with_objects([None if v is None else {**v, 'x': 6 // v['n']} for v in batch.objects()])"


@pytest.mark.parametrize("bad", [[], [0], [99], [0, 1, 50, 98, 99], list(range(0, 100, 2))])
def test_error_for_some_records_refuses_these_alone(run: Run, bad: list[int]) -> None:
    values = [{"n": 0 if i in bad else 2} if i % 7 else None for i in range(100)]
    done = run(DIVIDES, values)
    dead = [i for i in bad if values[i] is not None]
    assert [one.index for one in done.rejected] == dead
    left = [i for i in range(100) if i not in dead]
    assert list(done.places) == left
    assert list(done.values) == [None if values[i] is None else {"n": 2, "x": 3} for i in left]


def test_error_for_some_values_with_a_schema_refuses_these_alone(run: Run) -> None:
    body = (
        "if not pa.types.is_struct(batch.value.type):\n"
        "    return batch.with_objects([v and {**v, 'n': 1 / v['n']} for v in batch.objects()])\n"
        "ids = batch.value.field('id')\n"
        "assert 3 not in ids.to_pylist()\n"
        "return batch.changed(value=pa.StructArray.from_arrays([ids, batch.value.field('name')], ['id', 'was']))"
    )
    done = run(body, typed([{"id": i, "name": str(i)} for i in range(8)], others=[{"n": 2}, {"n": 0}]))
    assert [one.index for one in done.rejected] == [3, 10]
    kept = [*(i for i in range(8) if i != 3), 8, 9]
    assert list(done.places) == kept
    assert list(done.values) == [*({"id": i, "was": str(i)} for i in range(8) if i != 3), None, {"n": 0.5}]


@pytest.mark.parametrize("returned", ["batch", "batch.changed(value=batch.value.take(pa.array(range(len(batch)))))"])
def test_pieces_of_a_batch_with_errors_become_one_part_again(run: Run, returned: str) -> None:
    body = f"assert not {{1, 4, 6}} & set(batch.value.field('id').to_pylist())\nreturn {returned}"
    done = run(body, typed([{"id": i, "name": str(i)} for i in range(9)]))
    assert isinstance(done.values, TypedColumns)
    (part,) = done.values.parts
    assert part.places.tolist() == list(range(6))
    assert part.column.field("id").to_pylist() == [0, 2, 3, 5, 7, 8]


def test_panic_for_one_record_refuses_it_alone_and_an_interrupt_ends_the_task(run: Run) -> None:
    head = "class Panic(BaseException):\n    pass\n\n\n"
    body = "if {'n': 0} in batch.objects():\n    raise Panic('unwrap on None')\nreturn batch"
    done = run(body, [{"n": 1}, {"n": 0}, {"n": 2}], head=head)
    assert [one.index for one in done.rejected] == [1]
    assert "raised own_steps.Panic: unwrap on None" in done.rejected[0].reason
    assert list(done.values) == [{"n": 1}, {"n": 2}]
    with pytest.raises(KeyboardInterrupt):
        run("raise KeyboardInterrupt", [{"n": 1}])


def test_error_for_too_many_records_fails_the_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("floe_job.transform.own.records.MAX_RAISED", 3)
    assert len(run(DIVIDES, [{"n": 0}] * 3).rejected) == 3
    assert "raised ZeroDivisionError" in failure(run, DIVIDES, [{"n": 0}] * 4)


def test_example_of_the_docs_takes_what_is_no_object(modules: Modules) -> None:
    page = (ROOT / "docs" / "how-to" / "own-transform.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    modules.write("own_steps", code)
    chain = Chain.of([python_transform("own_steps.PriceInCents", "own_steps", field="price")])
    values = [{"price": 1.5}, [1, 2], "text", 7, True, None, {}, {"price": None}, {"test": True}, {"price": "x"}]
    done = chain.apply(plain(values))
    assert list(done.values) == [{"price": 150}, [1, 2], "text", 7, True, None, {}, {"price": None}]
    assert [one.index for one in done.rejected] == [9]
    assert done.filtered == 1


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("return batch.changed(value=pa.array(['{}'] * len(batch)))", "have a struct column, and keep it"),
        ("return batch.changed(value=pa.array([{'a': None}] * len(batch)))", "value.a has the Arrow type null"),
        (
            "return batch.changed(value=pa.StructArray.from_arrays([batch.offset] * 2, ['a', 'a']))",
            "two fields of one name",
        ),
    ],
)
def test_other_schema_that_is_none_fails_the_run(run: Run, body: str, problem: str) -> None:
    assert problem in failure(run, body, typed([{"id": 1, "name": "a"}]))


def test_class_that_cannot_be_made_fails_the_run(modules: Modules) -> None:
    for text, problem in (
        ("import nowhere_to_be_found\n" + source("return batch"), "raised ModuleNotFoundError: No module named"),
        (
            source("return batch").replace("= options", "= options['unit']"),
            "raised KeyError: 'unit'",
        ),
        (source("return batch").replace("def apply", "def run"), "raised AttributeError"),
    ):
        modules.write("own_steps", text)
        with pytest.raises(OwnTransformFailed, match=problem):
            Chain.of([python_transform("own_steps.Own", "own_steps")]).apply(plain([{}]))


def test_worker_with_other_code_runs_nothing(modules: Modules) -> None:
    modules.write("own_steps", source("return batch"))
    spec = python_transform("own_steps.Own", "own_steps")
    modules.write("own_steps", source("raise RuntimeError"))
    with pytest.raises(OwnTransformFailed, match=r"is another one on this worker, .*, than the plan's 1"):
        Chain.of([spec]).apply(plain([{}]))
    modules.write("own_steps", "")
    with pytest.raises(OwnTransformFailed, match="is not on this worker: its module has no class 'Own'"):
        Chain.of([spec]).apply(plain([{}]))


def test_process_that_has_other_code_imports_again(modules: Modules) -> None:
    for number in (1, 2):
        modules.write("own_package.helper", f"NUMBER = {number}\n")
        modules.write(
            "own_package.own",
            "from own_package.helper import NUMBER\n" + source("return batch.with_objects([{'n': NUMBER}])"),
        )
        done = Chain.of([python_transform("own_package.own.Own", "own_package.*")]).apply(plain([{}]))
        assert list(done.values) == [{"n": number}]


def test_batch_is_made_for_tests_of_users() -> None:
    batch = Batch.of([{"id": 1}, None], topic="t")
    assert (len(batch), batch.objects(), batch.offset.to_pylist()) == (2, [{"id": 1}, None], [0, 1])
    with pytest.raises(TypeError, match="read the column `value`"):
        batch.changed(value=pa.array([{"a": 1}, None])).objects()
