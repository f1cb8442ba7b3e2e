"""floe's page in a real browser, on Airflow's real API server."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.api.axe import axe_source, findings
from tests.support.api.browser import open_page
from tests.support.api.records import HOSTILE, SCRIPT
from tests.support.api.server import ApiServer

pytestmark = pytest.mark.full

SignIn = Callable[..., Any]
VIEWS = ("#/", "#/connectors/orders", "#/connectors/hostile-0", "#/connectors/hostile-2", "#/connectors/no-such")


def sizes(width: int) -> dict[str, Any]:
    return {"viewport": {"width": width, "height": 800}}


def texts(page: Any, selector: str) -> list[str]:
    return [str(one) for one in page.locator(selector).all_inner_texts()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("view", VIEWS)
def test_no_view_is_wider_than_the_screen(
    server: ApiServer, sign_in: SignIn, view: str, width: int, scheme: str
) -> None:
    page = sign_in(**sizes(width), color_scheme=scheme)
    open_page(page, server, view)
    for summary in page.locator("details > summary").all()[:12]:
        summary.click()
    wide = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.dataset.theme]")
    assert wide == [width, scheme]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing(server: ApiServer, sign_in: SignIn, view: str, scheme: str) -> None:
    source = axe_source()
    if source is None:
        pytest.skip("axe-core is not here and npm cannot fetch it")
    page = sign_in(**sizes(1280), color_scheme=scheme)
    open_page(page, server, view)
    found = findings(page, source)
    for summary in page.locator("details > summary").all()[:12]:
        summary.click()
    found += findings(page, source)
    if view == "#/connectors/orders":
        for name in ("Run now…", "Pause…", "Replay…", "Redrive dead letters…"):
            page.get_by_role("button", name=name, exact=True).first.click()
            found += findings(page, source)
            page.keyboard.press("Escape")
    page.set_viewport_size({"width": 390, "height": 800})
    found += findings(page, source)
    assert found == []


@pytest.mark.parametrize("index", range(len(HOSTILE)))
def test_hostile_texts_are_shown_as_text(server: ApiServer, sign_in: SignIn, index: int) -> None:
    page = sign_in()
    open_page(page, server, f"#/connectors/hostile-{index}")
    for summary in page.locator("details > summary").all():
        summary.click()
    shown = page.locator("main").inner_text()
    expected = ("<script>window.hacked=1</script>", r"\u{202e}gnp.exe\u{200b}\u{0}\u{1b}[31m", "(10,000 characters)")[
        index
    ]
    assert expected in shown
    assert [one for one in ("\u202e", "\u200b", "\x1b") if one in shown] == []
    assert page.locator("main script, main img").count() == 0


def test_dag_named_by_a_script_is_text_and_leads_to_its_view(server: ApiServer, sign_in: SignIn) -> None:
    page = sign_in()
    open_page(page, server)
    page.get_by_role("link", name="<img src=x").click()
    page.locator(".facts").wait_for()
    assert page.locator("h1").inner_text().startswith("<img src=x onerror=window.hacked=1>")
    assert quote("<img", safe="") in page.url


def test_list_says_what_needs_attention_first(server: ApiServer, sign_in: SignIn) -> None:
    page = sign_in()
    open_page(page, server)
    first = texts(page, "tbody th a")[:2]
    assert first == ["returns", "refunds"]
    assert texts(page, "tbody th a")[2] == "sessions"
    page.locator("#filter-state").select_option("paused")
    assert texts(page, "tbody th a") == ["inventory"]
    page.locator("#filter-state").select_option("all")
    page.locator("#filter").fill("click")
    assert texts(page, "tbody th a") == ["clickstream"]
    assert page.evaluate("document.activeElement.id") == "filter"
    page.locator("#filter").fill("nothing of that name")
    page.get_by_role("button", name="Show all").click()
    page.locator("#sort-lag").click()
    page.locator("#sort-lag").click()
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("Lag, records")
    assert texts(page, "tbody th a")[0] == "clickstream"


def test_states_without_a_good_record_are_written_out(server: ApiServer, sign_in: SignIn) -> None:
    page = sign_in()
    said = {}
    for name in ("returns", "audit-log", "newcomer", "sensors", "refunds", "no-such"):
        open_page(page, server, f"#/connectors/{name}")
        said[name] = page.locator("main").inner_text()
    assert "The connector file has errors" in said["returns"]
    assert "its status record cannot be read" in said["audit-log"]
    assert "no status is kept yet" in said["newcomer"]
    assert "This status is old" in said["sensors"]
    assert "Late: records are older than 10 min (floe.freshness.max-ms) and not in their tables" in said["sensors"]
    assert "Tables are behind" in said["refunds"] and "The last run failed" in said["refunds"]
    assert "There is no such connector" in said["no-such"]


def test_error_of_the_last_run_is_shown_as_text(server: ApiServer, sign_in: SignIn) -> None:
    page = sign_in()
    path = "**/floe/view/connectors/refunds"

    def fail(route: Any) -> None:
        answer = route.fetch().json()
        route.fulfill(json={**answer, "dag": {**answer["dag"], "failure": f"{SCRIPT}. See FLOE-501."}})

    page.route(path, fail)
    open_page(page, server, "#/connectors/refunds")
    said = page.locator(".notice.bad", has_text="The last run failed.").inner_text()
    assert SCRIPT in said and "See FLOE-501." in said


def test_failing_connector_says_since_when_while_a_run_is_at_work(server: ApiServer, sign_in: SignIn) -> None:
    page = sign_in()
    open_page(page, server, "#/connectors/sessions")
    assert page.locator("h1 .badge").first.inner_text() == "Failing"
    said = page.locator(".notice.bad").first.inner_text()
    assert said.startswith("Failing since 20") and "2 runs." in said


def test_dead_scheduler_is_said_in_both_views(server: ApiServer, sign_in: SignIn) -> None:
    page = sign_in()
    text = "Airflow's scheduler is not alive: it sent its last heartbeat at 2026-01-01T00:00:00+00:00"

    def kill(route: Any) -> None:
        answer = route.fetch().json()
        changed = {"state": "stalled"} if "connectors" not in answer else {}
        route.fulfill(json={**answer, **changed, "airflow": [text]})

    page.route("**/floe/view/**", kill)
    for view in ("#/", "#/connectors/payments"):
        open_page(page, server, view)
        assert text in page.locator(".notice.bad").first.inner_text()
    assert page.locator("h1 .badge").first.inner_text() == "No scheduler"


def test_rolled_back_table_is_no_table_without_holes(server: ApiServer, sign_in: SignIn) -> None:
    page = sign_in()
    open_page(page, server, "#/connectors/shipments")
    said = page.locator("main").inner_text()
    assert page.locator("h1 .badge").first.inner_text() == "Problems"
    assert "No holes" not in said and "may claim what is not there" in said
    assert "stock.shipments: table 'stock.shipments' was rolled back" in page.locator(".notice.bad").first.inner_text()


def test_nobody_is_blamed_who_was_not_asked(server: ApiServer, sign_in: SignIn) -> None:
    page = sign_in()
    path = "**/floe/view/connectors/payments"

    def broken(route: Any) -> None:
        answer = route.fetch().json()
        status = {**answer["record"]["status"], "partitions": None, "tables": None, "problems": ["a.json is broken: ["]}
        route.fulfill(json={**answer, "state": "broken", "record": {**answer["record"], "status": status}})

    page.route(path, broken)
    open_page(page, server, "#/connectors/payments")
    said = page.locator("main").inner_text()
    assert "did not answer" not in said and said.count("They are not known: the problems above say why.") == 2


def test_replays_are_listed_with_state_and_error(server: ApiServer, sign_in: SignIn) -> None:
    page = sign_in()
    open_page(page, server, "#/connectors/orders")
    rows = [" ".join(row.split()) for row in texts(page, "[aria-label=Replays] tbody tr")]
    assert "waits for the scheduler, or a free place: 4 run at once" in rows[0] and "offsets of 1 partition" in rows[0]
    assert "dead letters" in rows[1] and "failed" in rows[1] and "column 'total' is required" in rows[1]
    assert "Preview:" in rows[2] and "ended" in rows[2] and "replace" in rows[3]
    path = "**/floe/view/connectors/orders"

    def drop_waiting(route: Any) -> None:
        answer = route.fetch().json()
        known = answer["replays"]
        route.fulfill(json={**answer, "replays": {**known, "runs": known["runs"][1:]}})

    page.route(path, drop_waiting)
    open_page(page, server, "#/connectors/orders")
    assert page.locator(".notice.warn").first.inner_text().startswith("The last redrive failed, ")
    other = sign_in("other")
    open_page(other, server, "#/connectors/payments")
    assert other.get_by_role("heading", name="Replays").count() == 0


def test_rows_of_a_table_and_of_its_last_commit_are_told_apart(server: ApiServer, sign_in: SignIn) -> None:
    page = sign_in()
    open_page(page, server, "#/connectors/orders")
    summary = page.locator("summary", has_text="branch main").first.inner_text()
    assert "4,812,004 rows in all; last commit " in summary and ": +9,120 rows" in summary
    assert page.locator(".facts").inner_text().count("–") == 0, "the dead-letter table has no valid-through time"
    letters = texts(page, "summary:has-text('NotJson')")
    assert "before a table was chosen, stage decode" in letters[0]


@pytest.mark.parametrize("minutes", [-3, 75])
def test_run_that_is_due_is_not_in_the_past(server: ApiServer, sign_in: SignIn, minutes: int) -> None:
    page = sign_in()
    at = (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat()

    def move(route: Any) -> None:
        answer = route.fetch().json()
        route.fulfill(json={**answer, "dag": {**answer["dag"], "next_run": at}})

    page.route("**/floe/view/connectors/payments", move)
    open_page(page, server, "#/connectors/payments")
    said = page.locator(".facts > div", has_text="Next run").inner_text()
    assert ("due" in said, "ago" in said, "in 1 h" in said) == (minutes < 0, False, minutes > 0)


def test_focus_returns_to_the_button_that_is_drawn_again(server: ApiServer, sign_in: SignIn) -> None:
    page = sign_in()
    open_page(page, server, "#/connectors/orders")
    page.locator("#act-run").click()
    page.evaluate("document.getElementById('act-run').replaceWith(document.getElementById('act-run').cloneNode(true))")
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")
    assert page.evaluate("document.activeElement.id") == "act-run"


def test_empty_list_says_how_a_connector_comes(server: ApiServer, sign_in: SignIn) -> None:
    page = sign_in("stranger")
    open_page(page, server)
    assert "No connector is here yet" in page.locator("main").inner_text()


def test_server_that_is_gone_is_said_and_what_was_shown_stays(server: ApiServer, sign_in: SignIn) -> None:
    page = sign_in()
    open_page(page, server)
    page.route("**/floe/view/**", lambda route: route.abort())
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.locator("#trouble").wait_for()
    assert "not current any more" in page.locator("#trouble").inner_text()
    assert page.locator("tbody tr").count() > 5
    page.unroute("**/floe/view/**")
    page.route("**/floe/view/**", lambda route: route.fulfill(status=401, json={"detail": "Token Expired"}))
    page.evaluate("location.hash = '#/connectors/orders'")
    page.get_by_text("You are not signed in any more").first.wait_for()


def test_holes_are_seen_and_lead_to_the_replay_form(server: ApiServer, sign_in: SignIn) -> None:
    page = sign_in()
    open_page(page, server, "#/connectors/orders")
    assert page.locator("rect.hole").count() == 4
    widths = page.evaluate("[...document.querySelectorAll('rect.hole')].map(one => one.getBoundingClientRect().width)")
    assert min(widths) >= 2
    page.locator("summary", has_text="2 holes").first.click()
    page.get_by_role("button", name=re.compile("^Replay ")).first.click()
    values = [box.input_value() for box in page.locator(".range-line input").all()]
    assert values[0] == "1" and int(values[1]) < int(values[2])


def test_offsets_behind_the_last_row_are_a_hole_where_behind(server: ApiServer, sign_in: SignIn) -> None:
    page = sign_in()
    found = {}
    for name in ("refunds", "inventory", "payments"):
        open_page(page, server, f"#/connectors/{name}")
        found[name] = (page.locator("rect.hole").count(), page.locator("rect.since").count())
    assert found == {"refunds": (1, 0), "inventory": (0, 4), "payments": (0, 0)}
    open_page(page, server, "#/connectors/inventory")
    assert page.locator("rect.later").count() == 4
    assert "read after the ledger was looked up" in str(page.locator(".bar svg").first.get_attribute("aria-label"))


def test_link_of_a_run_opens_the_filled_replay_form(server: ApiServer, sign_in: SignIn) -> None:
    page = sign_in()
    ranges = quote('{"0":[1,2],"3":[null,7]}')
    open_page(page, server, f"#/connectors/orders/replay?ranges={ranges}&topic=shop.orders&overlap=replace")
    page.locator("dialog").wait_for()
    values = [box.input_value() for box in page.locator(".range-line input").all()]
    assert values == ["0", "1", "2", "3", "", "7"]
    assert page.locator("#overlap").input_value() == "replace"


def test_bad_ranges_are_said_before_anything_is_asked(server: ApiServer, sign_in: SignIn) -> None:
    page = sign_in()
    open_page(page, server, "#/connectors/orders/replay?" + "ranges=" + quote('{"0":[9,2]}'))
    page.locator("#preview").click()
    page.get_by_text("is not after the first").wait_for()
    assert page.get_by_role("button", name="Replay", exact=True).is_disabled()


def test_buttons_are_those_of_the_users_rights(server: ApiServer, sign_in: SignIn) -> None:
    shown = {}
    for user in ("viewer", "user", "other"):
        page = sign_in(user)
        open_page(page, server, "#/connectors/payments")
        shown[user] = texts(page, ".head .actions button")
    assert shown == {
        "viewer": [],
        "user": ["Run now…", "Pause…", "Replay…", "Diagnose…"],
        "other": ["Run now…", "Pause…", "Diagnose…"],
    }


def test_pause_and_resume_by_the_keyboard_alone(server: ApiServer, sign_in: SignIn) -> None:
    page = sign_in()
    open_page(page, server)
    page.keyboard.press("Tab")
    for _ in range(60):
        if page.evaluate("document.activeElement.id") == "link-orders":
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator(".facts").wait_for()
    for state, button in (("Paused", "Pause"), ("Ready", "Resume")):
        for _ in range(30):
            if page.evaluate("document.activeElement.id") == "act-pause":
                break
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.locator("dialog h2").inner_text() == button
        while page.evaluate("document.activeElement.textContent") != button:
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.locator("h1 .badge", has_text=state).wait_for()
        assert page.evaluate("document.activeElement.id") == "act-pause"


def test_run_now_queues_a_run_in_airflow(server: ApiServer, sign_in: SignIn) -> None:
    page = sign_in()
    open_page(page, server, "#/connectors/orders")
    page.locator("#act-run").click()
    page.get_by_role("button", name="Run now", exact=True).click()
    link = page.get_by_role("link", name="Open the run in Airflow")
    link.wait_for()
    with server.client("user") as client:
        runs = client.get("/api/v2/dags/orders/dagRuns").json()["dag_runs"]
    assert any(
        quote(run["dag_run_id"]) in str(link.get_attribute("href")) for run in runs if run["run_type"] == "manual"
    )


def test_run_now_has_a_limit_keys_and_a_preview(server: ApiServer, sign_in: SignIn) -> None:
    page = sign_in()
    open_page(page, server, "#/connectors/orders")
    run = "**/api/v2/dags/orders/dagRuns/"
    one = {"partition": "orders-0", "range": [100, 250], "read": 150, "kind": "live", "tables": SCRIPT}
    plan = {"read": 150, "slices": 1, "partitions": [one], "more": 0}
    page.route(f"{run}*", lambda route: route.fulfill(json={"state": "success"}))
    page.route(f"{run}*/taskInstances/plan/xcomEntries/**", lambda route: route.fulfill(json={"value": plan}))
    page.locator("#act-run").click()
    for field, text, problem in (
        ("#run-config", "{", "The connector keys are no JSON"),
        ("#run-config", "[1]", "no JSON object"),
        ("#max-records", "0", "give a whole number from 1 on"),
    ):
        page.locator(field).fill(text)
        page.get_by_role("button", name="Run now", exact=True).click()
        page.get_by_text(problem).first.wait_for()
        page.locator(field).fill("")
    page.locator("#max-records").fill("500")
    page.locator("#run-config").fill('{"tasks.max": 2}')
    page.locator("#preview").click()
    page.get_by_text("150 offsets would be read, in 1 slice.").wait_for()
    assert SCRIPT in page.locator("dialog tbody tr").inner_text()
    page.get_by_role("button", name="Run now", exact=True).click()
    page.get_by_text("The run is queued.").first.wait_for()
    with server.client("user") as client:
        runs = client.get("/api/v2/dags/orders/dagRuns?order_by=id").json()["dag_runs"]
    own = {"max_records": 500, "config": {"tasks.max": 2}}
    assert [one["conf"] for one in runs][-2:] == [{**own, "dry_run": True}, own]


def test_paused_connector_has_no_preview_that_would_start_a_run(server: ApiServer, sign_in: SignIn) -> None:
    page = sign_in()
    open_page(page, server, "#/connectors/inventory")
    page.locator("#act-run").click()
    assert page.locator("#preview").count() == 0
    assert "a run of its schedule begins too" in page.locator("dialog").inner_text()


@pytest.mark.parametrize(
    ("zone", "shown"),
    [("Asia/Kolkata", "(UTC+05:30 now)"), ("UTC", "in the time zone UTC"), ("America/Lima", "(UTC-05:00")],
)
def test_times_of_a_replay_have_their_time_zone(server: ApiServer, sign_in: SignIn, zone: str, shown: str) -> None:
    page = sign_in(timezone_id=zone)
    open_page(page, server, "#/connectors/orders/replay")
    assert shown in page.locator("legend", has_text="time window").inner_text()


@pytest.mark.parametrize("paused", [True, False])
@pytest.mark.parametrize("form", ["Replay…", "Redrive dead letters…"])
def test_paused_replay_dag_is_said_before_a_preview_waits(
    server: ApiServer, sign_in: SignIn, form: str, paused: bool
) -> None:
    page = sign_in()

    def pause(route: Any) -> None:
        answer = route.fetch().json()
        route.fulfill(json={**answer, "replays": {**answer["replays"], "paused": paused}})

    page.route("**/floe/view/connectors/orders", pause)
    open_page(page, server, "#/connectors/orders")
    page.get_by_role("button", name=form, exact=True).first.click()
    said = page.locator("dialog").inner_text()
    assert ("The replay DAG is paused: its runs wait" in said) == paused


def test_preview_is_a_dry_run_and_comes_before_the_replay(server: ApiServer, sign_in: SignIn) -> None:
    page = sign_in()
    open_page(page, server, "#/connectors/orders/replay?topic=orders&ranges=" + quote('{"0":[100,200]}'))
    forecast = {"table": "db.t", "partition": 0, "range": [100, 200], "read": 100, "held": 60, "write": 40}
    plan = {"topic": "orders", "overlap": "skip", "branch": "main", "slices": 1, "tables": [forecast]}
    run = "**/api/v2/dags/orders.replay/dagRuns/"
    page.route(f"{run}*", lambda route: route.fulfill(json={"state": "success"}))
    page.route(f"{run}*/taskInstances/plan/xcomEntries/**", lambda route: route.fulfill(json={"value": plan}))
    replay = page.get_by_role("button", name="Replay", exact=True)
    assert replay.is_disabled()
    page.locator("#preview").click()
    page.get_by_text("100 offsets would be read, 40 written, in 1 slice.").wait_for()
    page.locator(".preview").get_by_text("In the table, left out").first.wait_for()
    plan["overlap"], forecast["held"] = "append", None
    page.locator("#preview").click()
    page.locator(".preview").get_by_text("In the table, written again").first.wait_for()
    page.locator(".preview").get_by_text("not known").first.wait_for()
    page.get_by_label("First offset").fill("150")
    assert replay.is_disabled()
    page.get_by_label("First offset").fill("100")
    replay.click()
    page.get_by_text("The replay is queued.").first.wait_for()
    with server.client("user") as client:
        runs = client.get("/api/v2/dags/orders.replay/dagRuns?order_by=id").json()["dag_runs"]
    own = {"topic": "orders", "ranges": {"0": [100, 200]}, "overlap": "skip"}
    assert [one["conf"] for one in runs][-2:] == [{**own, "dry_run": True}, own]


def test_diagnosis_shows_problems_first(server: ApiServer, sign_in: SignIn) -> None:
    page = sign_in()
    open_page(page, server, "#/connectors/orders")
    found = [
        {"check": "brokers", "level": "ok", "text": "b:9092 can be reached", "remedy": ""},
        {"check": "topics", "level": "problem", "text": SCRIPT, "remedy": "create it"},
    ]
    run = "**/api/v2/dags/orders/dagRuns/"
    page.route(f"{run}*", lambda route: route.fulfill(json={"state": "success"}))
    result = {"value": {"problems": 1, "findings": found}}
    page.route(f"{run}*/taskInstances/plan/xcomEntries/**", lambda route: route.fulfill(json=result))
    page.locator("#act-diagnose").click()
    page.get_by_role("button", name="Diagnose", exact=True).click()
    page.get_by_text("1 problem", exact=True).wait_for()
    rows = page.locator("dialog tbody tr").all_inner_texts()
    assert ["topics" in row and SCRIPT in row for row in rows] == [True, False]
    with server.client("user") as client:
        runs = client.get("/api/v2/dags/orders/dagRuns?order_by=id").json()["dag_runs"]
    assert runs[-1]["conf"] == {"diagnose": True}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_in_airflows_frame_has_its_colours_and_leads_out(server: ApiServer, sign_in: SignIn, scheme: str) -> None:
    page = sign_in(**sizes(1280), color_scheme=scheme)
    page.goto(f"{server.url}/plugin/floe")
    frame = page.frame_locator("iframe")
    frame.get_by_role("link", name="orders", exact=True).wait_for()
    around = page.evaluate("document.documentElement.classList.contains('dark') ? 'dark' : 'light'")
    assert frame.locator("html").get_attribute("data-theme") == around
    other = "light" if around == "dark" else "dark"
    page.evaluate("([one, other]) => document.documentElement.classList.replace(one, other)", [around, other])
    frame.locator(f"html[data-theme={other}]").wait_for()
    page.goto(f"{server.url}/dags/orders/plugin/floe-connector")
    frame.locator("h1", has_text="orders").wait_for()
    frame.get_by_role("link", name="DAG in Airflow").click()
    page.wait_for_url(f"{server.url}/dags/orders")
