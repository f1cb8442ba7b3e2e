"""Secrets of hard characters, in every spelling, leave nothing behind; other text stays as it is. All by a seed."""

import base64
import html
import json
import random
import re
from collections.abc import Callable, Iterator
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import escape as xml_escape

import pytest

from floe.config.secrets.mask import Mask
from tests.support.repository import DOCS

HARD = "/@:%+\n\"'\\=&<>;#?{}[]()|$ ,~^`!*\t\r"
BEYOND = "éßñ€漢字😀\u200b\x7f"
PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
WORDS = ("could", "not", "open", "catalog:", "the", "server", "answered", "401", "for", "it", "at", "offset", "12")
PADDING = re.compile(r"(=|%3D|\\u003d)+$")
LEFT = 6
"""Characters of a secret in a row that must not be left."""


def secret_of(dice: random.Random) -> str:
    length = dice.choice((6, 7, 9, 12, 20, 40, 200))
    marks = dice.choice((PLAIN, PLAIN + HARD, PLAIN + HARD + BEYOND, HARD + BEYOND, PLAIN + "+/="))
    text = "".join(dice.choice(marks) for _ in range(length)).strip()
    return text if len(text) >= LEFT else f"{text}s3cr3t"


def by_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def by_url(text: str, safe: str = "") -> str:
    return quote(text.encode(), safe)


def by_java(text: str) -> str:
    """As java.net.URI quotes: what it takes for legal stays, letters of other languages too."""
    return "".join(c if c.isalnum() or c in "_-!.~'()*,;:$&+=@/?[]" else quote(c.encode(), "") for c in text)


def in_mixed_case(text: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda code: code[0].lower() if int(code[0][2:], 16) % 2 else code[0], text)


SPELLINGS: dict[str, Callable[[str], str]] = {
    "raw": str,
    "repr": lambda s: repr(s)[1:-1],
    "ascii": lambda s: ascii(s)[1:-1],
    "repr of bytes": lambda s: repr(s.encode())[2:-1],
    "JSON": by_json,
    "JSON with letters": lambda s: json.dumps(s, ensure_ascii=False)[1:-1],
    "JSON of Gson": lambda s: re.sub("[<>&='+/]", lambda c: f"\\u{ord(c[0]):04x}", by_json(s)),
    "JSON with slashes": lambda s: by_json(s).replace("/", "\\/"),
    "JSON in JSON": lambda s: by_json(by_json(s)),
    "JSON in JSON by repr": lambda s: repr(by_json(by_json(s)))[1:-1],
    "URL": by_url,
    "URL, lower case": lambda s: re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), by_url(s)),
    "URL, mixed case": lambda s: in_mixed_case(by_url(s)),
    "path": lambda s: by_url(s, "/"),
    "URL of requests": lambda s: by_url(s, "!#$%&'()*+,/:;=?@[]~"),
    "form": lambda s: quote_plus(s.encode()),
    "URL twice": lambda s: by_url(by_url(s)),
    "URI of Java": by_java,
    "URL in JSON": lambda s: by_json(by_url(s, "'\"/")),
    "JSON in a URL": lambda s: by_url(by_json(s)),
    "HTML": html.escape,
    "XML": lambda s: xml_escape(s, {"'": "&apos;", '"': "&quot;"}),
    "XML by numbers": lambda s: "".join(c if c.isalnum() else f"&#{ord(c)};" for c in s),
    "XML by hexadecimal numbers": lambda s: "".join(c if c.isalnum() else f"&#x{ord(c):X};" for c in s),
    "JSON in HTML": lambda s: html.escape(by_json(s)),
    "HTML in JSON": lambda s: by_json(html.escape(s)),
    "properties of Java": lambda s: re.sub("([:=#!\\\\ ])", r"\\\1", s).replace("\n", "\\n"),
    "console of Java in ASCII": lambda s: re.sub("[^\0-\x7f]", "?", s),
    "log in ASCII": lambda s: s.encode().decode("ascii", errors="replace"),
    "Latin-1": lambda s: s.encode().decode("latin-1"),
}
ENCODINGS: dict[str, Callable[[bytes], str]] = {
    "base64": lambda b: base64.b64encode(b).decode(),
    "base64 for URLs": lambda b: base64.urlsafe_b64encode(b).decode(),
    "base64 in a URL": lambda b: by_url(base64.b64encode(b).decode()),
    "base64 in JSON of Gson": lambda b: re.sub("[+/=]", lambda c: f"\\u{ord(c[0]):04x}", base64.b64encode(b).decode()),
    "base64 in lines": lambda b: base64.encodebytes(b).decode().rstrip(),
}


def around(dice: random.Random) -> tuple[str, str]:
    before, after = (" ".join(dice.choices(WORDS, k=dice.randrange(8))) for _ in range(2))
    return before + dice.choice((" ", ": ", "='", '"', "/", "&", "u:")), dice.choice(" '\"@,/;") + after


def spelled(secret: str, dice: random.Random) -> Iterator[tuple[str, str]]:
    yield from ((name, spell(secret)) for name, spell in SPELLINGS.items())
    user = "".join(dice.choices(PLAIN, k=dice.randrange(9)))
    for name, encode in ENCODINGS.items():
        yield name, encode(f"{user}:{secret}".encode())


def left_of(spelling: str, message: str, frame: str) -> list[str]:
    """Return what can be read of a spelling, and not in the text around it."""
    spelling = PADDING.sub("", spelling)
    grams = {spelling[at : at + LEFT] for at in range(len(spelling) - LEFT + 1)}
    return [gram for gram in grams if gram in message and gram not in frame]


@pytest.mark.parametrize("seed", range(3))
def test_fuzzed_secret_leaves_nothing_in_any_spelling(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(10):
        secret = secret_of(dice)
        mask = Mask.of({"password": secret})
        for name, spelling in spelled(secret, dice):
            before, after = around(dice)
            message = mask.hide(before + spelling + after)
            assert not left_of(spelling, message, before + "<hidden>" + after), (seed, name, secret, message)


@pytest.mark.parametrize("seed", range(3))
def test_fuzzed_secret_leaves_nothing_where_it_is_cut(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(40):
        secret = "".join(dice.choices(PLAIN + "/+=:@%", k=200)).replace("==", "=A")
        mask = Mask.of({"token": secret})
        first = dice.randrange(150)
        part = secret[first : first + dice.randrange(30, 200)]
        message = mask.hide(f"refused {part} and no more")
        assert not left_of(part, message, "refused <hidden> and no more"), (seed, secret, part, message)


def test_text_without_secrets_is_left_as_it_is() -> None:
    dice = random.Random(7)
    mask = Mask.of({f"password.{i}": secret_of(dice) for i in range(50)})
    lines = [line for page in sorted(DOCS.rglob("*.md")) for line in page.read_text().splitlines()]
    assert len(lines) > 1000
    assert [line for line in lines if mask.hide(line) != Mask().hide(line)] == []
