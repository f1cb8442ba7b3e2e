"""Pages for users are short; pages, docstrings, comments and messages have none of the words that were replaced."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MAX_WORDS = 20_000
ROOMS = ("start", "how-to", "reference")
PAGES = [ROOT / "README.md", *DOCS.glob("*.md"), *(page for room in ROOMS for page in (DOCS / room).rglob("*.md"))]
ALL_PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]
CODE_FOLDERS = ("plugins", "spark_jobs", "stack", "bench", "dags")
REPLACED = re.compile(
    r"\b(mend(s|ed|ing)?|anew|somebody|nobody|owe(s|d)?|owing|strange(rs?)?|patience|letterbox|bury|buried|told|stands?"
    r"|debts?|debtors?|octets?|lookalikes?|strewn|barren|thaw(s|ed)?|books|judged"
    r"|(open|its|the|several|no) letters?(?! (of the alphabet|or|and|to))|re-drive[sn]?|re-driving|hand(ed|ing)? back"
    r"|for good|once more|ways? out|look(s|ing)? again|speaks? of|(red|green) runs?|runs? (is|are|ends?) (red|green)"
    r"|all other tables went on|do(es)? not balance)\b",
    re.IGNORECASE,
)
UNNAMED = re.compile(r"\b(somebody|nobody|anew|told|owes)\b", re.IGNORECASE)
CODE = re.compile(r"^ *```.*?^ *```|``?[^`]*``?", re.MULTILINE | re.DOTALL)
STORED = re.compile(r"\bfloe[.-]books\b")
"""A name in stored state, which stays."""
MIN_WORDS = 3
"""Words of a string that is a message; shorter ones are names."""


def _words(page: Path) -> int:
    """Count the words of a page; in the reference without those of tables."""
    lines = page.read_text(encoding="utf-8").splitlines()
    is_reference = (DOCS / "reference") in page.parents
    return sum(len(line.split()) for line in lines if not (is_reference and line.lstrip().startswith("|")))


def _replaced(text: str) -> list[str]:
    """Return the replaced words of a text outside of code."""
    return [match[0] for match in REPLACED.finditer(" ".join(STORED.sub("", CODE.sub("", text)).split()))]


def _prose(source: str) -> Iterator[str]:
    """Yield the docstrings, comments and messages of a module."""
    tree = ast.parse(source)
    in_f_string = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and id(node) not in in_f_string:
            text = str(node.value)
            yield text if len(text.split()) >= MIN_WORDS else ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def test_tests_have_no_words_for_unnamed_people() -> None:
    found = []
    for module in sorted((ROOT / "tests").rglob("*.py")):
        if module != Path(__file__):
            for text in _prose(module.read_text(encoding="utf-8")):
                found += [(str(module.relative_to(ROOT)), word, text[:80]) for word in UNNAMED.findall(text)]
    assert found == []


def test_pages_for_users_have_at_most_20000_words() -> None:
    # of the pages of catalogs, each user reads one
    assert sum(_words(page) for page in PAGES if page.parent.name != "catalogs") <= MAX_WORDS


def test_pages_have_no_replaced_words() -> None:
    found = {}
    for page in ALL_PAGES:
        if words := _replaced(page.read_text(encoding="utf-8")):
            found[str(page.relative_to(ROOT))] = words
    assert found == {}


@pytest.mark.parametrize("folder", CODE_FOLDERS)
def test_docstrings_and_messages_have_no_replaced_words(folder: str) -> None:
    found = []
    for module in sorted((ROOT / folder).rglob("*.py")):
        for text in _prose(module.read_text(encoding="utf-8")):
            found += [(str(module.relative_to(ROOT)), word, text[:80]) for word in _replaced(text)]
    assert found == []


@pytest.mark.parametrize(
    "text", ["the books of t do not balance", "one of its letters", "the run is red", "mend the table", "re-drive them"]
)
def test_replaced_words_are_found(text: str) -> None:
    assert _replaced(text)


@pytest.mark.parametrize("text", ["dead letters of its topic", "letters, digits and '_'", "`owed` in `floe.books`"])
def test_words_of_the_field_are_no_replaced_words(text: str) -> None:
    assert not _replaced(text)
