"""A person at a browser: signs in to Airflow, clicks, and looks at what is shown, in both schemes and on a small screen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.support.api.axe import axe_source, findings
from tests.support.walks.site import Site

SIZE = (1280, 900)
SMALL = (390, 844)
"""A desk's screen and a telephone's, in pixels."""

SCHEMES = ("light", "dark")
LARGEST = 150_000
"""Bytes of a picture in the docs."""

_WAITS = 120_000
"""Milliseconds that a person waits for something to be shown."""


class Person:
    """A signed-in user. ``faults``: what was wrong with the states that were looked at, a line each.

    ``pictures``: the folder of the docs' pictures, where they are wanted. ``album``: one for a picture of each state, in both
    schemes and sizes.
    """

    def __init__(self, browser: Any, site: Site, pictures: Path | None = None, album: Path | None = None) -> None:
        self.site = site
        self.faults: list[str] = []
        self._pictures = pictures
        self._album = album
        self._axe = axe_source()
        context = browser.new_context(locale="en-GB", timezone_id="UTC", color_scheme="light", viewport=_size(SIZE))
        self.page = context.new_page()
        self.page.set_default_timeout(_WAITS)
        self.page.on("pageerror", lambda error: self.faults.append(f"script: {error}"))

    def sign_in(self) -> None:
        """Sign in with the login that `make up` prints."""
        user, password = self.site.login
        self.page.goto(self.site.url)
        self.page.locator("input[name=username]").fill(user)
        self.page.locator("input[name=password]").fill(password)
        self.page.get_by_role("button", name=re.compile("sign in|log ?in", re.IGNORECASE)).click()
        self.page.wait_for_url(lambda url: "/login" not in url)

    def begin(self) -> None:
        """Open Airflow's first page."""
        self.faults.clear()
        self.page.goto(self.site.url)
        self.page.get_by_role("link", name="Dags", exact=True).first.wait_for()

    @property
    def floe(self) -> Any:
        """floe's page, in Airflow's frame."""
        return self.page.frame_locator("iframe")

    def open_floe(self) -> Any:
        """Click floe in Airflow's menu, or *Connectors* above a connector; returns its page, with the list."""
        above = self.floe.get_by_role("link", name="Connectors", exact=True)
        if self.page.url.endswith("/plugin/floe") and above.count():
            above.click()
        else:
            self.page.get_by_test_id("nav-sidebar").get_by_role("link", name="floe", exact=True).click()
        self.floe.locator("h1", has_text="Connectors").wait_for()
        return self.floe

    def open_connector(self, name: str) -> Any:
        """Click floe in the menu and the connector in its list; returns floe's page."""
        floe = self.open_floe()
        floe.get_by_role("link", name=name, exact=True).click()
        floe.locator("h1", has_text=name).wait_for()
        floe.locator(".facts").wait_for()
        return floe

    def open_form(self, dag: str) -> Any:
        """Open a DAG's page and click *Trigger*; returns the form."""
        self.page.goto(f"{self.site.url}/dags/{dag}")
        self.page.get_by_test_id("trigger-dag-button").click()
        form = self.page.get_by_role("dialog").filter(has_text=f"Trigger Dag - {dag}")
        form.get_by_role("button", name="Run Parameters").wait_for()
        return form

    def open_section(self, form: Any, name: str) -> None:
        """Open a section of the form; Airflow closes the one that was open."""
        form.get_by_role("button", name=name, exact=True).click()
        form.locator("button[aria-expanded=true]", has_text=name).first.wait_for()

    def fill_number(self, form: Any, title: str, number: int) -> None:
        """Write a number; Airflow takes it when the field is left."""
        form.get_by_label(title).fill(str(number))
        form.get_by_label(title).press("Tab")

    def fill_json(self, form: Any, text: str) -> None:
        """Write into the first JSON editor that is shown, in place of what is in it."""
        form.locator(".monaco-editor").locator("visible=true").first.click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)
        # the editor may have closed quotes and brackets by itself
        self.page.keyboard.press("Control+Shift+End")
        self.page.keyboard.press("Delete")

    def submit(self, form: Any) -> None:
        """Click *Trigger* in the form, and wait until it is away."""
        form.get_by_role("button", name="Trigger", exact=True).click()
        form.wait_for(state="hidden")

    def look(self, state: str) -> None:
        """Look at floe's page as it is now: axe's findings, and whether it is wider than the screen."""
        frame = self.page.locator("iframe").element_handle().content_frame()
        for scheme in SCHEMES:
            self._turn(scheme)
            for size in (SIZE, SMALL):
                self.page.set_viewport_size(_size(size))
                where = f"{state} ({scheme}, {size[0]} px)"
                shown, wide = frame.evaluate(
                    "[document.documentElement.clientWidth, document.documentElement.scrollWidth]"
                )
                if wide > shown:
                    self.faults.append(f"{where}: {wide} px wide on {shown}")
                if self._axe is not None:
                    self.faults += [f"{where}: {one}" for one in findings(frame, self._axe)]
                if self._album is not None:
                    name = f"{state.replace(' ', '-')}-{scheme}-{size[0]}.png"
                    self.page.screenshot(path=self._album / name)
        self._turn(SCHEMES[0])
        self.page.set_viewport_size(_size(SIZE))

    def picture(self, name: str, height: int = SIZE[1]) -> None:
        """Make a picture for the docs, where they are wanted."""
        if self._pictures is None:
            return
        self.page.set_viewport_size(_size((SIZE[0], height)))
        self.page.mouse.move(SIZE[0] - 2, height - 2)
        self.page.wait_for_load_state("networkidle")
        file = self._pictures / f"{name}.png"
        self.page.screenshot(path=file, animations="disabled", caret="hide")
        self.page.set_viewport_size(_size(SIZE))
        if file.stat().st_size > LARGEST:
            self.faults.append(f"{file.name} takes {file.stat().st_size} bytes, more than {LARGEST}")

    def _turn(self, scheme: str) -> None:
        """Make Airflow light or dark, as its switch does; floe's page follows."""
        other = next(one for one in SCHEMES if one != scheme)
        self.page.evaluate(
            "([one, other]) => { const list = document.documentElement.classList; list.remove(other); list.add(one); }",
            [scheme, other],
        )
        self.floe.locator(f"html[data-theme={scheme}]").wait_for(state="attached")

    def close(self) -> None:
        """Close the browser's window."""
        self.page.context.close()


def _size(size: tuple[int, int]) -> dict[str, int]:
    return {"width": size[0], "height": size[1]}
