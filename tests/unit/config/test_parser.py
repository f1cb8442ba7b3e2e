import time

import pytest

from floe.config import ConfigError, KeyClass, parse_connector
from floe.config.overrides.run_keys import class_of
from floe.config.sections.routing import Routing
from floe.config.sections.schema_rules import SchemaRules
from floe.config.sections.tables import TableSettings
from floe.exceptions import Terminal


def test_the_smallest_connector_takes_the_sinks_defaults(connector):
    made = connector()
    assert made.name == "pizzas"
    assert made.topics == ("completed-pizzas",)
    assert made.tables == ("rpc.pizzas",)
    assert made.reading.tasks == 1
    assert (made.creation.is_on, made.schema) == (False, SchemaRules())
    assert (made.catalog.name, made.catalog.properties) == ("iceberg", {"type": "sql"})
    assert made.control_topic == "control-iceberg"
    assert (made.committing.interval_ms, made.committing.timeout_ms) == (300_000, 30_000)
    assert made.group_id == "connect-pizzas"
    assert made.committing.transactional_prefix == ""
    assert made.table("rpc.pizzas") == TableSettings()
    assert made.routing == Routing()
    assert made.transforms == ()
    assert not made.errors.tolerate
    assert (made.connections.kafka, made.connections.spark) == ("kafka_default", "spark_default")
    assert made.reading.max_records == 50_000_000
    assert made.reading.on_data_loss == "fail"
    assert made.offset_reset == "earliest"
    assert made.warnings == ()


def test_both_shapes_give_the_same_connector(connector, document):
    config = document(without=("name",))
    assert parse_connector({"name": "pizzas", "config": config}) == connector()
    assert parse_connector({"config": document()}) == connector()
    assert parse_connector(config, default_name="pizzas") == connector()


def test_a_name_in_the_document_goes_before_the_default_name(document):
    assert parse_connector(document(), default_name="other").name == "pizzas"


def test_a_name_that_differs_inside_and_outside_is_refused(document):
    with pytest.raises(ConfigError, match="'a' outside and 'pizzas' inside"):
        parse_connector({"name": "a", "config": document()})


def test_the_same_name_inside_and_outside_is_fine(document):
    assert parse_connector({"name": "pizzas", "config": document()}).name == "pizzas"


def test_anything_else_beside_config_is_refused(document):
    with pytest.raises(ConfigError, match="'tasks' is beside config"):
        parse_connector({"name": "pizzas", "config": document(), "tasks": []})


@pytest.mark.parametrize("config", ["text", 1, None, []])
def test_a_config_that_is_no_object_is_refused(config):
    with pytest.raises(ConfigError, match="config must be an object"):
        parse_connector({"name": "pizzas", "config": config})


def test_a_connector_without_any_name_is_refused(document):
    with pytest.raises(ConfigError, match="has no name"):
        parse_connector(document(without=("name",)))


def test_numbers_and_booleans_are_taken_as_well_as_strings(connector):
    typed = connector({"tasks.max": 2, "iceberg.tables.auto-create-enabled": True})
    texts = connector({"tasks.max": " 2 ", "iceberg.tables.auto-create-enabled": "TRUE"})
    assert (typed.reading.tasks, typed.creation.is_on) == (texts.reading.tasks, texts.creation.is_on) == (2, True)
    assert typed.properties["tasks.max"] == "2"
    assert typed.properties["iceberg.tables.auto-create-enabled"] == "true"


@pytest.mark.parametrize(
    ("value", "why"), [(None, "is null"), ([], "is an array"), ({"a": 1}, "is an object"), (b"x", "is a bytes")]
)
def test_a_value_that_is_no_scalar_is_refused_by_its_key(problems, value, why):
    assert any(f"iceberg.catalog.uri {why}" in problem for problem in problems({"iceberg.catalog.uri": value}))


@pytest.mark.parametrize(
    ("over", "without", "message"),
    [
        ({}, ("iceberg.catalog.type",), "Must specify Iceberg catalog properties"),
        ({"iceberg.tables.dynamic-enabled": "true"}, (), "Cannot specify both static and dynamic table names"),
        (
            {"iceberg.tables.dynamic-enabled": True},
            ("iceberg.tables",),
            "Must specify a route field if using dynamic table names",
        ),
        ({}, ("iceberg.tables",), "Must specify table name(s)"),
        ({"iceberg.tables": " "}, (), "Must specify table name(s)"),
        ({"floe.route.template": " ", "floe.route.namespace": ""}, ("iceberg.tables",), "Must specify table name(s)"),
        (
            {"iceberg.tables.dynamic-enabled": True, "floe.route.template": "", "floe.route.by": " "},
            ("iceberg.tables",),
            "Must specify a route field if using dynamic table names",
        ),
        ({"iceberg.tables": "", "iceberg.tables.dynamic-enabled": "false"}, (), "Must specify table name(s)"),
    ],
)
def test_the_sinks_cross_key_errors_come_first_and_word_for_word(problems, over, without, message):
    first = problems(over, without)[0]
    assert first.startswith(f"{message}: ")
    assert "iceberg." in first.removeprefix(message)


@pytest.mark.parametrize("without", ["iceberg.catalog.type", "iceberg.tables"])
def test_a_cross_key_error_alone_is_the_whole_message(document, without):
    with pytest.raises(ConfigError) as caught:
        parse_connector(document(without=(without,)))
    assert str(caught.value).startswith("Must specify ")
    assert "\n" not in str(caught.value)


def test_the_control_topic_cannot_be_read_as_a_source(problems):
    assert "also one of topics" in problems({"topics": "a,control-iceberg"})[0]


def test_all_problems_are_found_in_one_go(problems):
    found = problems({"tasks.max": "many", "iceberg.catalgo.uri": "x", "name": "a b", "iceberg.tables.cdc-field": "op"})
    assert len(found) == 4


def test_error_of_several_problems_lists_them_under_source():
    error = ConfigError("one", "two").located("a.json")
    assert str(error) == "a.json: 2 errors\n  - one\n  - two"
    assert isinstance(error, Terminal)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("tasks.max", "abc", "Invalid value abc for configuration tasks.max: Not a number of type INT"),
        ("tasks.max", 1.5, "Invalid value 1.5 for configuration tasks.max: Not a number of type INT"),
        ("tasks.max", "2147483648", "Invalid value 2147483648 for configuration tasks.max: Not a number of type INT"),
        ("tasks.max", "0", "Invalid value 0 for configuration tasks.max: Value must be at least 1"),
        (
            "iceberg.control.commit.max-consecutive-failures",
            0,
            "Invalid value 0 for configuration iceberg.control.commit.max-consecutive-failures: "
            "Value must be at least 1",
        ),
        (
            "iceberg.tables.auto-create-enabled",
            "maybe",
            "Invalid value maybe for configuration iceberg.tables.auto-create-enabled: "
            "Expected value to be either true or false",
        ),
        (
            "iceberg.coordinator-executor-keep-alive-timeout-ms",
            "x",
            "Invalid value x for configuration iceberg.coordinator-executor-keep-alive-timeout-ms: "
            "Not a number of type LONG",
        ),
        (
            "floe.max-records-per-run",
            "0",
            "Invalid value 0 for configuration floe.max-records-per-run: Value must be at least 1, or -1 for no limit",
        ),
        *(
            (
                "floe.write.timeout",
                text,
                f"Invalid value {text} for configuration floe.write.timeout: {why}",
            )
            for text, why in (
                ("0", "Value must be at least 1000, or -1 for no limit"),
                ("999", "Value must be at least 1000, or -1 for no limit"),
                ("-2", "Value must be at least -1"),
                ("1ms", "Not a number of type INT"),
                ("1.5", "Not a number of type INT"),
                ("", "Not a number of type INT"),
                ("2147483648", "Not a number of type INT"),
            )
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_in_kafkas_words(problems, key, value, message):
    assert problems({key: value}) == (message,)


def test_interval_of_zero_is_refused_and_below_a_second_warned(connector, problems):
    assert "at least 1" in problems({"iceberg.control.commit.interval-ms": 0})[0]
    assert "by the second" in connector({"iceberg.control.commit.interval-ms": 10}).warnings[0]


def test_write_timeout_is_milliseconds_and_none_by_default(connector):
    assert connector({}).reading.write_timeout_ms is None
    assert connector({"floe.write.timeout": -1}).reading.write_timeout_ms is None
    assert connector({"floe.write.timeout": "60000"}).reading.write_timeout_ms == 60_000
    assert class_of("floe.write.timeout") is KeyClass.LIVE


def test_a_limit_of_minus_one_is_no_limit(connector):
    made = connector({"floe.max-records-per-run": -1})
    assert made.reading.max_records is None


@pytest.mark.parametrize(
    "name",
    [
        "org.apache.iceberg.connect.IcebergSinkConnector",
        "io.tabular.iceberg.connect.IcebergSinkConnector",
        "IcebergSinkConnector",
        "IcebergSink",
    ],
)
def test_the_sinks_class_is_taken_by_all_its_names(connector, name):
    assert connector({"connector.class": name}).warnings == ()


def test_another_connectors_class_is_refused(problems):
    assert "connector.class 'FileStreamSink' is not supported" in problems({"connector.class": "FileStreamSink"})[0]


def test_a_choice_that_is_not_built_is_refused(problems):
    assert problems({"floe.on-data-loss": "all"})[0].startswith("floe.on-data-loss 'all' is not supported")


def test_choices_that_are_built_pass(connector):
    assert connector({"errors.tolerance": "none", "floe.on-data-loss": "fail"}).reading.on_data_loss == "fail"


def test_dead_letter_destination_takes_records_without_route(connector):
    made = connector({"floe.deadletter.table": "ops.letters"})
    assert (made.errors.table, made.routing.on_unroutable) == ("ops.letters", "dead-letter")


def test_a_loss_of_offsets_may_be_accepted_for_good(connector):
    assert connector({"floe.on-data-loss": "accept"}).reading.on_data_loss == "accept"


def test_write_props_are_taken_in_apaches_and_tabulars_spelling(connector):
    made = connector(
        {
            "iceberg.tables.write-props.write.target-file-size-bytes": 100,
            "iceberg.table.write-props.write.parquet.compression-codec": "zstd",
        }
    )
    assert made.write_props == {
        "write.target-file-size-bytes": "100",
        "write.parquet.compression-codec": "zstd",
    }
    assert made.warnings == ()


def test_one_write_property_with_two_values_is_refused(problems):
    over = {"iceberg.tables.write-props.a": "1", "iceberg.table.write-props.a": "2"}
    assert "one setting with two values" in problems(over)[0]


@pytest.mark.parametrize("prefix", ["iceberg.tables.write-props.", "iceberg.tables.auto-create-props."])
def test_a_file_format_other_than_parquet_is_refused(problems, prefix):
    assert "floe writes parquet only" in problems({f"{prefix}write.format.default": "orc"})[0]


def test_table_properties_lose_their_prefix(connector):
    assert connector({"iceberg.tables.auto-create-props.format-version": 2}).creation.properties == {
        "format-version": "2"
    }


def test_names_of_groups_prefixes_and_connections_are_taken(connector):
    made = connector(
        {
            "iceberg.connect.group-id": "connect-other",
            "iceberg.coordinator.transactional.prefix": "team-",
            "floe.kafka.conn-id": "k",
            "floe.spark.conn-id": "s",
        }
    )
    assert (made.group_id, made.committing.transactional_prefix) == ("connect-other", "team-")
    assert (made.connections.kafka, made.connections.spark) == ("k", "s")


@pytest.mark.parametrize("key", ["iceberg.connect.group-id", "iceberg.coordinator.transactional.prefix"])
def test_a_name_that_no_broker_takes_is_refused_without_its_end(problems, key):
    (problem,) = problems({key: "g" * 40_000})
    assert problem == f"{key} has 40000 characters, from {'g' * 40!r} on: write at most 1000"


@pytest.mark.parametrize("key", ["iceberg.connect.group-id", "floe.kafka.conn-id", "iceberg.catalog"])
@pytest.mark.parametrize("value", ["", "a\nb", "a\x00"])
def test_empty_name_or_control_characters_are_refused(problems, key, value):
    assert any(problem.startswith(key) for problem in problems({key: value}))


def test_a_reference_to_a_config_provider_is_refused(problems):
    (problem,) = problems({"iceberg.catalog.token": "${file:/etc/x:token}"})
    assert problem.startswith("iceberg.catalog.token: the config provider 'file' is not allowed here")


@pytest.mark.parametrize(
    "over",
    [
        {"iceberg.catalog.uri": "://" * 300_000},
        {"iceberg.catalog.x": "${" * 400_000},
        {"iceberg.catalog.x": "${a:" * 200_000},
        {"iceberg.catalog.x": "pass" * 200_000},
        {"iceberg.table." + "write-props." * 70_000: "x"},
        {"iceberg.tables.default-partition-by": "(" * 20_000 + "," * 20_000},
        {"iceberg.tables": ".a" * 300_000},
        {"iceberg.tables": ",".join(f"a.t{n}" for n in range(40_000))}
        | {f"iceberg.table.b.t{n}.route-regex": "" for n in range(10_000)},
        {"topics": ",".join(f"t{n}" for n in range(50_000)), "floe.table.rpc.pizzas.topics": ",".join(["t9"] * 90_000)},
        {
            "topics": ",".join(f"t{n}" for n in range(50_000)),
            "iceberg.tables": "",
            "floe.route.template": "raw.{topic}",
            "floe.deadletter.table": "raw.letters",
        },
        {"topics": "", "topics.regex": "(" * 300_000},
        {"iceberg.table.rpc.pizzas.route-regex": "(" * 3_000},
        {"floe.route.template": "raw." + "{topic}" * 40_000, "iceberg.tables": ""},
        {"topics": ",".join(f"t{number}" for number in range(50_000))},
        {"name": "n" * 1_000_000},
    ],
    ids=[
        "uri",
        "open",
        "provider",
        "pass",
        "key",
        "partition",
        "table",
        "tables",
        "topics-of-table",
        "template",
        "regex",
        "route",
        "filling",
        "topics",
        "name",
    ],
)
def test_longest_possible_values_are_checked_in_time(document, over):
    begin = time.monotonic()
    try:
        repr(parse_connector(document(over)).frozen())
    except ConfigError as error:
        assert len(str(error)) < 10_000_000
    assert time.monotonic() - begin < 10


@pytest.mark.parametrize("name", [".", "..", "..."])
def test_a_connector_is_not_named_by_dots_alone(problems, name):
    assert "has nothing but dots" in problems({"name": name})[0]


@pytest.mark.parametrize("table", ["db.a?b", "db.a#b", "d?b.t"])
def test_a_table_name_that_ends_an_address_is_refused(problems, table):
    assert any("names become paths" in problem for problem in problems({"iceberg.tables": table}))


@pytest.mark.parametrize(
    "over",
    [
        {"iceberg.catalog.uri": "sqlite:////tmp/a\0b"},
        {"iceberg.catalog.warehouse": "file:///a\0"},
        {"iceberg.kafka.ssl.ca.location": "/a\0b"},
        {"iceberg.tables": "db.a\0b"},
        {"any.key\0": "x"},
    ],
)
def test_a_nul_character_is_refused_wherever_it_is(problems, over):
    assert any("NUL" in problem for problem in problems(over))
