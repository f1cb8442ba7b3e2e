"""Make the pictures of floe's page in docs/images, from Airflow's API server with made-up connectors.

    .venv/bin/python tests/browser/page_pictures.py [folder]

With a folder, pictures of all views in both schemes and of a small screen are made there instead, to be looked at.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "plugins")]

from playwright.sync_api import sync_playwright  # noqa: E402

from tests.support.api.browser import FLAGS, chromium, open_page, signed_in  # noqa: E402
from tests.support.api.records import SCRIPT, deployment, hostile_record  # noqa: E402
from tests.support.api.server import ApiServer, seed  # noqa: E402

IMAGES = REPOSITORY / "docs" / "images"
LARGEST = 400_000  # bytes
LEFT_OUT = ("audit-log", "newcomer", "hostile")
LIST, ONE = "#/", "#/connectors/orders"


def main(arguments: list[str]) -> int:
    """Make the pictures; returns the exit code."""
    folder = Path(arguments[0]) if arguments else None
    with tempfile.TemporaryDirectory() as home:
        connectors = [*deployment(), ("hostile", hostile_record("hostile", SCRIPT), {})]
        some = [one for one in connectors if folder or one[0] not in LEFT_OUT]
        server = ApiServer(Path(home), [seed(name, kept, **more) for name, kept, more in some])
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
                made = _all(browser, server, folder) if folder else _docs(browser, server)
                browser.close()
        finally:
            server.stop()
    large = [path.name for path in made if path.stat().st_size > LARGEST]
    for path in made:
        print(f"{path}: {path.stat().st_size} bytes")
    return 1 if large and not folder else 0


def _docs(browser: Any, server: ApiServer) -> list[Path]:
    targets = {"page-connectors": (LIST, 770), "page-connector": (ONE, 1240)}
    return [
        _picture(browser, server, IMAGES / f"{name}.png", hash_, (1280, height))
        for name, (hash_, height) in targets.items()
    ]


def _all(browser: Any, server: ApiServer, folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    views = {
        "list": LIST,
        "one": ONE,
        "refunds": "#/connectors/refunds",
        "late": "#/connectors/sensors",
        "hostile": "#/connectors/hostile",
    }
    views |= {"none": "#/connectors/no-such", "new": "#/connectors/newcomer", "hostile": "#/connectors/hostile"}
    views |= {"replay": f"{ONE}/replay?topic=shop.orders&ranges=%7B%220%22%3A%5B1%2C200%5D%7D"}
    made = [
        _picture(
            browser,
            server,
            folder / f"{name}-{scheme}-{width}.png",
            hash_,
            (width, 900),
            scheme,
            full=True,
        )
        for name, hash_ in views.items()
        for scheme in ("light", "dark")
        for width in (1280, 360)
    ]
    empty = folder / "empty.png"
    return [*made, _picture(browser, server, empty, LIST, (1280, 500), user="stranger")]


def _picture(
    browser: Any,
    server: ApiServer,
    target: Path,
    hash_: str,
    size: tuple[int, int],
    scheme: str = "light",
    *,
    full: bool = False,
    user: str = "user",
) -> Path:
    page = signed_in(browser, server, user, viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    open_page(page, server, hash_)
    if full and "replay" not in hash_:
        for summary in page.locator("details > summary").all()[-30:][:3]:
            summary.click()
    page.screenshot(path=target, full_page=full and "replay" not in hash_)
    page.context.close()
    return target


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
