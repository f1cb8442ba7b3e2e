"""Chunks of records that are alike: what is read by their skeletons is what Arrow's parser reads, or nothing is."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.json as pj
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floe_job.convert.json import template
from floe_job.convert.json.framing import NoTemplate, joined
from floe_job.convert.json.template import RecordTemplate, TemplateReader

SCHEMA = pa.schema(
    [
        ("long", pa.int64()),
        ("text", pa.large_string()),
        ("int", pa.int32()),
        ("double", pa.float64()),
        ("flag", pa.bool_()),
        ("in", pa.struct([("a", pa.large_string()), ("b", pa.int64()), ("c", pa.struct([("d", pa.bool_())]))])),
        ("list", pa.list_(pa.int64())),
        ("decimal", pa.decimal128(9, 2)),
        ("small", pa.int8()),
        ("single", pa.float32()),
    ]
)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let chunks of a few records be worth it."""
    monkeypatch.setattr(template, "MIN_BYTES", 0)


def parse(text: bytes | bytearray) -> pa.Table:
    return pj.read_json(
        pa.BufferReader(text),
        pj.ReadOptions(use_threads=False, block_size=max(64, len(text))),
        pj.ParseOptions(explicit_schema=SCHEMA, unexpected_field_behavior="error"),
    )


def read(values: Sequence[bytes]) -> pa.Table | None:
    """Read them by skeletons; what is found must be what the parser finds."""
    lines = joined(values)
    found = TemplateReader(SCHEMA).read(lines, parse)
    if found is not None:
        assert found.equals(parse(lines.text).select(SCHEMA.names).cast(SCHEMA))
    return found


def record(long: str = "1", text: str = '"x"', double: str = "1.5", flag: str = "true") -> bytes:
    return f'{{"long":{long},"text":{text},"double":{double},"flag":{flag}}}'.encode()


# -- what is read -------------------------------------------------------------------------------------------------------


def test_records_that_differ_in_their_values_alone_are_read() -> None:
    values = [record(str(n - 5), f'"é{n}"', f"{n}.25e-3", "true" if n % 2 else "false") for n in range(20)]
    found = read(values)
    assert found is not None
    assert found.column("long").to_pylist() == list(range(-5, 15))
    assert found.column("text").to_pylist() == [f"é{n}" for n in range(20)]
    assert found.column("list").null_count == 20


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": "), (" , ", " : ")])
def test_blanks_between_are_part_of_what_is_shared(separators: tuple[str, str]) -> None:
    row = {"in": {"a": "x", "b": 7, "c": {"d": True}}, "text": "", "long": 0, "int": -7}
    found = read([json.dumps({**row, "long": n, "text": "y" * n}, separators=separators).encode() for n in range(30)])
    assert found is not None
    assert found.column("in").to_pylist() == [{"a": "x", "b": 7, "c": {"d": True}}] * 30


@pytest.mark.parametrize("number", ["1", "-1.5", "12.50", "1e2", "0.1E1", "-0.0"])
def test_decimals_and_narrow_numbers_are_read_alike(number: str) -> None:
    values = [f'{{"decimal":{number},"single":{number},"small":{n}}}'.encode() for n in range(-10, 10)]
    assert read(values) is not None
    assert read([*values, b'{"decimal":null,"single":null,"small":null}']) is not None


@pytest.mark.parametrize(
    "other",
    [
        record(text="null"),
        record(text='"a\\"b"'),
        record(text='"\\u00e9"'),
        b'{"text":"other order","long":7}',
        b'{"long":7,"list":[1,2]}',
        b'{"long":7,"decimal":"1.25"}',
        b'{"long":7,"in":null}',
        b'{"in":{},"long":7}',
        b"{}",
    ],
)
@pytest.mark.parametrize("place", [1, 12, 23])
def test_few_different_records_are_parsed_and_keep_their_place(other: bytes, place: int) -> None:
    values = [record(str(n)) for n in range(24)]
    found = read([*values[:place], other, *values[place:]])
    assert found is not None
    assert found.column("long").to_pylist()[:place] == list(range(place))
    assert found.num_rows == 25


def test_several_kinds_of_records_have_a_skeleton_each() -> None:
    kinds = [record(text="null"), record(), b'{"long":3,"in":{"a":"b"}}', b'{"long":3,"in":null}']
    asked: list[bytes | bytearray] = []
    lines = joined([kinds[n * n % 4 if n % 3 else n % 4] for n in range(40)])
    found = TemplateReader(SCHEMA).read(lines, lambda text: asked.append(text) or parse(text))  # type: ignore[func-returns-value]
    assert found is not None
    assert found.equals(parse(lines.text))
    assert asked == []


@pytest.mark.parametrize("token", ["null", "9223372036854775807", "-9223372036854775808", "10", "100", "-1", "0"])
def test_integers_at_their_ends_and_nulls_among_them(token: str) -> None:
    found = read([record("1"), record(token), record("-12")])
    assert found is not None
    assert found.column("long").to_pylist() == [1, json.loads(token), -12]


# -- what is not --------------------------------------------------------------------------------------------------------

NOT_BARE = [
    "-0", "01", "-01", "1.0", "1e3", "+1", "0x10", "0x9184E72A00", "-", "--1", "1-2", "9223372036854775808", "true", "nan",
    "NaN", "Infinity", "1_0", "1 2", "1,2", "", " ", "1}", "[1]", "{}", '"1"', "nul", "nullnull", "\u0661",
]  # fmt: skip


@pytest.mark.parametrize("token", NOT_BARE)
@pytest.mark.parametrize("place", [0, 1])
def test_what_is_no_integer_is_for_the_parser(token: str, place: int) -> None:
    values = [record("1")] * 3
    values[place] = record(token)
    assert read(values) is None


@pytest.mark.parametrize(
    "token",
    [
        "1.",
        ".5",
        "01.5",
        "+1.5",
        "1e",
        "1e+",
        "inf",
        "NaN",
        "-Infinity",
        "0x1p3",
        "1.5.5",
        "1,5",
        "true",
        "",
        "1.5 ",
        '"1"',
    ],
)
def test_what_is_no_number_is_for_the_parser(token: str) -> None:
    assert read([record(), record(double=token), record()]) is None


@pytest.mark.parametrize("token", ["True", "truefalse", "tru", "1", "0", '"true"', "", "true,false"])
def test_what_is_no_boolean_is_for_the_parser(token: str) -> None:
    assert read([record(), record(flag=token), record()]) is None


@pytest.mark.parametrize("text", ['"a\tb"', '"a\x00b"', '"a\x1fb"', '"a"b"', '"a" "b"', "'a'", "a", '"a'])
def test_what_is_no_text_is_for_the_parser(text: str) -> None:
    assert read([record(), record(text=text), record()]) is None


@pytest.mark.parametrize(
    "first",
    [
        b'{"unknown":1}',
        b'{"long":1,"long":2}',
        b'{"in":{"a":"x"},"in":{"b":1}}',
        b'{"list":[1]}',
        b'{"small":128}',
        b'{"decimal":1.255}',
        b'{"decimal":"1.25"}',
        b'{"in":{"unknown":1}}',
        b'{"in":1}',
        b'{"text":{"a":1}}',
        b'{"long":"1"}',
        b'{"text":1}',
        b'{"long" 1}',
        b'{"long":1,}',
        b'{"long":1}}',
        b'{,"long":1}',
        b'{"long":1 "text":"x"}',
        b'{"te\\u0078t":"x"}',
        b'{"long":tru}',
        b'{"":{"":1}}',
        b"{}",
    ],
)
def test_records_without_template_or_columns_are_parsed(first: bytes) -> None:
    assert read([first] * 5) is None


WHOLES = [b'{"long":1, "in":{"a":"xy","b":-2},"text":"","int":30}', b'{"flag": true ,"in":{"a":"x"}}']
ODD = [b"", *(bytes([byte_]) for byte_ in b'"\\{}[]:, \t0-xn')]


@pytest.mark.parametrize(
    ("whole", "place"), [(whole, place) for whole in WHOLES for place in range(1, len(whole))], ids=str
)
@pytest.mark.parametrize("kept", [0, 1])
def test_one_octet_more_or_less_or_another_is_noticed(whole: bytes, place: int, kept: int) -> None:
    """An octet is replaced, or another, or none, is in front of it: ``kept`` is how many of it stay."""
    for odd in ODD if kept or place < len(whole) - 1 else ():
        changed = whole[:place] + odd + whole[place + 1 - kept :]
        for row in (0, 4, 8):
            values = [whole] * 8
            values.insert(row, changed)
            try:
                expected = parse(joined(values).text)
            except pa.ArrowInvalid:
                assert TemplateReader(SCHEMA).read(joined(values), parse) is None
            else:
                found = TemplateReader(SCHEMA).read(joined(values), parse)
                assert found is None or found.equals(expected.select(SCHEMA.names))


def test_fields_that_changed_places_are_another_kind() -> None:
    swapped = [
        b'{"long":1,"in":{"b":2}}',
        b'{"in":{"b":2},"long":1}',
        b'{"long":1,"in":{"c":2}}',
        b'{"lonG":1,"in":{"b":2}}',
    ]
    for other in swapped[1:]:
        values = [swapped[0]] * 8 + [other]
        lines = joined(values)
        found = TemplateReader(SCHEMA).read(lines, parse)
        assert found is None or found.equals(parse(lines.text).select(SCHEMA.names))


@pytest.mark.parametrize(
    ("usual", "odd", "longs"),
    [
        # its value would begin behind the text
        (b'{"text":"x","long":' + b" " * 60 + b"5}", b'{"text":"x","long":5}', [5] * 9),
        # one blank in front of the value and behind it
        (b'{"long": 1 ,"text":"x"}', b'{"long": ,"text":"x"}', None),
        (b'{"text":"x"}', b'{"text":"x"}}', None),
    ],
)
def test_shorter_and_longer_records_are_noticed(usual: bytes, odd: bytes, longs: list[int] | None) -> None:
    found = TemplateReader(SCHEMA).read(joined([*[usual] * 8, odd]), parse)
    assert (None if found is None else found.column("long").to_pylist()) == longs


def test_one_of_the_others_that_is_two_objects_shifts_nobody() -> None:
    values = [record(str(n)) for n in range(80)]
    values[5] = b'{"long":100}{"long":200}'
    values[7] = b'{"long" :300}'
    values[8] = b'{"long" :301}'
    assert TemplateReader(SCHEMA).read(joined(values), parse) is None


def test_record_different_by_one_byte_is_the_only_one_parsed() -> None:
    values = [b'{"long":%d, "text":"x"}' % n for n in range(80)]
    values[7] = b'{"long":7 ,"text":"x"}'
    parsed: list[bytes] = []
    found = TemplateReader(SCHEMA).read(joined(values), lambda text: parsed.append(bytes(text)) or parse(text))
    assert parsed == [values[7] + b"\n"]
    assert found is not None
    assert found.equals(parse(b"\n".join(values)))


@pytest.mark.parametrize(
    "odd", [b'{"long":' + b" " * 5000 + b"1}", b'{"' + b"k" * 5000 + b'":1}', b'{"long":1' + b" " * 5000 + b"}"]
)
def test_only_so_much_is_compared(odd: bytes) -> None:
    with pytest.raises(NoTemplate):
        RecordTemplate.of(odd)
    with pytest.raises(NoTemplate):
        RecordTemplate.of(b"{" + b",".join(b'"k%d":null' % n for n in range(1000)) + b"}")
    assert RecordTemplate.of(b'{"text":"' + b"x" * 10_000 + b'","long":1}').quotes == 6


@pytest.mark.parametrize("token", ["0e309", "1e309", "1e-400"])
def test_exponents_that_the_parser_may_find_too_large_are_for_it(token: str) -> None:
    assert TemplateReader(SCHEMA).read(joined([record(double=token)] * 5), parse) is None


def test_what_a_chunk_took_is_free_at_once() -> None:
    """Python's search for cycles is rare in a task: whatever holds itself holds megabytes."""
    lines = joined([record(str(n)) for n in range(50)] + [record(text='"\\n"'), record(text="null")] * 5)
    reader = TemplateReader(SCHEMA)
    gc.disable()
    try:
        before = sys.getrefcount(lines.text), sys.getrefcount(lines.starts)
        assert reader.read(lines, parse) is not None
        assert (sys.getrefcount(lines.text), sys.getrefcount(lines.starts)) == before
    finally:
        gc.enable()


def test_where_nothing_comes_of_it_it_is_tried_ever_more_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, tried = TemplateReader(SCHEMA), []
    take_apart = RecordTemplate.of
    monkeypatch.setattr(RecordTemplate, "of", lambda one: tried.append(one) or take_apart(one))
    for _ in range(1000):
        assert reader.read(joined([b"{}"]), parse) is None
    assert 10 < len(tried) < 30
    found = [reader.read(joined([record()]), parse) for _ in range(200)]
    assert sum(table is None for table in found) <= 100
    assert found[-1] is not None


def test_many_values_in_few_bytes_are_for_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template, "MIN_BYTES", 100)
    lines = joined([record()] * 9)
    assert len(lines.text) > 400
    assert TemplateReader(SCHEMA).read(lines, parse) is not None
    assert TemplateReader(SCHEMA).read(joined([record()] * 6), parse) is None


def test_template_of_an_earlier_chunk_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, made = TemplateReader(SCHEMA), []
    take_apart = RecordTemplate.of
    monkeypatch.setattr(RecordTemplate, "of", lambda one: made.append(one) or take_apart(one))
    others = [b'{"long":%d, "double":1.5}' % n for n in range(5)]
    for _ in range(3):
        values = [record(str(n)) for n in range(9)] + others
        lines = joined(values)
        found = reader.read(lines, parse)
        assert found is not None
        assert found.equals(parse(lines.text).select(SCHEMA.names))
    assert len(made) == 2


# -- whatever comes ------------------------------------------------------------------------------------------------------

TOKENS = st.one_of(
    st.integers(-(10**6), 10**6).map(str),
    st.integers().map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from([*NOT_BARE, "null", "true", "false", "1.5", "-0.0", "1e400", '"a,b:{}"', '"\\n"', '" "', '"null"']),
    st.text(max_size=5).map(lambda text: json.dumps(text, ensure_ascii=False)),
)
FORMS = [
    '{%s"long":%s,"text":%s}',
    '{%s"text": %s, "double": %s}',
    '{%s"in":{"a":%s,"b":%s}}',
    '{%s"flag":%s ,"long":%s}',
]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(FORMS), min_size=1, max_size=2),
    st.lists(
        st.tuples(st.integers(0, 1), st.tuples(st.sampled_from(["", " "]), TOKENS, TOKENS)), min_size=1, max_size=12
    ),
)
def test_whatever_comes_the_parser_says_the_same(
    forms: list[str], rows: list[tuple[int, tuple[str, str, str]]]
) -> None:
    read([(forms[form % len(forms)] % fill).encode() for form, fill in rows])
