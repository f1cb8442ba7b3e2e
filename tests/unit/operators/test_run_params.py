"""The params of a run: unknown names, old names, wrong types, and what the forms show."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import Param
from airflow.sdk.definitions.param import ParamsDict
from airflow.sdk.exceptions import ParamValidationError

from floe.config import Connector, KeyClass, parse_connector
from floe.exceptions import Terminal
from floe.model.exceptions import PlanRefused
from floe.operators import task_context
from floe.operators.dags.forms import replay_form, sink_form
from floe.operators.exceptions import ParamsRefused
from floe.operators.run_params import _MEANT, OLD_NAMES, check_alone, checked, params_of
from tests.support.connectors import MINIMAL


def connector() -> Connector:
    return parse_connector({**MINIMAL, "topics": "pizzas"})


FORM = sink_form(connector())
DEFAULTS = {name: param.value for name, param in FORM.items()}


def given(conf: Mapping[str, Any]) -> dict[str, Any]:
    """Return the params as Airflow hands them over: those of the form, and all else of the trigger."""
    return checked({**DEFAULTS, **conf}, conf, FORM)


def test_known_params_are_taken_as_they_are() -> None:
    assert given({}) == DEFAULTS
    assert given({"max_records": 5, "dry_run": True}) == {**DEFAULTS, "max_records": 5, "dry_run": True}


@pytest.mark.parametrize(
    ("conf", "words"),
    [
        (
            {"max_record": 10},
            r"'max_record' is not known: the nearest param is max_records\. Nothing was read or created",
        ),
        ({"accept-loss": True}, r"'accept-loss' is not known: the nearest param is accept_loss"),
        ({"adoptt": []}, r"the nearest param is reset_topics"),
        ({"tasks.max": 4}, r"connector keys go into the param config, as in config=\{\"tasks.max\": …\}"),
        ({"a": None, "b": None}, r"'a' is not known.*; param 'b' is not known"),
        ({f"p{i:02}": 1 for i in range(12)}, r"and 2 more"),
        ({"x" * 5000: 1}, r"is not known"),
    ],
)
def test_unknown_param_is_refused_with_the_nearest_name(conf: dict[str, Any], words: str) -> None:
    with pytest.raises(ParamsRefused, match=words) as caught:
        given(conf)
    assert isinstance(caught.value, Terminal)
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize("name", _MEANT)
def test_what_people_call_a_param_is_answered_by_the_form_that_has_it(name: str) -> None:
    for form in (FORM, replay_form(connector())):
        defaults = {one: param.value for one, param in form.items()}
        meant = next((one for one in _MEANT[name] if one in form), None)
        with pytest.raises(ParamsRefused) as caught:
            checked({**defaults, name: 1}, {name: 1}, form)
        assert meant is None or f"param {name!r} is not known: the nearest param is {meant}." in str(caught.value)


@pytest.mark.parametrize(("old", "value"), [("adopt", ["pizzas"]), ("forgive", ["db.t"]), ("hand_back", True)], ids=str)
def test_old_name_is_taken_for_the_new_one(old: str, value: Any) -> None:
    new = OLD_NAMES[old]
    assert given({old: value}) == {**DEFAULTS, new: value}
    assert given({old: value, new: value})[new] == value
    with pytest.raises(ParamsRefused, match=rf"the params {new} \(.*\) and {old}, its old name .* differ"):
        given({old: value, new: [] if isinstance(value, list) else False})


@pytest.mark.parametrize(
    ("conf", "words"),
    [
        ({"forgive": "db.t"}, r"param forgive is 'db.t': .*not of type"),
        ({"hand_back": "no"}, r"param hand_back is 'no'"),
        ({"adopt": [1]}, r"param adopt is \[1\]"),
        ({"max_records": 5.0}, r"param max_records is 5.0: write a whole number"),
    ],
)
def test_type_that_airflow_lets_through_is_refused(conf: dict[str, Any], words: str) -> None:
    with pytest.raises(ParamsRefused, match=words):
        given(conf)


def test_params_that_airflow_was_told_to_ignore_are_refused() -> None:
    with pytest.raises(ParamsRefused, match=r"ignores.*\['max_records'\].*dag_run_conf_overrides_params"):
        checked(DEFAULTS, {"max_records": 5}, FORM)


def test_params_of_a_run_are_checked_against_its_dags_form() -> None:
    dag = SimpleNamespace(params=ParamsDict({**sink_form(connector()), "own": Param(1)}))
    context: Any = {"dag": dag, "dag_run": SimpleNamespace(conf=None), "params": {**DEFAULTS, "own": 2}}
    assert params_of(context)["own"] == 2


@pytest.mark.parametrize("form", [sink_form(connector()), replay_form(connector())], ids=["sink", "replay"])
def test_no_optional_param_of_a_form_is_shown_as_required(form: dict[str, Param]) -> None:
    required = [name for name, param in form.items() if "null" not in param.schema["type"]]
    assert required in ([], ["topic"])
    for param in form.values():
        assert param.resolve() == param.value


def test_param_of_two_types_says_that_its_field_takes_json() -> None:
    """Airflow's field of such a param takes no plain text."""
    found = {
        name: param for name, param in sink_form(connector()).items() if len({*param.schema["type"]} - {"null"}) > 1
    }
    assert list(found) == ["accept_loss"]
    text = str(found["accept_loss"].description)
    assert "as JSON" in text and '["orders", "payments-0"]' in text and "true" in text


def test_tables_are_offered_only_where_the_connector_names_them() -> None:
    dynamic = {"iceberg.tables": "", "iceberg.tables.dynamic-enabled": "true", "iceberg.tables.route-field": "to"}
    forms = [replay_form(parse_connector({**MINIMAL, "topics": "pizzas", **more})) for more in ({}, dynamic)]
    assert ["examples" in form["tables"].schema for form in forms] == [True, False]


def test_form_keeps_what_gives_up_data_apart() -> None:
    sections: dict[str | None, list[str]] = {}
    for name, param in sink_form(connector()).items():
        sections.setdefault(param.schema.get("section"), []).append(name)
    assert list(sections) == [
        None,
        "First run",
        "Connector keys",
        "Recovery",
        "Kafka Connect",
        "Recovery that gives up data",
    ]
    assert sections[None] == ["max_records", "dry_run", "diagnose"]
    assert sections["Recovery that gives up data"] == ["skip_to", "accept_loss", "drop_backlog", "reset_topics"]


def test_config_offers_the_keys_that_a_run_may_set() -> None:
    one = parse_connector({**MINIMAL, "tasks.max": 3, "iceberg.catalog.token": "s3cr3t-t0ken"})
    texts = [form["config"].schema["description_md"] for form in (sink_form(one), replay_form(one))]
    assert all("\n* tasks.max: 3\n" in text and "s3cr3t" not in text for text in texts)
    assert ["\n* floe.route.by" in text for text in texts] == [False, True]
    assert not any("floe.dag.owner" in text or "floe.kafka.conn-id" in text for text in texts)


def test_replay_form_opens_with_the_ranges() -> None:
    form = replay_form(connector())
    assert next(iter(form)) == "ranges"
    assert "section" not in form["ranges"].schema
    assert form["config"].schema["section"] == "Connector keys"


def test_keys_of_config_are_one_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    name = "iceberg.tables.write-props.write.metadata.metrics.column.a\nplan 1 was superseded"
    with caplog.at_level("INFO"):
        task_context.with_params(connector(), {"config": {name: "counts", "tasks.max": 2}}, KeyClass.LIVE)
    (line,) = [record.getMessage() for record in caplog.records if "overrides" in record.getMessage()]
    assert line.splitlines() == [f"this run overrides: {name!r}, tasks.max"]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"return_to_connect": True, "takeover": True}, "return_to_connect cannot be combined with takeover"),
        ({"return_to_connect": True, "dry_run": True}, "return_to_connect cannot be combined with dry_run"),
        ({"diagnose": True, "max_records": 5}, "diagnose cannot be combined with max_records"),
        ({"return_to_connect": True, "skip_to": {"t": 1}}, "return_to_connect cannot be combined with skip_to"),
        ({"takeover": True, "start_at": {"t": 1}}, "takeover cannot be combined with start_at"),
    ],
)
def test_params_that_would_be_passed_over_are_refused(params: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanRefused, match=f"{words}. Nothing was done"):
        check_alone(params)
    for name in params:
        check_alone({name: params[name], "dry_run": params.get("dry_run") if name == "dry_run" else False})


@pytest.mark.parametrize("value", ["latest", {"t-0": -1}, {"t-0": [1]}, {"t-0": 1.5}, [1]], ids=str)
def test_form_refuses_offsets_of_another_type(value: object) -> None:
    for name in ("start_at", "skip_to"):
        with pytest.raises(ParamValidationError, match=r"is not of type|less than the minimum|not valid"):
            FORM[name].resolve(value)
