"""A browser, and the API server with a connector in each state and hostile ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.api.browser import FLAGS, chromium, signed_in
from tests.support.api.records import HOSTILE, SCRIPT, deployment, hostile_record
from tests.support.api.server import ApiServer, seed


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """The server. The DAG of one connector is named by a script, too."""
    seeds = [seed(name, kept, **more) for name, kept, more in deployment()]
    seeds += [
        seed(f"hostile-{i}", hostile_record(f"hostile-{i}", text), description=text) for i, text in enumerate(HOSTILE)
    ]
    named = "<img src=x onerror=window.hacked=1>"
    seeds.append(seed(named, hostile_record(named, SCRIPT), description=SCRIPT))
    one = ApiServer(tmp_path_factory.mktemp("api"), seeds)
    yield one
    one.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium."""
    playwright = pytest.importorskip("playwright.sync_api")
    executable = chromium()
    if executable is None:
        pytest.skip("there is no chromium: install it, or name another in CHROMIUM")
    with playwright.sync_playwright() as started:
        one = started.chromium.launch(executable_path=executable, args=list(FLAGS))
        yield one
        one.close()


@pytest.fixture
def sign_in(browser: Any, server: ApiServer) -> Iterator[Callable[..., Any]]:
    """A factory of pages: ``sign_in("viewer", color_scheme="dark")``. No page may log an error or run what it was given."""
    pages: list[Any] = []
    errors: list[str] = []

    def make(user: str = "user", **more: Any) -> Any:
        page = signed_in(browser, server, user, **more)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on(
            "console",
            lambda said: (
                errors.append(said.text) if said.type == "error" and "Failed to load" not in said.text else None
            ),
        )
        page.on("dialog", lambda dialog: errors.append(f"dialog: {dialog.message}"))
        pages.append(page)
        return page

    yield make
    hacked = [page.evaluate("window.hacked ?? null") for page in pages]
    for page in pages:
        page.context.close()
    assert (errors, [one for one in hacked if one]) == ([], [])
