"""Pages for users are short and in plain words: 20,000 words beside tables, and none of the words that were replaced."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MAX_WORDS = 20_000
ROOMS = ("start", "how-to", "reference")
PAGES = [ROOT / "README.md", *DOCS.glob("*.md"), *(page for room in ROOMS for page in (DOCS / room).rglob("*.md"))]
REPLACED = re.compile(
    r"\b(mend(s|ed)?|anew|somebody|nobody|owe(s|d)?|strange|patience|letterbox|bury|buried|told|stands?)\b",
    re.IGNORECASE,
)
CODE = re.compile(r"^ *```.*?^ *```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def _words(page: Path) -> int:
    """Count the words of a page; in the reference without those of tables."""
    lines = page.read_text(encoding="utf-8").splitlines()
    is_reference = page.parent.name == "reference"
    return sum(len(line.split()) for line in lines if not (is_reference and line.lstrip().startswith("|")))


def test_pages_for_users_have_at_most_20000_words() -> None:
    assert sum(map(_words, PAGES)) <= MAX_WORDS


def test_pages_for_users_have_no_replaced_words() -> None:
    found = {}
    for page in PAGES:
        words = [match[0] for match in REPLACED.finditer(CODE.sub("", page.read_text(encoding="utf-8")))]
        if words:
            found[str(page.relative_to(ROOT))] = words
    assert found == {}
