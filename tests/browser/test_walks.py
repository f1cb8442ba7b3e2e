"""What a person does in Airflow's UI and on floe's page, on the real stack, and what is in the tables afterwards.

Each walk makes its pictures for the docs where FLOE_PICTURES names a folder (`make screenshot`), and one of every state that
is looked at, in both schemes and sizes, where FLOE_ALBUM does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField

from stack.progress import wait_until
from tests.support.repository import ROOT
from tests.support.walks.person import Person
from tests.support.walks.site import Site, started

pytestmark = pytest.mark.full

DEMO = "pizzas-on-ice"
VISITS = "visits"
BAD = 20
"""The offset of the record that cannot become a row."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The stack, as `make up` leaves it."""
    with started(tmp_path_factory.mktemp("stack")) as one:
        yield one


@pytest.fixture(scope="module")
def signed_in(browser: Any, site: Site) -> Iterator[Person]:
    """A person who has signed in, and whose browser keeps Airflow's scripts from walk to walk."""
    pictures, album = (
        Path(os.environ[name]) if name in os.environ else None for name in ("FLOE_PICTURES", "FLOE_ALBUM")
    )
    one = Person(browser, site, pictures, album)
    one.sign_in()
    yield one
    one.close()


@pytest.fixture
def person(signed_in: Person) -> Iterator[Person]:
    """The person at the beginning of a walk; none of the states that they look at has a fault."""
    signed_in.begin()
    yield signed_in
    assert signed_in.faults == []


@pytest.fixture(scope="module")
def visits(site: Site) -> str:
    """A connector whose first run wrote 30 rows."""
    site.produce(VISITS, visits_of(30))
    assert site.put_connector(VISITS) == 201
    first_run(site, VISITS, "success")
    return VISITS


def visits_of(count: int) -> list[dict[str, Any]]:
    return [{"id": number, "page": f"/pizzas/{number % 7}"} for number in range(count)]


def first_run(site: Site, name: str, wanted: str) -> None:
    site.rest.wait_for_dag(name)
    run = site.rest.wait_for_scheduled_run(name)
    assert site.rest.wait_for_run(name, run) == wanted


def wait_for_status(site: Site, name: str, is_as: Any) -> None:
    """Wait until the DAG floe.status, or a run, has kept a status of the connector that is as it should be."""

    def shows() -> bool:
        record = site.rest.call("GET", f"/floe/view/connectors/{name}")["record"]
        return bool(record and is_as(record))

    assert wait_until(shows, 150, pause=1)


def fill_range(floe: Any, partition: int, start: int, end: int) -> None:
    """Fill the offsets in on the page's replay form."""
    for label, value in (("Partition", partition), ("First offset", start), ("Last offset, not read", end)):
        floe.get_by_label(label, exact=True).fill(str(value))


def test_readme_leads_to_a_replayed_range(site: Site, person: Person) -> None:
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    before = len(site.rows("rpc.pizzas"))
    first = site.rest.runs(DEMO)[-1]["dag_run_id"]
    person.page.goto(f"{site.url}/dags/{DEMO}/runs/{first}")
    person.page.get_by_text("CommitOperator").wait_for()
    person.picture("run", 620)

    floe = person.open_floe()
    person.look("list")
    floe.get_by_role("link", name=DEMO, exact=True).click()
    floe.locator(".facts").wait_for()
    person.look("ready")
    floe.get_by_role("button", name="Replay…").first.click()
    person.look("replay empty")
    fill_range(floe, 0, 100, 200)
    floe.get_by_label("Offsets that a table has already").select_option(label="Add them again")
    with site.runs_anew(f"{DEMO}.replay", count=2):  # a dry run, and the replay
        floe.get_by_role("button", name="Preview").click()
        floe.get_by_text("100 offsets would be read, 100 written, in 1 slice.").wait_for()
        person.look("replay previewed")
        person.picture("replay")
        floe.get_by_role("button", name="Replay", exact=True).click()
        floe.get_by_role("link", name="Open the run in Airflow").click()
        person.page.wait_for_url(f"**/dags/{DEMO}.replay/runs/*")
    assert len(site.rows("rpc.pizzas")) == before + 100
    clicked = ("*floe*", "*Replay…*", "*Add them again*", "*Preview*", "*Replay*", "docs/images/replay.png")
    assert [one for one in clicked if one not in readme] == []


def test_run_takes_overrides_of_the_trigger_form(site: Site, person: Person, visits: str) -> None:
    before = len(site.rows("shop.visits"))
    site.produce(visits, visits_of(25))
    form = person.open_form(visits)
    person.fill_number(form, "Records at most", 10)
    person.open_section(form, "Connector keys")
    person.fill_json(form, '{"tasks.max": 2, "errors.log.enable": true}')
    person.picture("override", 1000)
    with site.runs_anew(visits) as runs:
        person.submit(form)
    given = {name: value for name, value in runs[0]["conf"].items() if value not in (None, False)}
    assert given == {"max_records": 10, "config": {"tasks.max": 2, "errors.log.enable": True}}
    assert len(site.rows("shop.visits")) == before + 10

    floe = person.open_connector(visits)
    floe.get_by_role("button", name="Run now…").click()
    person.look("run now")
    with site.runs_anew(visits):
        floe.get_by_role("button", name="Run now", exact=True).click()
        floe.get_by_role("link", name="Open the run in Airflow").wait_for()
    assert len(site.rows("shop.visits")) == before + 25


def test_range_is_replayed_by_the_form(site: Site, person: Person, visits: str) -> None:
    before = len(site.rows("shop.visits"))
    form = person.open_form(f"{visits}.replay")
    person.fill_json(form, '{"0": [5, 15]}')
    person.picture("replay-form", 1000)
    person.open_section(form, "Where and how it is written")
    overlap = form.locator("[id$='content:Where and how it is written']").get_by_role("combobox").first
    overlap.fill("append")
    overlap.press("Enter")
    form.get_by_text("append all of it again", exact=True).wait_for()
    with site.runs_anew(f"{visits}.replay") as runs:
        person.submit(form)
    assert (runs[0]["conf"]["ranges"], runs[0]["conf"]["overlap"]) == ({"0": [5, 15]}, "append")
    assert len(site.rows("shop.visits")) == before + 10


def test_connector_is_paused_and_resumed(site: Site, person: Person, visits: str) -> None:
    before = len(site.rows("shop.visits"))
    floe = person.open_connector(visits)
    floe.get_by_role("button", name="Pause…").click()
    person.look("pause")
    person.picture("pause", 520)
    floe.get_by_role("button", name="Pause", exact=True).click()
    floe.locator("h1 .badge", has_text="Paused").wait_for()
    person.look("paused")
    assert site.rest.call("GET", f"/api/v2/dags/{visits}")["is_paused"] is True
    site.produce(visits, visits_of(5))
    floe.get_by_role("button", name="Run now…").click()
    floe.get_by_label("Resume it too").check()
    person.look("run now of a paused one")
    with site.runs_anew(visits):
        floe.get_by_role("button", name="Run now", exact=True).click()
        floe.get_by_role("link", name="Open the run in Airflow").wait_for()
        floe.get_by_role("button", name="Close").click()
        assert floe.locator("#act-run").evaluate("one => one === document.activeElement")
    floe.locator("h1 .badge", has_text="Ready").wait_for()
    assert site.rest.call("GET", f"/api/v2/dags/{visits}")["is_paused"] is False
    assert len(site.rows("shop.visits")) == before + 5


def test_connector_that_fails_is_read_and_repaired(site: Site, person: Person) -> None:
    orders: list[object] = [{"id": number, "quantity": 1 + number % 5} for number in range(40)]
    site.produce("orders", [*orders[:BAD], b'{"id": 20, "quantity"', *orders[BAD:]])
    assert site.put_connector("orders") == 201
    first_run(site, "orders", "failed")

    floe = person.open_connector("orders")
    floe.locator("h1 .badge", has_text="Failed").wait_for()
    floe.get_by_text("topic 'orders' partition 0 offset 20: not JSON").wait_for()
    person.look("failed")
    person.picture("failed", 560)
    floe.get_by_role("button", name="Diagnose…").click()
    person.look("diagnose")
    floe.get_by_role("button", name="Diagnose", exact=True).click()
    floe.get_by_text("No problem was found.").wait_for(timeout=300_000)
    person.look("diagnosed")
    floe.get_by_role("button", name="Close").click()
    floe.get_by_role("link", name="Open the run", exact=True).click()
    person.page.get_by_text("WriteFilesOperator").wait_for()
    person.page.get_by_role("link", name="write", exact=True).last.click()
    person.page.get_by_text("See FLOE-501 in docs/troubleshooting.md.").first.wait_for()

    form = person.open_form("orders")
    person.fill_number(form, "Records at most", BAD)
    with site.runs_anew("orders"):
        person.submit(form)
    assert len(site.rows("shop.orders")) == BAD
    form = person.open_form("orders")
    person.open_section(form, "Recovery that gives up data")
    person.fill_json(form, json.dumps({"orders-0": BAD + 1}))
    with site.runs_anew("orders"):
        person.submit(form)
    assert sorted(row["id"] for row in site.rows("shop.orders")) == list(range(40))
    wait_for_status(site, "orders", lambda record: record["held"])
    floe = person.open_connector("orders")
    floe.locator("h1 .badge", has_text="Ready").wait_for()
    floe.get_by_text("1 hole in 1 partition.").wait_for()
    person.look("repaired")


def test_dead_letters_are_redriven_after_the_fix(site: Site, person: Person) -> None:
    with site.catalog() as catalog:
        catalog.create_namespace_if_not_exists("shop")
        fields = (NestedField(1, "id", LongType()), NestedField(2, "amount", IntegerType()))
        catalog.create_table("shop.refunds", Schema(*fields))
    large = 3_000_000_000
    site.produce("refunds", [{"id": number, "amount": large if number % 10 == 7 else number} for number in range(30)])
    assert site.put_connector("refunds", floe_deadletter_table="shop.refunds_dead") == 201
    first_run(site, "refunds", "success")
    assert len(site.rows("shop.refunds")) == 27

    wait_for_status(site, "refunds", lambda record: record["dead_letters"])
    floe = person.open_connector("refunds")
    summary = floe.locator("summary", has_text="3 records")
    summary.scroll_into_view_if_needed()
    summary.click()
    person.look("dead letters")
    summary.scroll_into_view_if_needed()
    person.picture("dead-letters", 760)
    with site.table("shop.refunds").update_schema() as update:
        update.update_column("amount", LongType())
    floe.get_by_role("button", name="Redrive dead letters…").click()
    with site.runs_anew("refunds.replay", count=2):
        floe.get_by_role("button", name="Preview").click()
        floe.get_by_text("3 dead letters would be read again.").wait_for()
        person.look("redrive previewed")
        person.picture("redrive", 560)
        floe.get_by_role("button", name="Redrive", exact=True).click()
        floe.get_by_role("link", name="Open the run in Airflow").click()
    assert sorted(row["amount"] for row in site.rows("shop.refunds"))[-3:] == [large] * 3
    assert len(site.rows("shop.refunds")) == 30
    wait_for_status(site, "refunds", lambda record: record["dead_letters"] == [])
    floe = person.open_connector("refunds")
    floe.get_by_text("None is open.").wait_for()
    assert floe.get_by_role("button", name="Redrive dead letters…").count() == 0


def test_connector_made_by_rest_is_seen_and_runs(site: Site, person: Person) -> None:
    site.produce("returns", visits_of(12))
    assert site.put_connector("returns") == 201
    site.rest.wait_for_dag("returns", 15)
    person.page.get_by_role("link", name="Dags", exact=True).first.click()
    person.page.get_by_role("link", name="returns", exact=True).first.wait_for()
    floe = person.open_floe()
    floe.get_by_role("link", name="returns", exact=True).wait_for(timeout=15_000)
    first_run(site, "returns", "success")
    assert len(site.rows("shop.returns")) == 12
    wait_for_status(site, "returns", lambda record: record["held"])
    floe.get_by_label("Name or topic").fill("returns")
    floe.locator("tr", has_text="returns into shop.returns").get_by_text("Ready").wait_for()
    person.look("made by REST")
    person.picture("rest", 300)
    assert site.connect("GET", "/connectors/returns/status")[1]["connector"]["state"] == "RUNNING"
