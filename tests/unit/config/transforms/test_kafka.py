"""The settings of Kafka's own transforms: what they change, and which are refused."""

from __future__ import annotations

import pytest

from floe.config.properties import Properties
from floe.config.sections.transforms import routing_steps
from floe.config.transforms.kafka_sides import split_path
from floe.config.transforms.transform_classes import TRANSFORMS
from tests.support.job.transforms import metadata, transform


def problems_of(kind: str, **keys: str) -> list[str]:
    found = next(one for one in TRANSFORMS.values() if one.simple_name == kind)
    problems: list[str] = []
    given = Properties({key.replace("_", "."): value for key, value in keys.items()})
    made = found.read(problems, "transforms.x.", given)
    assert (made is None) == bool(problems)
    return problems


@pytest.mark.parametrize(
    ("kind", "keys", "problem"),
    [
        ("InsertField$Value", {}, "No field insertion configured: set transforms.x.topic.field, "),
        (
            "InsertField$Value",
            {"static_field": "a"},
            "transforms.x.static.value is missing: set what static.field gets",
        ),
        ("InsertField$Value", {"topic_field": "!"}, "transforms.x.topic.field '!': has no name"),
        ("Cast$Value", {"spec": "a:int9"}, "transforms.x.spec 'a:int9': 'a:int9' is none: write field:type, "),
        (
            "Cast$Value",
            {"spec": "int8,string"},
            "transforms.x.spec 'int8,string': has a type for whole values and more",
        ),
        ("TimestampConverter$Key", {"target_type": "string"}, "transforms.x.format is missing: target.type is string"),
        (
            "TimestampConverter$Key",
            {"target_type": "date"},
            "transforms.x.target.type 'date': set one of string, unix, ",
        ),
        ("MaskField$Value", {}, "transforms.x.fields is missing: set the names of the fields, with commas between"),
        ("MaskField$Value", {"fields": "a", "replacement": ""}, "transforms.x.replacement '': is empty"),
        (
            "ExtractField$Value",
            {"field": "`a", "field_syntax_version": "V2"},
            "transforms.x.field '`a': has a name whose ",
        ),
        (
            "ExtractField$Value",
            {"field": "a", "field_syntax_version": "V3"},
            "transforms.x.field.syntax.version 'V3': ",
        ),
        ("Flatten$Value", {"delimiter": "-" * 21}, f"transforms.x.delimiter '{'-' * 21}': has 21 characters"),
        ("RegexRouter", {"regex": "(", "replacement": "x"}, "transforms.x.regex '(': cannot be used: "),
        (
            "RegexRouter",
            {"regex": "(a)", "replacement": "$2"},
            "transforms.x.replacement '$2': cannot be used: the expres",
        ),
        ("RegexRouter", {"regex": "(?=a).*", "replacement": "x"}, "transforms.x.regex '(?=a).*': cannot be used: "),
        ("RegexRouter", {"regex": "(a*)*", "replacement": "x"}, "transforms.x.regex '(a*)*': cannot be used: "),
        ("TimestampRouter", {"timestamp_format": "b"}, "transforms.x.timestamp.format 'b': is no pattern of dates: "),
        (
            "HeaderFrom$Value",
            {"fields": "a,b", "headers": "c", "operation": "move"},
            "transforms.x.headers 'c': has 1 ",
        ),
        ("InsertHeader", {"header": "a"}, "transforms.x.value.literal is missing: set the value of the header"),
        ("SetSchemaMetadata$Value", {}, "Neither schema name nor version configured: set transforms.x.schema.name or "),
        ("SetSchemaMetadata$Value", {"schema_version": "x"}, "Invalid value"),
    ],
)
def test_settings_that_cannot_be_are_refused(kind: str, keys: dict[str, str], problem: str) -> None:
    found = problems_of(kind, **keys)
    assert len(found) == 1
    assert problem in found[0]


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("a", ("a",)),
        ("a.b.c", ("a", "b", "c")),
        ("`a.b`.c", ("a.b", "c")),
        ("a.", ("a", "")),
        (".a", ("", "a")),
        ("a`b.c", ("a`b", "c")),
        ("`a`b`.c", ("a`b", "c")),
        ("`a\\`.b`", ("a`.b",)),
    ],
)
def test_path_is_split_as_java_splits_it(path: str, names: tuple[str, ...]) -> None:
    assert split_path(path) == names


def test_routing_changes_where_the_routed_field_is_written() -> None:
    mask = transform("MaskField$Value", fields="a").options
    assert mask.changes_routing("field", "a")
    assert not mask.changes_routing("field", "b")
    assert not mask.changes_routing("key", "a")
    key = transform("Cast$Key", spec="a:int8").options
    assert key.changes_routing("key", "a")
    assert key.changes_routing("key", "")
    assert not key.changes_routing("field", "a")
    assert key.reads_keys


def test_routing_changes_where_values_come_or_go() -> None:
    for kind, keys in (("ExtractField$Value", {"field": "a"}), ("HoistField$Value", {"field": "a"}), ("Filter", {})):
        assert transform(kind, **keys).options.changes_routing("none", ""), kind


def test_routing_by_headers_changes_with_the_header_alone() -> None:
    insert = transform("InsertHeader", header="h", value_literal="1").options
    drop = transform("DropHeaders", headers="h,i").options
    copy = transform("HeaderFrom$Value", fields="a", headers="h", operation="copy").options
    for options in (insert, drop, copy):
        assert options.changes_routing("header", "h")
        assert not options.changes_routing("header", "x")
        assert not options.changes_routing("field", "a")
        assert not options.renames_topic


def test_topics_are_renamed_by_routers_alone() -> None:
    renaming = {one.simple_name for one in TRANSFORMS.values() if one.simple_name.endswith("Router")}
    assert {"RegexRouter", "TimestampRouter"} <= renaming
    assert transform("RegexRouter", regex="a", replacement="b").options.renames_topic
    assert not transform("ValueToKey", fields="a").options.renames_topic


def test_routing_changes_with_metadata_written_into_records() -> None:
    """Kafka's metadata decides the route where records are routed by it, as in the sink; wherever the transform is."""
    added, behind = metadata("m", nested=True), transform("SetSchemaMetadata$Value", schema_name="n")
    assert [step["type"] for step in routing_steps([added, behind], "field", "m")] == [added.type]
    assert routing_steps([added, behind], "field", "x") == []
    assert [step["type"] for step in routing_steps([added], "field", "m")] == [added.type]
    assert len(routing_steps([behind, added], "field", "m")) == 2
    assert routing_steps([added], "field", "x") == routing_steps([added], "header", "m") == []


CONVERTER = "org.apache.kafka.connect.transforms.TimestampConverter$Value"
ROUTER = "org.apache.kafka.connect.transforms.TimestampRouter"


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("yyyy-MM-dd HH:mm:ss.SSSSSS", "write SSS"),
        ("yyyy-MM-dd HH:mm:ss.S", "Write SSS"),
        ("YYYY-MM-dd", "write yyyy"),
        ("yyyy-MM-DD", "write dd"),
        ("yyyy-MM-dd hh:mm:ss", "write HH"),
        ("yyyy-mm-dd", "write MM"),
        ("yyyy-MM-dd HH:MM", "write mm"),
        ("yyyy-MM-dd HH:mm:SSS", "write ss"),
        ("yyyy-MM-dd yyyy", "write each once"),
        ("yyyy-MM-dd HH:mm a", "write hh"),
    ],
)
def test_pattern_that_java_misreads_is_warned_of(connector, pattern, said):
    keys = {"transforms": "t", "transforms.t.type": CONVERTER, "transforms.t.field": "at"}
    keys |= {"transforms.t.target.type": "Timestamp", "transforms.t.format": pattern}
    found = [one for one in connector(keys).warnings if one.startswith(f"transforms.t.format {pattern!r}: ")]
    assert [one for one in found if said.lower() in one.lower()], found


@pytest.mark.parametrize(
    "pattern",
    [
        "yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
        "yyyy-MM-dd hh:mm:ss a",
        "EEE, d MMM yyyy HH:mm:ss Z",
        "YYYY-'W'ww-u",
        "yyyy-DDD",
        "HH:mm dd/MM/yyyy",
        "yyyyMMddHH",
        "HH:mm:ss",
    ],
)
def test_pattern_that_means_what_it_says_has_no_warning(connector, pattern):
    keys = {"transforms": "t", "transforms.t.type": CONVERTER, "transforms.t.field": "at"}
    assert connector({**keys, "transforms.t.target.type": "Timestamp", "transforms.t.format": pattern}).warnings == ()


@pytest.mark.parametrize(("precision", "is_cut"), [("seconds", False), ("microseconds", True), ("nanoseconds", True)])
def test_precision_that_is_cut_is_told(connector, precision, is_cut):
    keys = {"transforms": "t", "transforms.t.type": CONVERTER, "transforms.t.field": "at"}
    found = connector({**keys, "transforms.t.target.type": "Timestamp", "transforms.t.unix.precision": precision})
    assert [("finer than a millisecond is cut" in one) for one in found.warnings] == [True] * is_cut


def test_router_with_a_week_year_is_warned_of(connector):
    found = connector({"transforms": "t", "transforms.t.type": ROUTER, "transforms.t.timestamp.format": "YYYYMMdd"})
    assert [one for one in found.warnings if one.startswith("transforms.t.timestamp.format 'YYYYMMdd': Y is the year")]
