"""What every transform keeps to, and what it takes to add one."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from floe.config.keys.reader import Settings
from floe.config.properties import Properties
from floe.config.sections.routing import Routing
from floe.config.sections.transform_reader import read_transforms
from floe.config.sections.transforms import TransformSpec, routing_steps, source_columns
from floe.config.transforms import transform_classes as config
from floe.config.transforms.options import SourceColumnNames, TransformOptions
from floe.config.transforms.python_class import PREFIX
from floe_job.contract.dead_letter import Rejected
from floe_job.convert.base import Parsed
from floe_job.source.record_batch import ParsedValues, Records
from floe_job.transform.batch import UNREAD, ParsedBatch, Readers
from floe_job.transform.chain import Chain
from floe_job.transform.record_metadata import metadata_of
from tests.support.contracts import added_cases
from tests.support.extensions import installed_example, listed_example, only_example
from tests.support.job.converters import JSON_CONVERTERS
from tests.support.job.own_transforms import has_field, label, steer
from tests.support.job.python_classes import python_transform
from tests.support.job.transform_cases.case import Case
from tests.support.job.transform_cases.change_data import CHANGE_CASES
from tests.support.job.transform_cases.kafka import KAFKA_CASES
from tests.support.job.transform_settings import all_settings
from tests.support.job.transforms import metadata, transform
from tests.support.kafka.messages import PIECE, Message, records, values_of

READERS = Readers(UNREAD.values, lambda _, places: Parsed(ParsedValues([None] * len(places)), ()))


REGISTERED = {
    "metadata": Case(metadata(), bad=("text", 7, ["a"])),
    "metadata-nested": Case(metadata(nested=True, key=True, headers=True), bad=("text",)),
    "replace-field": Case(transform("ReplaceField$Value", exclude="x", renames="id:number"), bad=("text", 7, ["a"])),
    "python": Case(
        python_transform("contract_transform.Steered", "contract_transform"),
        bad=({"do": "refuse"},),
        dropped=({"do": "drop"},),
    ),
    "replace-field-key": Case(transform("ReplaceField$Key", exclude="id")),
    **CHANGE_CASES,
    **KAFKA_CASES,
}
ADDED: dict[str, Case] = added_cases("TRANSFORMS")
ALL = {**REGISTERED, **ADDED}

__all__ = ["installed_example", "listed_example", "only_example"]
pytestmark = pytest.mark.usefixtures("listed_example")


@pytest.fixture(params=ALL)
def case(request: pytest.FixtureRequest) -> Case:
    return ALL[request.param]


def plain(case: Case) -> list[Any]:
    return PLAIN if case.plain is None else list(case.plain)


def batch_of(values: Sequence[Any]) -> ParsedBatch:
    raw = [None if value is None else b"x" for value in values]
    return parsed_batch(records(PIECE, raw), values)


def parsed_batch(source: Records, values: Sequence[Any]) -> ParsedBatch:
    return replace(ParsedBatch.of(source, Parsed(ParsedValues(values), ())), readers=READERS)


def as_records(spec: TransformSpec, batch: ParsedBatch) -> ParsedBatch:
    """Apply one transform to whole records, whether or not it could do with columns."""
    return Chain.of([spec, steer(mark="end")]).apply(batch)


def outcome(batch: ParsedBatch) -> tuple[Any, ...]:
    return list(zip(batch.places, batch.read_topics(), batch.values, strict=True)), batch.rejected, batch.filtered


PLAIN: list[Any] = [{"id": i, "to": f"t{i % 3}", "do": ["rename", "go", None][i % 3]} for i in range(60)]


def test_transform_every_registered_kind_has_a_case() -> None:
    shown = {type(case.spec.options) for case in ALL.values()}
    assert set(all_settings()) <= shown


def test_transform_every_class_reads_no_keys_at_all() -> None:
    """What is missing is a problem, or has a default."""
    for name in config.TRANSFORMS:
        problems: list[str] = []
        found = config.TRANSFORMS[name].read(problems, "transforms.x.", Properties())
        assert found is not None or problems, name


def test_transform_every_class_has_a_case() -> None:
    shown = {case.spec.type.rpartition(".")[2] for case in ALL.values() if not case.spec.type.startswith(PREFIX)}
    assert {one.simple_name for one in config.TRANSFORMS.values()} == shown


def test_transform_spec_survives_pickle_with_its_rule(case: Case) -> None:
    spec = pickle.loads(pickle.dumps(case.spec))  # noqa: S301
    assert spec == case.spec
    assert spec.to_json() == case.spec.to_json()


def test_transform_counts_each_record_once(case: Case) -> None:
    given = [*plain(case), *case.bad, *case.dropped, None]
    done = as_records(case.spec, batch_of(given))
    assert len(done) + len(done.rejected) + done.filtered == len(given)
    assert list(done.places) == sorted(set(done.places)), "the order stays, and no record comes twice"


def test_transform_bad_record_is_refused_alone(case: Case) -> None:
    good = plain(case)
    whole = outcome(as_records(case.spec, batch_of(good)))
    for bad in case.bad:
        done = as_records(case.spec, batch_of([*good, bad]))
        assert [(one.index, one.stage) for one in done.rejected] == [(len(good), "transform")]
        assert done.rejected[0].reason
        assert outcome(done)[0] == whole[0]


def test_transform_drops_only_what_it_should(case: Case) -> None:
    whole = outcome(as_records(case.spec, batch_of(plain(case))))
    for dropped in case.dropped:
        done = as_records(case.spec, batch_of([*plain(case), dropped]))
        assert done.filtered == whole[2] + 1
        assert outcome(done)[0] == whole[0]


HEADERS: tuple[tuple[str, bytes | None], ...] = (("h", b"1"), ("other", None))


def test_transform_that_decides_the_route_says_so(case: Case) -> None:
    given = [*plain(case), *case.dropped, {}]
    raw = [json.dumps(value).encode() for value in given]
    source = records(PIECE, raw, [Message(offset, headers=HEADERS) for offset in range(len(given))])
    done = Chain.of([case.spec]).apply(parsed_batch(source, given))
    says = case.spec.options.changes_routing
    if done.filtered or done.tombstones or set(done.read_topics()) - {source.topic}:
        assert says("none", ""), "it leaves records without a row, or gives them another topic"
    for before, after in zip((given[place] for place in done.places), done.values, strict=True):
        for name in changed_fields(before, after):
            assert says("field", name), name
    for after in done.read_headers():
        for name in {name for name, _ in (*HEADERS, *(after or ()))}:
            is_left = of_name(after, name) == of_name(HEADERS, name)
            assert is_left or says("header", name), name
    assert done.other_keys is None or not done.other_keys.any() or says("key", ""), "it makes keys"


def changed_fields(before: Any, after: Any) -> set[str]:
    if not isinstance(before, dict) or after is None:
        return set()
    left = after if isinstance(after, dict) else {}
    none = object()
    return {name for name in before.keys() | left.keys() if before.get(name, none) != left.get(name, none)}


def of_name(headers: Sequence[tuple[str, bytes | None]] | None, name: str) -> list[bytes | None]:
    return [value for key, value in headers or () if key == name]


def test_transform_takes_no_records_and_tombstones(case: Case) -> None:
    assert len(as_records(case.spec, batch_of([]))) == 0
    done = as_records(case.spec, batch_of([None, None]))
    assert len(done) == (2 if case.keeps_tombstones else 0)
    assert done.tombstones == (0 if case.fills_tombstones else len(done))
    assert done.filtered + len(done.rejected) == 2 - len(done)


@pytest.mark.parametrize("size", [1, 7, 30])
def test_transform_result_is_the_same_for_any_chunks(case: Case, size: int) -> None:
    given = [*plain(case), *case.bad, *case.dropped, None, *plain(case)]
    whole = as_records(case.spec, batch_of(given))
    source = records(PIECE, [b"x"] * len(given))
    values, rejected, filtered = [], [], 0
    for start in range(0, len(given), size):
        end = min(start + size, len(given))
        part = parsed_batch(source.select(range(start, end)), given[start:end])
        done = as_records(case.spec, part)
        values += list(done.values)
        rejected += [start + one.index for one in done.rejected]
        filtered += done.filtered
    assert (values, rejected, filtered) == (list(whole.values), [r.index for r in whole.rejected], whole.filtered)


def test_transform_leaves_the_values_it_was_given_alone(case: Case) -> None:
    given = [copy.deepcopy(value) for value in (*plain(case), *case.bad)]
    as_records(case.spec, batch_of(given))
    assert given == [*plain(case), *case.bad]


def test_transform_columns_equal_what_records_get() -> None:
    schema = Schema(NestedField(1, "id", LongType(), required=False))
    source = records(PIECE, [b'{"id":1}', b'{"id":2}'])
    for spec in (metadata(), label()):
        whole = as_records(spec, ParsedBatch.of(source, JSON_CONVERTERS.whole(source.values)))
        new = Chain.of([spec]).columns_of(schema, fold=False).needs()
        fields = [
            NestedField(2 + i, *path, _TYPES[str(kind)], required=False) for i, (path, kind) in enumerate(new.items())
        ]
        columns = Chain.of([spec]).columns_of(Schema(*schema.fields, *fields), fold=False)
        rows = JSON_CONVERTERS.for_table(columns.record_schema, _rules(), create=False).decode(source.values)
        table, refused = columns.fill(
            rows.table, metadata_of(source, keys=columns.with_keys, headers=columns.with_headers)
        )
        assert not refused
        assert table.to_pylist() == [{k: v for k, v in value.items() if k != "mark"} for value in whole.values]


_TYPES = {"string": StringType(), "long": LongType()}


def _rules() -> Any:
    from floe_job.schema.proposal import ColumnRules

    return ColumnRules()


# -- chains -----------------------------------------------------------------------------------------------------------


def test_chain_of_columns_needs_no_whole_records() -> None:
    assert Chain.of([]).is_columnar
    assert Chain.of([metadata(), label()]).is_columnar
    assert not Chain.of([metadata(), steer()]).is_columnar
    conditional = replace(label(), predicate=has_field("id"))
    assert not Chain.of([conditional]).is_columnar


def test_chain_writes_columns_that_route_into_records() -> None:
    """Records are routed before columns are added to rows: by such a column no record would find its table."""
    for nested, path in ((False, ("m_topic",)), (True, ("m", "topic"))):
        chain = Chain([metadata(nested=nested), label()], Routing("field", path))
        assert not chain.is_columnar
        assert chain.source_columns == (), "a field of another case may take its place"
        (found,) = chain.apply(batch_of([{"id": 1}])).values
        for name in path:
            found = found[name]
        assert found == PIECE.range.topic
    for routing in (Routing("field", ("id",)), Routing("header", header="m_topic"), Routing("key", ("m_topic",))):
        assert Chain([metadata(), label()], routing).is_columnar


def test_chain_changes_routing_where_one_step_may() -> None:
    assert routing_steps([metadata(), label()], "none", "") == []
    assert len(routing_steps([metadata(), steer(), label()], "none", "")) == 2


def test_chain_changes_routing_where_one_step_writes_the_route() -> None:
    chain = [transform("ReplaceField$Value", renames="a:b")]
    assert routing_steps(chain, "none", "") == routing_steps(chain, "field", "c") == []
    assert routing_steps(chain, "header", "a") == routing_steps(chain, "key", "a") == []
    assert len(routing_steps(chain, "field", "a")) == len(routing_steps(chain, "field", "b")) == 1


def test_chain_source_columns_are_those_added_behind_all() -> None:
    here = SourceColumnNames(("m_topic",), ("m_partition",), ("m_offset",))
    assert Chain.of([metadata()]).source_columns == (here,)
    assert Chain.of([label(), metadata(nested=True)]).source_columns == (
        SourceColumnNames(("m", "topic"), ("m", "partition"), ("m", "offset")),
    )
    assert source_columns([steer(), metadata()]) == (), "the topic may be another by then"
    assert source_columns([label()]) == ()


def test_chain_applies_steps_in_their_order() -> None:
    done = Chain.of([steer(mark="first"), steer("again", mark="second")]).apply(batch_of([{"id": 1}]))
    assert done.values == [{"id": 1, "mark": "second"}]


def test_chain_condition_leaves_the_others_as_they_are() -> None:
    given = [{"id": 1}, {"id": 2, "do": "go"}, None, {"do": "drop"}, {"do": "refuse"}]
    holds = Chain.of([steer(predicate=has_field("do"))]).apply(batch_of(given))
    assert holds.values == [{"id": 1}, {"id": 2, "do": "go", "mark": "seen"}, None]
    assert (holds.filtered, [one.index for one in holds.rejected]) == (1, [4])
    negated = Chain.of([steer(predicate=has_field("do"), negate=True)]).apply(batch_of(given))
    assert negated.values == [{"id": 1, "mark": "seen"}, *given[1:]]


def test_chain_converter_rejects_stay_rejected() -> None:
    source = records(PIECE, [b"{", b'{"id":1}', None])
    batch = ParsedBatch.of(source, JSON_CONVERTERS.whole(source.values))
    done = Chain.of([steer()]).apply(batch)
    assert done.places == [1, 2]
    assert [(one.index, one.stage) for one in done.rejected] == [(0, "value_converter")]


def test_chain_columns_of_two_kinds_refuse_together() -> None:
    names = ("id", "label", "m_topic", "m_partition", "m_offset", "m_timestamp")
    texts = {"label", "m_topic"}
    schema = Schema(
        *(
            NestedField(i + 1, n, StringType() if n in texts else LongType(), required=False)
            for i, n in enumerate(names)
        )
    )
    columns = Chain.of([label(picky=True), metadata()]).columns_of(schema, fold=False)
    assert columns.injected == set(names) - {"id"}
    source = records(PIECE, [b'{"id":%d}' % i for i in range(5)])
    rows = JSON_CONVERTERS.for_table(columns.record_schema, _rules(), create=False).decode(source.values)
    table, refused = columns.fill(rows.table, metadata_of(source, keys=False, headers=False))
    assert [row for row, _, _ in refused] == [1, 3]
    assert table["id"].to_pylist() == table["m_offset"].to_pylist() == [0, 2, 4]


def test_chain_of_unknown_settings_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing transforms by TransformOptions"):
        Chain.of([TransformSpec("x", "x", TransformOptions())])


# -- batches ----------------------------------------------------------------------------------------------------------


def test_batch_goes_to_each_topic_with_its_changes() -> None:
    values = [{"id": i, "do": "rename", "to": "ab"[i % 2]} for i in range(4)]
    done = Chain.of([steer()]).apply(batch_of([*values, None])).changed(keys=[b"k", "text", {"a": 1}, None, 7])
    first, second = done.by_topic()
    assert (first.topic, second.topic) == ("a", "b")
    assert [value["id"] for value in first.content] == [0, 2]
    assert list(first.keys()) == [b"k", b'{"a":1}']
    assert list(second.keys()) == [b"text", None]
    assert first.offsets == [0, 2]
    assert first.part.range.topic == "pizzas", "progress counts under the topic that was read"
    assert list(first.values) == [b"x", b"x"], "dead letters keep what Kafka has"


def test_batch_refuses_columns_of_another_length() -> None:
    with pytest.raises(ValueError, match="'values': 1} for 2 records"):
        batch_of([{}, {}]).changed(values=[{}])


def test_batch_rejected_records_keep_their_index() -> None:
    batch = batch_of([{"id": i} for i in range(5)]).filter([True, False, True, True, True]).reject({1: "why"})
    assert batch.rejected == (Rejected(2, "transform", "why", "TransformRefused"),)
    assert batch.places == [0, 3, 4]


def test_whole_values_of_kafka_memory_are_parsed() -> None:
    parsed = JSON_CONVERTERS.whole(values_of([b'{"a":1}', None, b"[1]"]))
    assert parsed.values == [{"a": 1}, None, [1]]


# -- configuration ----------------------------------------------------------------------------------------------------


def read(**keys: str) -> tuple[tuple[TransformSpec, ...], list[str]]:
    settings = Settings({key.replace("__", "."): value for key, value in keys.items()})
    return read_transforms(settings), settings.problems


@pytest.mark.usefixtures("only_example")
@pytest.mark.parametrize("name", ["example.Steer", "Steer"])
def test_transform_of_an_extension_is_found_by_its_names(name: str) -> None:
    specs, problems = read(transforms="s", transforms__s__type=name, transforms__s__mark="m")
    assert problems == []
    assert specs == (steer("s", "m"),)


@pytest.mark.usefixtures("only_example")
def test_transform_unknown_key_is_refused_with_the_known() -> None:
    _, problems = read(transforms="s", transforms__s__type="Steer", transforms__s__mak="m")
    assert problems == [
        "unknown key 'transforms.s.mak': Steer has type, mark and no other; did you mean transforms.s.mark?"
    ]


@pytest.mark.usefixtures("only_example")
def test_transform_condition_is_read_by_its_name() -> None:
    keys = {"predicates": "p", "predicates.p.type": "example.HasField", "predicates.p.name": "do"}
    own = {"transforms.s.type": "Steer", "transforms.s.predicate": "p", "transforms.s.negate": "true"}
    settings = Settings({"transforms": "s", **own, **keys})
    assert read_transforms(settings) == (steer("s", predicate=has_field("do"), negate=True),)
    assert settings.problems == []


@pytest.mark.usefixtures("only_example")
@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"transforms.s.predicate": "q"}, "transforms.s.predicate 'q' is none of predicates"),
        ({"transforms.s.negate": "true"}, "transforms.s.negate has no transforms.s.predicate beside it"),
        ({"predicates": "p", "predicates.p.type": "X"}, "predicates.p.type 'X' is no predicate that floe knows"),
        ({"predicates": "p", "predicates.p.type": "HasField", "predicates.p.x": "1"}, "unknown key 'predicates.p.x'"),
    ],
)
def test_transform_wrong_condition_is_refused(keys: dict[str, str], problem: str) -> None:
    settings = Settings({"transforms": "s", "transforms.s.type": "Steer", **keys})
    read_transforms(settings)
    assert any(found.startswith(problem) for found in settings.problems), settings.problems
