"""Reference section 3.6: which tables a record goes to."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floe.config.sections.routing import Routing
from floe.config.sections.tables import TableSettings
from floe_job.contract.dead_letter import Rejected, dead_letters_of
from floe_job.contract.task import RouteRules
from floe_job.routing.destinations import MAX_CHARACTERS, Routed, Unusable, table_name
from floe_job.routing.router import Router
from tests.support.job.converters import JSON_CONVERTERS
from tests.support.kafka.messages import PIECE, Message, records

FIELD = Routing(by="field", path=("to",))
DYNAMIC = Routing(by="field", path=("to",), template="{value}")


def static(routing: Routing = FIELD, **regexes: str | None) -> RouteRules:
    return RouteRules(routing, tuple((t, TableSettings(route_regex=regex)) for t, regex in regexes.items()))


def route(
    rules: RouteRules, values: Sequence[Any], known: Sequence[str] = (), messages: Sequence[Message] | None = None
) -> Routed:
    raw = [value if isinstance(value, bytes) else json.dumps(value).encode() for value in values]
    names = [name for name, _ in rules.tables]
    return Router(rules, dict.fromkeys([*names, *known]), JSON_CONVERTERS).route(records(PIECE, raw, messages))


def offsets(routed: Routed) -> dict[str, list[int]]:
    return {table: list(mine.offsets) for table, mine in routed.tables.items()}


def reasons(routed: Routed) -> list[tuple[int, str]]:
    return [(one.index, one.reason) for one in routed.unroutable]


# -- static -----------------------------------------------------------------------------------------------------------


def test_every_record_goes_to_every_table_without_a_route() -> None:
    routed = route(static(Routing(), a=None, b=None), [b"no json", {}])
    assert offsets(routed) == {"a": [0, 1], "b": [0, 1]}
    assert routed.tables["a"] is routed.tables["b"]


def test_record_goes_to_each_table_matching_the_whole_value() -> None:
    routed = route(static(a="x", b="x|y+"), [{"to": to} for to in ("x", "y", "yy", "xy", "X")])
    assert offsets(routed) == {"a": [0], "b": [0, 1, 2]}
    assert (routed.reached, routed.filtered) == (3, 2)


def test_table_without_expression_gets_nothing_under_a_route() -> None:
    routed = route(static(a="x", b=None), [{"to": "x"}])
    assert offsets(routed) == {"a": [0]}


@pytest.mark.parametrize("value", [{}, {"to": None}, {"TO": "x"}])
def test_a_missing_or_null_value_is_unroutable(value: Any) -> None:
    assert reasons(route(static(a=".*"), [value])) == [(0, "it has no route value")]


@pytest.mark.parametrize(("value", "text"), [(7, "7"), (1.0, "1.0"), (True, "true"), (10**10, "10000000000")])
def test_numbers_and_booleans_are_taken_by_their_text(value: Any, text: str) -> None:
    assert offsets(route(static(a=text.replace(".", "\\.")), [{"to": value}])) == {"a": [0]}


def test_a_path_leads_into_objects_and_through_nothing_else() -> None:
    rules = static(Routing(by="field", path=("a", "b")), t="x")
    routed = route(rules, [{"a": {"b": "x"}}, {"a": "x"}, {"a": None}, {"a": {}}, {"a": ["b"]}])
    assert offsets(routed) == {"t": [0]}
    assert [index for index, _ in reasons(routed)] == [1, 2, 3, 4]
    assert "route field 'a.b' cannot be read" in reasons(routed)[0][1]


def test_what_is_no_json_object_is_no_matter_of_routing() -> None:
    routed = route(static(a=".*"), [b"no json", b"[1]", {"to": "x"}])
    assert [(one.index, one.stage) for one in routed.malformed] == [(0, "value_converter"), (1, "value_converter")]
    assert (routed.unroutable, offsets(routed)) == ([], {"a": [2]})


def test_an_expression_that_would_take_for_ever_does_not() -> None:
    routed = route(static(a="(x+x+)+y"), [{"to": "x" * 900}])
    assert routed.filtered == 1


def test_look_around_works_too() -> None:
    assert offsets(route(static(a="(?!test).*"), [{"to": "test1"}, {"to": "prod"}])) == {"a": [1]}


def test_topics_decide_where_a_table_names_them() -> None:
    tables = (("mine", TableSettings(topics=frozenset({"pizzas"}))), ("other", TableSettings(topics=frozenset({"x"}))))
    assert offsets(route(RouteRules(Routing(), tables), [{}, {}])) == {"mine": [0, 1]}
    only = RouteRules(Routing(), tables[1:])
    assert route(only, [{}, {}]).filtered == 2


def test_table_of_topics_only_gets_records_without_route_value() -> None:
    mine = frozenset({"pizzas"})
    tables = (("all", TableSettings(topics=mine)), ("some", TableSettings(topics=mine, route_regex="x")))
    routed = route(RouteRules(FIELD, tables), [{"to": "x"}, {}, {"to": {"a": [1]}}, {"to": "y" * 2000}, b"no json"])
    assert offsets(routed) == {"all": [0, 1, 2, 3], "some": [0]}
    assert (routed.unroutable, routed.filtered, len(routed.malformed)) == ([], 0, 1)


@pytest.mark.parametrize("value", ["\0", "", "\ufffd", "x" * MAX_CHARACTERS])
def test_no_value_is_taken_for_one_that_is_too_long(value: str) -> None:
    routed = route(static(a="(?s).*"), [{"to": value}, {"to": "x" * (MAX_CHARACTERS + 1)}])
    assert offsets(routed) == {"a": [0]}
    assert reasons(routed) == [(1, "its route value has more than 1000 characters")]


def test_long_route_values_are_not_kept() -> None:
    router = Router(RouteRules(DYNAMIC), {}, JSON_CONVERTERS)
    for dead_letter in "abc":
        router.route(records(PIECE, [json.dumps({"to": dead_letter * 1_000_000}).encode()]))
    assert sum(len(value or "") for _, value in router._destinations._found) < 10


def test_unreadable_headers_make_record_unroutable_dead_letter() -> None:
    rules = RouteRules(Routing(by="header", header="to", template="db.{value}"))
    mine = records(PIECE, [b"{}"], [Message(0, headers=None)])
    routed = Router(rules, {}, JSON_CONVERTERS).route(mine)
    assert "headers cannot be read" in reasons(routed)[0][1]
    (dead_letter,) = dead_letters_of(mine, [Rejected(0, "route", "why", "Unroutable")], None)
    assert (dead_letter.headers, dead_letter.value) == ((), b"{}")
    assert "headers cannot be read" in dead_letter.reason
    assert mine.select([0]).headers(0) is None


# -- dynamic ----------------------------------------------------------------------------------------------------------


def test_the_value_in_lower_case_is_the_tables_name() -> None:
    routed = route(RouteRules(DYNAMIC), [{"to": "Db.T"}, {"to": "db.u"}, {"to": "db.t"}], known=["db.t", "db.u"])
    assert offsets(routed) == {"db.t": [0, 2], "db.u": [1]}


def test_unknown_tables_are_requested_then_refused_when_missing() -> None:
    router = Router(RouteRules(DYNAMIC), {"db.t": None}, JSON_CONVERTERS)
    values = [json.dumps({"to": to}).encode() for to in ("db.t", "db.new")]
    router.route(records(PIECE, values))
    assert list(router.unknown) == ["db.new"]
    closed = route(RouteRules(DYNAMIC, closed="does not exist"), [{"to": "db.t"}, {"to": "db.new"}], known=["db.t"])
    assert reasons(closed) == [(1, "table 'db.new' does not exist")]


def test_the_table_of_the_dead_letters_is_nobodys_destination() -> None:
    routed = route(RouteRules(DYNAMIC, reserved="db.dead"), [{"to": "DB.Dead"}], known=["db.dead"])
    assert reasons(routed) == [(0, "'db.dead' is the table of the dead letters")]


@pytest.mark.parametrize(
    "value",
    [
        "", "t", ".", "db.", ".t", "db..t", "db./t", "db.t/../../x", "../../etc/passwd", "db.%2e%2e", "db.t\\u", "db.1t",
        "db.t x", "db.t\n", "db.t\x00", "db.ü", "db.\u212a", "a.b.c.d.e.f.g", "db.t." + "x" * 129, "db.t.snapshots",
        "db.t-x", "x" * (MAX_CHARACTERS + 1),
    ],
)  # fmt: skip
def test_what_is_no_name_reaches_no_catalog(value: str) -> None:
    router = Router(RouteRules(DYNAMIC), {}, JSON_CONVERTERS)
    routed = router.route(records(PIECE, [json.dumps({"to": value}).encode()]))
    assert (len(routed.unroutable), router.unknown, routed.tables) == (1, {}, {})


@pytest.mark.parametrize(
    ("template", "value", "name"),
    [
        ("{value}", "A.b", "a.b"),
        ("raw.{topic}", "", "raw.my_topic_v1"),
        ("raw.t_{value}", "42", "raw.t_42"),
        ("raw.{topic}_{value}", "X", "raw.my_topic_v1_x"),
        ("raw.{value}", "a.b", None),
        ("raw.{value}", "42", None),
        ("raw.{value}", "a-b", None),
    ],
)
def test_templates(template: str, value: str, name: str | None) -> None:
    found = table_name(template, "my-topic.v1", value)
    assert isinstance(found, Unusable) if name is None else found == name


@pytest.mark.parametrize(
    ("routing", "messages", "expected"),
    [
        (Routing(by="key", template="db.{value}"),
         [Message(0, b"a"), Message(1, b"A"), Message(2, None), Message(3, b"\xff")], [0, 1]),
        (Routing(by="header", header="to", template="db.{value}"),
         [Message(0, headers=(("to", b"b"), ("to", b"a"))), Message(1, headers=(("to", b"a"),)),
          Message(2, headers=()), Message(3, headers=(("to", None),)), Message(4, headers=(("to", b"\xff"),)),
          Message(5, headers=None), Message(6, headers=(("to", b"a"),))], [0, 1, 6]),
    ],
    ids=["key", "header"],
)  # fmt: skip
def test_keys_and_headers_route_as_text(routing: Routing, messages: list[Message], expected: list[int]) -> None:
    routed = route(RouteRules(routing), [{}] * len(messages), known=["db.a"], messages=messages)
    assert offsets(routed) == {"db.a": expected}
    assert [index for index, _ in reasons(routed)] == [i for i in range(len(messages)) if i not in expected]


# -- slices for some tables -------------------------------------------------------------------------------------------


def test_slice_for_one_table_leaves_others_to_the_live_slice() -> None:
    rules = RouteRules(FIELD, static(a="x", b="y").tables, only=frozenset({"a"}), rejects_records=False)
    routed = route(rules, [{"to": "x"}, {"to": "y"}, {}, b"no json"])
    assert offsets(routed) == {"a": [0]}
    assert (routed.filtered, routed.malformed, routed.unroutable) == (3, [], [])


# -- all together -----------------------------------------------------------------------------------------------------

VALUES = st.one_of(
    st.sampled_from([b"no json", {}, {"to": None}, {"to": {"a": 1}}, {"to": [1]}, b'"x"']),
    st.builds(lambda to: {"to": to}, st.sampled_from(["x", "y", "xx", "", 1, True, "db.x"])),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(VALUES, max_size=20))
def test_every_record_is_counted_once_in_order_per_table(values: list[Any]) -> None:
    rules = static(a="x+", b="x|y", c="1")
    routed = route(rules, values)
    alone = [route(rules, [value]) for value in values]
    assert offsets(routed) == {
        table: found for table in "abc" if (found := [i for i, one in enumerate(alone) if table in one.tables])
    }
    assert routed.reached + routed.filtered + len(routed.malformed) + len(routed.unroutable) == len(values)
    assert [one.index for one in routed.unroutable] == [i for i, one in enumerate(alone) if one.unroutable]
    assert [one.index for one in routed.malformed] == [i for i, one in enumerate(alone) if one.malformed]
    for mine in routed.tables.values():
        assert mine.messages.timestamps() == [7000 + i for i in mine.offsets]


def test_distinct_routes_are_each_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking through all records for each distinct value took 80 s of 300,000."""
    looked: list[int] = []

    def counted(look: Callable[..., Any], array: Any, *arguments: Any, **options: Any) -> Any:
        looked.append(len(array))
        return look(array, *arguments, **options)

    own = SimpleNamespace(**vars(np))  # others look through bytes with it
    for name in ("argsort", "flatnonzero", "nonzero", "where", "bincount"):
        setattr(own, name, partial(counted, getattr(np, name)))
    monkeypatch.setattr("floe_job.routing.router.np", own)
    values = [b'{"t":"%s%d"}' % (b"no-" if i % 2 else b"t", i) for i in range(2000)]
    router = Router(RouteRules(Routing(by="field", path=("t",), template="ns.{value}")), {}, JSON_CONVERTERS)
    routed = router.route(records(PIECE, values))
    assert [one.index for one in routed.unroutable] == list(range(1, 2000, 2))
    assert [mine.offsets for mine in routed.tables.values()] == [[i] for i in range(0, 2000, 2)]
    assert len(values) <= sum(looked) <= 4 * len(values)
