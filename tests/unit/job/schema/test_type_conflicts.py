"""Types of new columns do not depend on the order of the records, nor on how they are divided among tasks."""

from __future__ import annotations

import base64
import json
from decimal import Decimal
from functools import reduce
from itertools import permutations
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from floe.config.converters.base import ConverterSpec
from floe.config.converters.kinds import ENVELOPE
from floe_job.convert.json.decoder import JsonDecoder
from floe_job.convert.makers import converters_of
from floe_job.exceptions import SchemaConflict
from floe_job.schema.evolution import SchemaChanges, columns
from floe_job.schema.inference import extend, infer, merge, wider
from floe_job.schema.proposal import ColumnRules, ListOf, OnConflict, Proposal, StructOf, iceberg_type
from floe_job.types.typed_values import made_primitive
from tests.support.job.converters import NO_REGISTRY
from tests.support.job.formats.envelopes import DECIMAL
from tests.support.job.json_values import LEAVES, anything

policies = st.sampled_from(["string", "fail"])


def unordered(proposal: Proposal | None) -> Any:
    if isinstance(proposal, StructOf):
        return {name: unordered(field) for name, field in proposal.fields}
    return [unordered(proposal.element)] if isinstance(proposal, ListOf) else proposal


def inferred(parts: list[list[Any]], rules: ColumnRules) -> Any:
    """Return what parts say of one column, each on its own and then all of them, or the conflict."""
    try:
        said: list[Proposal | None] = [
            reduce(lambda known, one: extend(known, one, rules), part, None) for part in parts
        ]
        known = [proposal for proposal in said if proposal is not None]
        return unordered(reduce(lambda first, later: merge(first, later, rules), known)) if known else None
    except SchemaConflict:
        return SchemaConflict


@given(st.data(), st.lists(anything, max_size=5), policies)
def test_a_type_is_what_all_values_say_of_it_in_any_order(
    data: st.DataObject, values: list[Any], policy: OnConflict
) -> None:
    rules = ColumnRules(on_conflict=policy)
    shuffled, cut = data.draw(st.permutations(values)), data.draw(st.integers(0, len(values)))
    assert inferred([values], rules) == inferred([shuffled[:cut], shuffled[cut:]], rules)


@given(anything, anything, policies)
def test_a_known_column_learns_from_a_value_what_it_says_alone(known: Any, value: Any, policy: OnConflict) -> None:
    rules = ColumnRules(on_conflict=policy)
    assert inferred([[known, value]], rules) == inferred([[known], [value]], rules)


def outcome(parts: list[list[Any]], policy: OnConflict) -> Any:
    """Return the columns of a table made by several tasks, and the records that it does not take; or the conflict."""
    rules, needs = ColumnRules(evolve=True, on_conflict=policy), SchemaChanges()
    try:
        for part in parts:
            decoder = JsonDecoder(None, rules, create=True)
            decoder.decode([json.dumps(record).encode() for record in part])
            needs.merge(decoder.needs)
    except SchemaConflict:
        return SchemaConflict
    schema = needs.new_schema()
    texts = [json.dumps(record).encode() for part in parts for record in part]
    decoder = JsonDecoder(schema, rules, create=False)
    rejected = [texts[one.index] for one in decoder.decode(texts).rejected]
    assert not decoder.needs
    kinds = {path: type(field.field_type).__name__ for path, field in columns(schema).items()}
    return kinds, sorted(rejected)


@st.composite
def telling(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> Any:
    """Lists and objects with something to say, whatever else is in them."""
    if draw(st.booleans()):
        said = draw(st.lists(inner, min_size=1, max_size=2))
        return draw(st.permutations([*said, *draw(st.lists(st.sampled_from([None, [], {}]), max_size=2))]))
    return draw(st.dictionaries(st.sampled_from("pq"), st.none() | inner, max_size=1)) | {"r": draw(inner)}


tellings = st.recursive(st.sampled_from(LEAVES), telling, max_leaves=4)
telling_records = st.dictionaries(st.sampled_from("bc"), tellings, min_size=1)
silent_records = st.sampled_from([{"b": []}, {"b": {}}, {"c": [[]]}, {"c": None}, {"c": {"p": []}}])


def stands_alone(record: Any) -> bool:
    return JsonDecoder(None, ColumnRules(), create=True).decode([json.dumps(record).encode()]).rejected == ()


@given(st.data(), st.lists(telling_records | silent_records, max_size=5), policies)
def test_columns_and_rejections_are_equal_in_any_order(
    data: st.DataObject, records: list[Any], policy: OnConflict
) -> None:
    assume(all(map(stands_alone, records)))
    shuffled, cut = data.draw(st.permutations(records)), data.draw(st.integers(0, len(records)))
    assert outcome([records], policy) == outcome([shuffled[:cut], shuffled[cut:]], policy)


@pytest.mark.parametrize("policy", ["dead-letter", "string", "fail"])
@pytest.mark.parametrize(
    ("says", "silent"), [({"c": {"p": "s"}}, {"c": []}), ({"c": 1}, {"c": {}}), ({"c": [1]}, {"c": {}})]
)
def test_empty_value_is_no_second_type_and_must_fit(says: Any, silent: Any, policy: OnConflict) -> None:
    outcomes = [outcome(parts, policy) for parts in ([[says, silent]], [[silent, says]], [[says], [silent]])]
    kinds, rejected = outcomes[0]
    assert outcomes == [(kinds, rejected)] * 3
    assert rejected == [json.dumps(silent).encode()]
    assert kinds == outcome([[says]], policy)[0]


@pytest.mark.parametrize("records", [({"b": [[], [1]]}, {"b": [1]}), ({"b": [1]}, {"b": [[], [1]]})])
def test_list_beginning_with_empty_one_conflicts_all_the_same(records: Any) -> None:
    assert outcome([list(records)], "string") == ({("b",): "ListType", ("b", "element"): "StringType"}, [])
    assert outcome([list(records)], "fail") is SchemaConflict
    assert infer([[], [1]]) == ListOf(ListOf("long"))


def decimal_of(scale: int) -> dict[str, Any]:
    return {"type": "bytes", "name": DECIMAL, "version": 1, "parameters": {"scale": str(scale)}}


def payload(number: str, scale: int) -> str:
    unscaled = int(Decimal(number).scaleb(scale))
    return base64.b64encode(unscaled.to_bytes(17, signed=True)).decode()


OF_NUMBERS: dict[str, tuple[dict[str, Any], Any]] = {
    "123.45": (decimal_of(2), payload("123.45", 2)),
    "123.4567": (decimal_of(4), payload("123.4567", 4)),
    "0.1234567890123456789": (decimal_of(19), payload("0.1234567890123456789", 19)),
    "7": ({"type": "int32"}, 7),
    "9007199254740993": ({"type": "int64"}, 9007199254740993),
    "-5": (decimal_of(0), payload("-5", 0)),
}
PLACES: dict[str, Any] = {
    "top": (lambda kind: kind, lambda value: value, lambda found: found),
    "struct": (
        lambda kind: {"type": "struct", "fields": [{"field": "in", **kind}]},
        lambda value: {"in": value},
        lambda found: found["in"],
    ),
    "list": (lambda kind: {"type": "array", "items": kind}, lambda value: [value], lambda found: found[0]),
    "map": (
        lambda kind: {"type": "map", "keys": {"type": "string"}, "values": kind},
        lambda value: {"k": value},
        lambda found: found[0][1],
    ),
    "map key": (
        lambda kind: {"type": "map", "keys": kind, "values": {"type": "string"}},
        lambda value: [[value, "v"]],
        lambda found: found[0][0],
    ),
}


def envelope_of(number: str, place: str) -> bytes:
    kind, value = OF_NUMBERS[number]
    around, inside, _ = PLACES[place]
    field = {"field": "n", **around(kind)}
    schema = {"type": "struct", "optional": False, "fields": [field]}
    return json.dumps({"schema": schema, "payload": {"n": inside(value)}}).encode()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("is_parted", [False, True])
def test_numbers_of_a_new_column_keep_their_digits_in_any_order(place: str, is_parted: bool) -> None:
    converters = converters_of(ConverterSpec(ENVELOPE), NO_REGISTRY)
    for numbers in (*permutations(OF_NUMBERS, 2), tuple(OF_NUMBERS), tuple(reversed(OF_NUMBERS))):
        texts = [envelope_of(number, place) for number in numbers]
        needs = SchemaChanges()
        for part in [[text] for text in texts] if is_parted else [texts]:
            converter = converters.for_table(None, ColumnRules(evolve=True), create=True)
            converter.decode(part)
            needs.merge(converter.needs)
        converter = converters.for_table(needs.new_schema(), ColumnRules(evolve=True), create=False)
        decoded = converter.decode(texts)
        assert not converter.needs
        assert decoded.rejected == ()
        assert decoded.table is not None
        found = [PLACES[place][2](one) for one in decoded.table["n"].to_pylist()]
        assert found == [Decimal(number) for number in numbers]


@pytest.mark.parametrize(
    "first", ["decimal(38, 2)", "int", "long", "double", "float", "decimal(7, 4)", "decimal(38, 38)"]
)
@pytest.mark.parametrize("later", ["decimal(38, 2)", "decimal(3, 0)", "double"])
def test_number_types_have_one_wider_type_whatever_their_order(first: str, later: str) -> None:
    assert wider(first, later) == wider(later, first)
    merged = wider(first, later)
    assert merged is not None
    assert wider(merged, first) == wider(merged, later) == merged


def test_made_decimals_of_several_scales_keep_their_digits() -> None:
    rules = ColumnRules(evolve=True)
    for numbers in permutations([Decimal("1.25"), Decimal("123.4567"), 5, Decimal("1E+3")]):
        assert extend(extend(extend(None, numbers[0], rules), numbers[1], rules), numbers[2], rules)
        kind = reduce(lambda known, one: extend(known, one, rules), numbers, None)
        assert isinstance(kind, str)
        convert = made_primitive(iceberg_type(kind))
        assert [convert(number) for number in numbers] == list(numbers)
