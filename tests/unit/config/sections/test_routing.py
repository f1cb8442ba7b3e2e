"""Routing, as configured: where the route value is, how it names tables, what cannot be."""

import pytest

from floe.config.sections.routing import Routing, topic_part

KEY, AVRO = "key.converter", "io.confluent.connect.avro.AvroConverter"
FIELD, BY, HEADER = "iceberg.tables.route-field", "floe.route.by", "floe.route.header"
TEMPLATE, NAMESPACE, UNROUTABLE = "floe.route.template", "floe.route.namespace", "floe.route.on-unroutable"
DYNAMIC, DEAD_LETTERS = "iceberg.tables.dynamic-enabled", "floe.deadletter.table"
REGEX = "iceberg.table.rpc.pizzas.route-regex"
NO_TABLES = ("iceberg.tables",)


# -- static -----------------------------------------------------------------------------------------------------------


def test_without_any_key_every_table_gets_every_record(connector):
    assert connector().routing == Routing()
    assert not connector().routing.is_dynamic
    assert not connector().routing.is_by_value


@pytest.mark.parametrize(
    ("over", "routing"),
    [
        ({FIELD: "a.b"}, Routing(by="field", path=("a", "b"))),
        ({FIELD: "a", BY: "FIELD"}, Routing(by="field", path=("a",))),
        ({BY: "header", HEADER: "kind"}, Routing(by="header", header="kind")),
        ({BY: "key"}, Routing(by="key")),
    ],
)
def test_a_route_value_stands_in_a_field_a_header_or_the_key(connector, over, routing):
    made = connector({**over, REGEX: "x"})
    assert made.routing == routing
    assert made.routing.is_by_value
    assert made.warnings == ()


def test_table_without_expression_gets_nothing_and_a_warning(connector):
    over = {
        FIELD: "kind",
        "iceberg.tables": "rpc.pizzas, rpc.rest, rpc.all",
        "floe.table.rpc.all.topics": "completed-pizzas",
    }
    (warning,) = connector({**over, REGEX: "x"}).warnings
    assert warning.startswith("table 'rpc.rest' has no iceberg.table.<table>.route-regex")


def test_a_topic_that_no_table_takes_is_warned_of(connector):
    over = {"topics": "a,b,c", "iceberg.tables": "rpc.x,rpc.y", "floe.table.rpc.x.topics": "a"}
    assert connector(over).warnings == ()  # the other one takes all
    (warning,) = connector({**over, "floe.table.rpc.y.topics": "a,b"}).warnings
    assert warning.startswith("no table of iceberg.tables takes the records of c: they are read, and filtered")
    assert connector({**over, "floe.table.rpc.y.topics": "b,c"}).warnings == ()


def test_a_route_that_no_table_asks_for_is_refused(problems):
    (problem,) = problems({FIELD: "kind"})
    assert problem.startswith("a route is given, but no table has a condition")


def test_an_expression_without_a_route_is_refused(problems):
    (problem,) = problems({REGEX: "x"})
    assert problem.startswith(f"{REGEX} is given, but not where the route value is")


@pytest.mark.parametrize("key", [UNROUTABLE, "floe.route.max-new-tables"])
def test_keys_for_other_routings_are_warned_of(connector, key):
    (warning,) = connector({key: "drop" if key == UNROUTABLE else "5"}).warnings
    assert warning == f"{key} has no effect: the tables are those of iceberg.tables"


# -- where the value is -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("over", "problem"),
    [
        (
            {BY: "value", FIELD: "a"},
            "floe.route.by 'value' is no place to look for a route: set one of field, header, key",
        ),
        ({BY: "field"}, "floe.route.by is field, but iceberg.tables.route-field does not name one"),
        ({BY: "header", HEADER: "a", FIELD: "a"}, f"{FIELD} and {BY}=header name two places"),
        ({BY: "key", FIELD: "a"}, f"{FIELD} 'a' is a field of the key with {BY}=key, but no {KEY} is given"),
        ({BY: "key", FIELD: "a", KEY: "StringConverter"}, f"but {KEY} 'StringConverter' gives keys without fields"),
        ({BY: "key", FIELD: "a..b", KEY: "JsonConverter"}, "'a..b' has an empty part"),
        ({BY: "key", KEY: "my.Own"}, f"{KEY} 'my.Own' is no converter that floe knows"),
        (
            {BY: "key", KEY: "my.Own"},
            "For a route by the bytes of keys as text set org.apache.kafka.connect.converters.Byte",
        ),
        ({BY: "key", KEY: "AvroConverter"}, f"{KEY} 'AvroConverter' is the name of several classes"),
        ({BY: "key", KEY: AVRO}, f"{KEY}.schema.registry.url is not given"),
        ({BY: "header"}, "floe.route.header and floe.route.by=header go together"),
        ({BY: "key", HEADER: "a"}, "floe.route.header and floe.route.by=header go together"),
        ({BY: "header", HEADER: "a\u202eb"}, "floe.route.header has blanks around it or control characters"),
        ({FIELD: "a..b"}, "iceberg.tables.route-field 'a..b' has an empty part"),
        ({FIELD: ".a"}, "has an empty part"),
        ({FIELD: "a\x00"}, "or characters that are not seen"),
        ({FIELD: "a", UNROUTABLE: "skip"}, "floe.route.on-unroutable 'skip' is not supported"),
        ({FIELD: "a", UNROUTABLE: "dead-letter"}, "is dead-letter, but there is no place for them"),
        ({FIELD: "a", "floe.route.max-new-tables": "-1"}, "Value must be at least 0"),
    ],
)
def test_a_place_that_is_none_is_refused(problems, over, problem):
    assert any(problem in found for found in problems({**over, REGEX: "x"}))


def test_a_field_of_the_key_is_the_route_value(connector):
    over = {BY: "key", FIELD: "a.b", KEY: AVRO, f"{KEY}.schema.registry.url": "http://r", REGEX: "x", f"{KEY}.x": "1"}
    made = connector(over)
    assert (made.routing.by, made.routing.path, made.key_converter.kind) == ("key", ("a", "b"), "avro")
    assert made.warnings == (f"{KEY}.x has no effect: it is no option of {AVRO}",)
    assert made.route_rule("rpc.pizzas", "pizzas") == {"by": "key", "of": ["a", "b"], "regex": "x"}


def test_a_whole_key_is_routed_by_as_ever(connector):
    for converter in ({}, {KEY: "StringConverter"}, {KEY: "JsonConverter"}):
        made = connector({BY: "key", REGEX: "x", **converter})
        assert made.route_rule("rpc.pizzas", "pizzas") == {"by": "key", "of": "", "regex": "x"}
        assert (made.routing.path, made.warnings) == ((), ())


# -- records that name their tables -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("over", "template", "destination"),
    [
        ({DYNAMIC: "true", FIELD: "a"}, "{value}", "the tables that the field 'a' names"),
        ({DYNAMIC: "true", FIELD: "a.b"}, "{value}", "the tables that the field 'a.b' names"),
        ({DYNAMIC: "true", BY: "key"}, "{value}", "the tables that the key names"),
        ({DYNAMIC: "true", BY: "header", HEADER: "h"}, "{value}", "the tables that the header 'h' names"),
        ({DYNAMIC: "true", TEMPLATE: "raw.{topic}"}, "raw.{topic}", "tables raw.{topic}, one for each topic"),
        (
            {DYNAMIC: "true", FIELD: "a", NAMESPACE: "raw"},
            "raw.{value}",
            "tables raw.{value}, where {value} is what the field 'a' has",
        ),
        ({TEMPLATE: "raw.{topic}"}, "raw.{topic}", "tables raw.{topic}, one for each topic"),
        ({TEMPLATE: "a.b_2.{topic}_v1"}, "a.b_2.{topic}_v1", "tables a.b_2.{topic}_v1, one for each topic"),
        (
            {TEMPLATE: "{topic}.{value}", BY: "key"},
            "{topic}.{value}",
            "tables {topic}.{value}, where {value} is what the key has",
        ),
        ({TEMPLATE: "{value}", BY: "key"}, "{value}", "the tables that the key names"),
        (
            {NAMESPACE: "raw.events", BY: "key"},
            "raw.events.{value}",
            "tables raw.events.{value}, where {value} is what the key has",
        ),
    ],
)
def test_records_name_their_tables_by_a_template(connector, over, template, destination):
    made = connector(over, NO_TABLES)
    assert made.routing.template == template
    assert made.routing.is_dynamic
    assert (made.tables, made.destination) == ((), destination)
    assert made.warnings == ()


@pytest.mark.parametrize(
    ("over", "problem"),
    [
        ({TEMPLATE: "raw.{value}"}, "asks for {value}, but no key says where it is"),
        ({NAMESPACE: "raw"}, "floe.route.namespace 'raw' asks for {value}, but no key says where it is"),
        ({TEMPLATE: "raw.{topic}", BY: "key"}, "does not use the route's value"),
        ({TEMPLATE: "raw.orders"}, "names one table: write it in iceberg.tables"),
        ({TEMPLATE: "raw.{partition}"}, "floe.route.template has {partition}: only {value} and {topic} are filled in"),
        ({TEMPLATE: "{topic}"}, "makes no table names"),
        ({TEMPLATE: "raw.{topic"}, "makes no table names"),
        ({TEMPLATE: "Raw.{topic}"}, "makes no table names"),
        ({TEMPLATE: "raw..{topic}"}, "makes no table names"),
        ({TEMPLATE: "raw.2{topic}"}, "makes no table names"),
        ({TEMPLATE: "raw/../x.{topic}"}, "makes no table names"),
        ({TEMPLATE: f"{'r' * 129}.{{topic}}"}, "makes no table names"),
        ({NAMESPACE: "../x", BY: "key"}, "floe.route.namespace '../x' makes no table names"),
        ({TEMPLATE: "{value}.events", BY: "key"}, "lets records choose their namespace"),
        ({NAMESPACE: "{value}", BY: "key"}, "lets records choose their namespace"),
        ({TEMPLATE: "raw.{topic}", NAMESPACE: "raw"}, "both name the namespace: keep one"),
    ],
)
def test_a_template_that_names_no_tables_safely_is_refused(problems, over, problem):
    assert any(problem in found for found in problems(over, NO_TABLES))


@pytest.mark.parametrize("over", [{TEMPLATE: "raw.{topic}"}, {NAMESPACE: "raw", BY: "key"}])
def test_tables_are_named_by_connector_or_records_not_both(problems, over):
    assert f"{next(iter(over))}: Cannot specify both static and dynamic table names" in problems(over)


def test_record_chosen_namespace_with_auto_create_warns(connector):
    over = {DYNAMIC: "true", FIELD: "a", "iceberg.tables.auto-create-enabled": "true"}
    (warning,) = connector(over, NO_TABLES).warnings
    assert "records name the namespace too" in warning
    assert connector({**over, NAMESPACE: "raw"}, NO_TABLES).warnings == ()


# -- topics in names --------------------------------------------------------------------------------------------------


def test_a_topic_in_a_name_has_underscores_and_small_letters():
    assert topic_part("Shop.orders-v2") == "shop_orders_v2"


@pytest.mark.parametrize(("one", "other"), [("a.b", "a-b"), ("a.b", "a_b"), ("Orders", "orders")])
@pytest.mark.parametrize("template", [{TEMPLATE: "raw.{topic}"}, {TEMPLATE: "raw.{topic}_{value}", BY: "key"}])
def test_two_topics_of_one_table_are_refused_by_both_names(problems, one, other, template):
    (problem,) = problems({"topics": f"x,{one},{other}", **template}, NO_TABLES)
    assert problem.startswith(f"topics {one!r} and {other!r} are both {topic_part(one)!r}")


def test_topics_may_be_alike_where_they_are_not_in_the_name(connector):
    assert connector({"topics": "a.b,a-b", NAMESPACE: "raw", BY: "key"}, NO_TABLES).topics == ("a.b", "a-b")


@pytest.mark.parametrize("topic", ["2024-orders", "x" * 129])
def test_a_topic_that_makes_no_name_is_refused(problems, topic):
    (problem,) = problems({"topics": topic, TEMPLATE: "raw.{topic}"}, NO_TABLES)
    assert problem.startswith(f"topic {topic!r} makes no table name by 'raw.{{topic}}'")


def test_a_prefix_makes_a_name_of_it(connector):
    assert connector({"topics": "2024-orders", TEMPLATE: "raw.t_{topic}"}, NO_TABLES).routing.is_dynamic


# -- unroutable records -----------------------------------------------------------------------------------------------


def test_unroutable_records_fail_run_without_a_destination(connector):
    over = {FIELD: "a", REGEX: "x"}
    assert connector(over).routing.on_unroutable == "fail"
    assert connector({**over, DEAD_LETTERS: "ops.letters"}).routing.on_unroutable == "dead-letter"
    assert connector({**over, DEAD_LETTERS: "ops.letters", UNROUTABLE: "drop"}).routing.on_unroutable == "drop"
    assert connector({**over, DEAD_LETTERS: "ops.letters", "errors.tolerance": "none"}).routing.on_unroutable == "fail"


@pytest.mark.parametrize(
    ("over", "dead_letters"),
    [
        ({NAMESPACE: "raw", BY: "key"}, "raw.letters"),
        ({NAMESPACE: "raw", BY: "key"}, "Raw.Letters"),
        ({TEMPLATE: "raw.dead_{value}", BY: "key"}, "raw.dead_letters"),
        ({TEMPLATE: "raw.{topic}"}, "raw.completed_pizzas"),
        ({TEMPLATE: "raw.{topic}_{value}", BY: "key"}, "raw.completed_pizzas_dead"),
        ({TEMPLATE: "raw.{topic}", "topics": "", "topics.regex": "a.*"}, "raw.letters"),
    ],
)
def test_dead_letter_table_is_none_that_a_record_may_name(problems, over, dead_letters):
    (problem,) = problems({**over, DEAD_LETTERS: dead_letters}, NO_TABLES)
    assert problem.startswith(f"the table for dead letters {dead_letters!r} could be named by ")


@pytest.mark.parametrize(
    ("over", "dead_letters"),
    [
        ({NAMESPACE: "raw", BY: "key"}, "ops.letters"),
        ({NAMESPACE: "raw", BY: "key"}, "raw.dead.letters"),
        ({TEMPLATE: "raw.{topic}"}, "raw.letters"),
        ({TEMPLATE: "raw.{topic}_{value}", BY: "key"}, "raw.dead_letters"),
        ({DYNAMIC: "true", FIELD: "a"}, "ops.letters"),
    ],
)
def test_dead_letter_table_elsewhere_is_accepted(connector, over, dead_letters):
    assert connector({**over, DEAD_LETTERS: dead_letters}, NO_TABLES).errors.table == dead_letters
