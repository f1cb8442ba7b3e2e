"""Make the pictures of a run and of a replay, from the local stack as it runs: `make up` first.

    make setup-dev up && .venv/bin/python tests/browser/screenshot.py [folder]

The stack is the one of FLOE_STATE and AIRFLOW_PORT. The browser is the system's Chromium (CHROMIUM names another
executable). Fails, and writes nothing, while a run is at work or when the page shows an error. The replay is previewed only.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from urllib.parse import quote

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY))

from playwright.sync_api import Browser, Page, expect, sync_playwright  # noqa: E402

from stack.local import Local  # noqa: E402
from stack.services.airflow import USER, Airflow  # noqa: E402
from stack.services.rest import FINAL  # noqa: E402
from stack.settings import Settings  # noqa: E402

DAG = "pizzas-on-ice"
PICTURES = REPOSITORY / "docs" / "images"
SIZE = (1500, 620)
REPLAY_SIZE = (1400, 900)
WIDER = 110  # pixels
LARGEST = 400_000  # bytes
TIMEOUT_S = 30_000  # milliseconds
TASKS = ("plan", "write", "commit")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
)


def main(arguments: list[str]) -> int:
    """Take the pictures; returns the exit code."""
    airflow = Local(Settings.read(os.environ)).airflow
    folder = Path(arguments[0]) if arguments else PICTURES
    if not airflow.running:
        print("error: Airflow is not running: `make up` first", file=sys.stderr)
        return 1
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_chromium(), args=list(FLAGS))
        try:
            pictures = {"run.png": _run(browser, airflow), "replay.png": _replay(browser, airflow)}
        finally:
            browser.close()
    for name, picture in pictures.items():
        if len(picture) > LARGEST:
            print(f"error: {name} takes {len(picture)} bytes, more than {LARGEST}", file=sys.stderr)
            return 1
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures.items():
        (folder / name).write_bytes(picture)
        print(f"{folder / name}: {len(picture)} bytes")
    return 0


def _replay(browser: Browser, airflow: Airflow) -> bytes:
    """Return floe's page in Airflow's frame, with the preview of a replay of a range."""
    page = browser.new_page(viewport={"width": REPLAY_SIZE[0], "height": REPLAY_SIZE[1]}, color_scheme="light")
    page.set_default_timeout(TIMEOUT_S)
    _log_in(page, airflow)
    page.get_by_role("link", name="floe", exact=True).first.click()
    floe = page.frame_locator("iframe").first
    floe.get_by_role("link", name=DAG).first.click()
    floe.get_by_role("button", name=re.compile("^Replay")).first.click()
    for label, value in (("Partition", 0), ("First offset", 100), ("Last offset, not read", 200)):
        floe.locator(f"input[aria-label='{label}']").first.fill(str(value))
    floe.get_by_label("Offsets that a table has already").select_option("append")
    floe.get_by_role("button", name="Preview").click()
    expect(floe.get_by_text("would be read")).to_be_visible(timeout=4 * TIMEOUT_S)
    return page.screenshot()


def _run(browser: Browser, airflow: Airflow) -> bytes:
    """Return the page of the newest run that committed something, beside the grid of all runs."""
    runs = airflow.rest.runs(DAG)
    if any(run["state"] not in FINAL for run in runs):
        sys.exit(f"error: a run of {DAG!r} is at work: wait for its end")
    committed = next((run["dag_run_id"] for run in runs if _committed(airflow, run["dag_run_id"])), None)
    if committed is None:
        sys.exit(f"error: no run of {DAG!r} committed anything: look at {airflow.url}")
    page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]}, color_scheme="light")
    page.set_default_timeout(TIMEOUT_S)
    _log_in(page, airflow)
    page.goto(f"{airflow.url}/dags/{DAG}/runs/{quote(committed)}")
    # the grid arrives later than the page, and its newest run last
    expect(page.locator(f"a[href*='/runs/{runs[0]['dag_run_id']}']").first).to_be_visible(timeout=TIMEOUT_S)
    for task in TASKS:
        expect(page.get_by_role("link", name=task, exact=True).first).to_be_visible(timeout=TIMEOUT_S)
    _widen_grid(page)
    page.wait_for_load_state("networkidle")
    expect(page.get_by_role("alert")).to_have_count(0)
    return page.screenshot()


def _widen_grid(page: Page) -> None:
    """Drag the bar between grid and run to the right, so that no run of the grid is cut off."""
    bar = page.locator("[data-panel-resize-handle-id], [role=separator]").first.bounding_box()
    if bar is None:
        sys.exit("error: Airflow's page has no bar between grid and run any more: correct this script")
    x, y = bar["x"] + bar["width"] / 2, bar["y"] + bar["height"] - 20
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + WIDER, y, steps=5)
    page.mouse.up()
    page.mouse.move(SIZE[0] // 2, SIZE[1] - 5)


def _committed(airflow: Airflow, run_id: str) -> bool:
    states = {task["task_id"]: task["state"] for task in airflow.rest.task_instances(DAG, run_id)}
    return all(states.get(task) == "success" for task in TASKS)


def _log_in(page: Page, airflow: Airflow) -> None:
    page.goto(airflow.url)
    page.locator("input[name=username]").fill(USER)
    page.locator("input[name=password]").fill(airflow.password())
    page.get_by_role("button", name=re.compile("sign in|log ?in", re.IGNORECASE)).click()
    page.wait_for_url(lambda url: "/login" not in url)


def _chromium() -> str:
    named = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not named:
        sys.exit("error: there is no chromium: install it, or name another in CHROMIUM")
    return named


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
