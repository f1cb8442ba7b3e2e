"""When runs begin: cron expressions, presets, assets, triggers only; and how Airflow runs the DAGs: ``floe.dag.*``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floe.config.keys.reader import Settings
from floe.config.sections.dag import (
    INTERVAL,
    PLAIN,
    PRESETS,
    SCHEDULE,
    TIMEZONE,
    DagSettings,
    Schedule,
    read_dag,
    read_schedule,
    schedule_of,
)

INTERVAL_MS = "iceberg.control.commit.interval-ms"


def read(given_keys: dict[str, str]) -> tuple[Schedule, Settings]:
    settings = Settings(given_keys)
    settings.check_keys()
    return read_schedule(settings), settings


def problem(text: str, timezone: str | None = None) -> str:
    schedule, settings = read({SCHEDULE: text, **({} if timezone is None else {TIMEZONE: timezone})})
    (one,) = settings.problems
    assert schedule == INTERVAL, "what is wrong schedules nothing"
    return one


def test_connector_without_schedule_has_the_interval() -> None:
    schedule, settings = read({})
    assert schedule.is_interval and schedule.text == ""
    assert (settings.problems, settings.warnings) == ([], [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30 6 * * 1-5", Schedule("30 6 * * 1-5")),
        (" */5 * * * * ", Schedule("*/5 * * * *")),
        ("0 0 L * *", Schedule("0 0 L * *")),
        ("0 12 * jan-mar MON,wed", Schedule("0 12 * jan-mar MON,wed")),
        *((preset, Schedule(preset)) for preset in PRESETS),
        ("manual", Schedule(is_manual=True)),
        ("iceberg://demo/rpc/a", Schedule(assets=("iceberg://demo/rpc/a",))),
        ("s3://b/x, iceberg://demo/rpc/a,s3://b/x", Schedule(assets=("s3://b/x", "iceberg://demo/rpc/a"))),
    ],
)
def test_each_way_to_say_when_runs_begin_is_read(text: str, expected: Schedule) -> None:
    schedule, settings = read({SCHEDULE: text})
    assert (schedule, settings.problems) == (expected, [])
    assert schedule_of(schedule.text, schedule.timezone) == (schedule, [])
    assert not schedule.is_interval


def test_time_zone_of_cron_expression_is_read() -> None:
    schedule, settings = read({SCHEDULE: "0 6 * * *", TIMEZONE: "Europe/Berlin"})
    assert (schedule, settings.problems) == (Schedule("0 6 * * *", "Europe/Berlin"), [])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Not a cron expression; write a cron expression of 5 fields"),
        ("hourly", "Not a cron expression"),
        ("Manual", "Not a cron expression"),
        ("@continuous", "Unknown preset"),
        ("60 * * * *", "Not a cron expression: [60 * * * *] is not acceptable, out of range"),
        ("*/0 * * * *", "Not a cron expression"),
        ("0 0 31 2 *", "No such date"),
        ("* * * *", "Not a cron expression"),
        ("* * * * * *", "Not a cron expression"),
        ("H * * * *", "Not a cron expression"),
        ("R R * * *", "Not a cron expression"),
        ("* * * * *\n; rm", "Not a cron expression"),
        (f"{','.join(['1'] * 500)} * * * *", "Not a cron expression"),
        ("://", "Not the URI of an asset"),
        ("s3://a b", "Not the URI of an asset"),
        ("s3://a,", "Not the URI of an asset"),
        ("airflow://x", "Airflow keeps the scheme"),
        ("s3://user:secret@bucket/x", "Remove the login"),
        ("s3://[", "Not a URI"),
        (f"s3://{'x' * 1500}", "at most 1500 characters"),
        ("s3://a\u202eb", "Not the URI of an asset"),
    ],
)
def test_schedule_that_airflow_could_not_use_is_refused(text: str, why: str) -> None:
    found = problem(text)
    assert found.startswith("Invalid value ") and f" for configuration {SCHEDULE}: " in found and why in found
    assert len(found) < 2500


@pytest.mark.parametrize(
    "zone", ["", "Mars/Olympus", "../../etc/passwd", "/etc/passwd", "Europe", "x" * 5000, "a\0b", "é"]
)
def test_unknown_time_zone_is_refused(zone: str) -> None:
    found = problem("0 6 * * *", zone)
    assert f" for configuration {TIMEZONE}: Unknown time zone; write one as Europe/Berlin" in found


def test_time_zone_without_cron_expression_is_refused() -> None:
    assert problem("manual", "Asia/Tokyo").startswith(f"{TIMEZONE} has no effect without a cron expression")
    _, settings = read({TIMEZONE: "Asia/Tokyo"})
    assert settings.problems == [f"{TIMEZONE} has no effect without a cron expression in {SCHEDULE}: remove it"]


def test_too_many_assets_are_refused() -> None:
    assert "names 101 assets: at most 100" in problem(",".join(f"s3://b/{i}" for i in range(101)))


def test_interval_beside_a_schedule_is_warned_of() -> None:
    _, settings = read({SCHEDULE: "@daily", INTERVAL_MS: "60000"})
    assert settings.warnings == [f"{INTERVAL_MS} has no effect: {SCHEDULE} says when runs begin. Remove one of them"]


@given(st.text() | st.from_regex(r"[0-9*/,LW#?-]{1,5}( [0-9*/,LW#?-]{1,5}){4}", fullmatch=True), st.none() | st.text())
def test_any_text_is_read_or_refused(text: str, timezone: str | None) -> None:
    schedule, problems = schedule_of(text, timezone)
    assert problems or schedule_of(schedule.text, schedule.timezone) == (schedule, [])


# -- floe.dag.* --------------------------------------------------------------------------------------------------------


def read_keys(given_keys: dict[str, str]) -> tuple[DagSettings, Settings]:
    settings = Settings(given_keys)
    settings.check_keys()
    return read_dag(settings), settings


def test_defaults_are_those_of_the_key_table() -> None:
    found, settings = read_keys({})
    assert (found, settings.problems) == (PLAIN, [])


def test_every_key_is_read() -> None:
    found, settings = read_keys(
        {
            "floe.dag.owner": "data team",
            "floe.dag.tags": "pizza, gold,pizza",
            "floe.dag.access-control.Pizza bakers": "can_read, can_trigger",
            "floe.dag.pool": "kafka",
            "floe.dag.queue": "big",
            "floe.dag.priority-weight": "7",
            "floe.dag.retries": "0",
            "floe.dag.retry-delay": "500",
            "floe.dag.run-timeout": "3600000",
            "floe.dag.task-timeout": "60000",
            "floe.dag.max-active-replays": "1",
            "floe.dag.is-paused": "false",
        }
    )
    access = (("Pizza bakers", ("can_read", "can_trigger")),)
    assert (found, settings.problems) == (
        DagSettings("data team", ("pizza", "gold"), access, "kafka", "big", 7, 0, 500, 3_600_000, 60_000, 1, False),
        [],
    )


@pytest.mark.parametrize(
    ("permissions", "is_warned_of"),
    [("can_read, can_trigger", True), ("can_read, can_edit, can_trigger", False), ("can_read, can_edit", False)],
)
def test_right_that_has_no_effect_is_warned_of(permissions: str, is_warned_of: bool) -> None:
    found = read_keys({"floe.dag.access-control.Bakers": permissions})[1].warnings
    assert ["can_trigger has no effect without can_edit" in one for one in found] == [True] * is_warned_of


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("owner", "", "must not be empty"),
        ("pool", " x", "has blanks around it"),
        ("queue", "q" * 251, "has 251 characters: at most 250"),
        ("tags", "a,,b", "must not be empty"),
        ("tags", "t" * 101, "has 101 characters: at most 100"),
        ("tags", "broken", "has 'broken', by which floe's own DAGs are found"),
        ("tags", ",".join(f"t{i}" for i in range(51)), "has 51 tags: at most 50"),
        ("access-control.Op", "can_fly", "Must be some of: can_read, can_edit, can_delete, can_trigger"),
        ("access-control.Op", "", "Must be some of"),
        ("access-control. Op", "can_read", "has blanks around it"),
        ("priority-weight", "0", "Value must be at least 1"),
        ("retries", "-1", "Value must be at least 0"),
        ("retries", "many", "Not a number of type INT"),
        ("retry-delay", "10 s", "Not a number of type INT"),
        ("run-timeout", "60", "Value must be at least 1000, or -1 for no limit"),
        ("task-timeout", "0", "Value must be at least 1000, or -1 for no limit"),
        ("max-active-replays", "0", "Value must be at least 1"),
        ("is-paused", "maybe", "Expected value to be either true or false"),
        ("colour", "red", "unknown key 'floe.dag.colour'"),
    ],
)
def test_value_that_airflow_could_not_use_is_refused(key: str, value: str, why: str) -> None:
    _, settings = read_keys({f"floe.dag.{key}": value})
    assert any(why in problem and "floe.dag." in problem for problem in settings.problems)
