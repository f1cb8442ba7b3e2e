"""The system's Chromium, signed in to the API server of a test."""

from __future__ import annotations

import os
import shutil
from typing import Any

from tests.support.api.server import ApiServer

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
)


def chromium() -> str | None:
    """Return where Chromium is: CHROMIUM, else the system's."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


def signed_in(browser: Any, server: ApiServer, user: str, **more: Any) -> Any:
    """Return a new page of a user who has signed in; its path is given to :func:`open_page`."""
    context = browser.new_context(**{"locale": "en-GB", "timezone_id": "UTC", **more})
    context.add_cookies([{"name": "_token", "value": server.token(user), "url": server.url, "httpOnly": True}])
    page = context.new_page()
    page.set_default_timeout(20_000)
    return page


def open_page(page: Any, server: ApiServer, hash_: str = "#/") -> None:
    """Open floe's page and wait until it shows something."""
    page.goto("about:blank")
    page.goto(f"{server.url}/floe/page/{hash_}")
    page.locator("main h1").wait_for()
    page.wait_for_load_state("networkidle")
