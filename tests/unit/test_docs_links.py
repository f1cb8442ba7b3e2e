"""Every relative link and anchor of the Markdown pages leads somewhere, and every page is found from the index."""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.support.repository import DOCS, ROOT

PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
FENCE = re.compile(r"^( *(?:> *)?)```.*?^\1```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
ANCHOR = re.compile(r'<a id="([^"]+)"></a>')


def _prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def _links(page: Path) -> list[str]:
    return [link for link in LINK.findall(_prose(page)) if not re.match(r"[a-z]+:", link)]


@cache
def _anchors(page: Path) -> frozenset[str]:
    """The anchors that GitHub gives headings, and those that are written out."""
    prose = _prose(page)
    found: set[str] = set(ANCHOR.findall(prose))
    seen: dict[str, int] = {}
    for heading in HEADING.findall(prose):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", ANCHOR.sub("", text).replace("`", "").lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if slug in seen else slug)
        seen[slug] = seen.get(slug, 0) + 1
    return frozenset(found)


def _target(page: Path, link: str) -> tuple[Path, str]:
    path, _, anchor = link.partition("#")
    return (page.parent / path).resolve() if path else page, anchor


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_page_has_target(page: Path) -> None:
    broken = []
    for link in _links(page):
        target, anchor = _target(page, link)
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(link)
    assert not broken


def test_every_page_is_reached_from_index() -> None:
    reached, waiting = set(), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        waiting += [target for link in _links(page) if (target := _target(page, link)[0]).suffix == ".md"]
    assert {page for page in PAGES if DOCS in page.parents} <= reached
