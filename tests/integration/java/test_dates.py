"""Patterns, instants and texts that are made at random, against java.text.SimpleDateFormat: the same text, the same instant.

A text whose time zone has a name may be refused: such names mean other offsets in other years.
"""

from __future__ import annotations

import re
from random import Random

from floe_job.types.java_dates import SimpleDate
from stack.services.broker import KAFKA
from tests.support.java.program import java_program

PACKAGES = (f"org.apache.kafka:connect-json:{KAFKA}", "org.slf4j:slf4j-nop:2.0.17")
PATTERNS, INSTANTS, TEXTS, SEED = 3_000, 8, 24, 22
LETTERS = "GyYMLwWDdFEuaHkKhmsSzZX"
COMMON = (
    "yyyy-MM-dd", "yyyyMMdd", "yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", "yyyy-MM-dd'T'HH:mm:ss.SSSX",
    "yyyy-MM-dd'T'HH:mm:ssXXX", "yyyyMMddHHmmss", "yyMMdd", "dd/MM/yy", "MM/dd/yyyy hh:mm:ss a", "EEE, d MMM yyyy HH:mm:ss Z",
    "yyyy-'W'ww-u", "YYYY-ww", "YYYY'W'wwE", "yyyy-DDD", "HH", "MMM d, yyyy", "dd-MMMM-yyyy zzzz",
    "yyyy/MM/WW E", "MM F E yyyy", "HHmmssSSS", "yyyyMMddHHmmssSSS", "y", "s", "K:mm a", "k:mm",
    "yyyy.MM.dd G 'at' HH:mm:ss z",
)  # fmt: skip
TEXT_PARTS = ("-", "/", " ", ":", ".", "'T'", "''", "'at '", "", "", "", ",", "_", "'E'", "'😀'", "é", "'4'")
NAMES = (
    "PST",
    "edt",
    "CEST",
    "UTC",
    "GMT",
    "GMT+01:30",
    "GMT-8:00",
    "+0130",
    "-08",
    "+01:00",
    "Z",
    "JST",
    "IST",
    "Eastern Standard Time",
)
INSERTED = (
    *"0123456789-+ :.EeZTaG", "\t",
    "\u0663", "\uff19", "\u017f", "😀", "∞", "NaN", "E3", "-1", "99", "2147483648", "9" * 20, *NAMES,
)  # fmt: skip
HUGE_EXPONENT = re.compile(r"E-?\d{9}")
EDGES = (
    0, -1, 86_399_999, 1_582_000_000_000, -12_219_292_800_000, -12_219_292_800_001, -12_244_089_600_000, -12_212_553_600_000,
    -62_135_596_800_000, -62_135_769_600_001, -62_167_219_200_000, 253_402_300_799_999, 253_402_300_800_000, 2**62, -(2**62),
)  # fmt: skip


def _pattern(random: Random) -> str:
    if random.random() < 0.25:
        return random.choice(COMMON)
    parts = []
    for _ in range(random.randint(1, 6)):
        letter = random.choice(LETTERS)
        most = 3 if letter == "X" and random.random() < 0.9 else 5
        parts.append(letter * random.randint(1, most) + random.choice(TEXT_PARTS))
    if random.random() < 0.03:
        parts.append(random.choice(("'", "b", "n", "XXXX", "y" * 300, "''''")))
    return "".join(parts)


def _instant(random: Random) -> int:
    kind = random.random()
    if kind < 0.15:
        return random.choice(EDGES) + random.choice((0, 0, 1, -1, 86_400_000, -86_400_000))
    if kind < 0.3:  # the years around the change of the calendar, and the first ones
        return random.choice((-12_219_292_800_000, -62_135_769_600_000)) + random.randint(-(10**11), 10**11)
    return random.randint(-(10 ** random.randint(1, 16)), 10 ** random.randint(10, 16))


def _changed(random: Random, text: str) -> str:
    for _ in range(random.choice((0, 0, 1, 1, 2, 3))):
        place = random.randint(0, len(text))
        text = (
            text[:place] + random.choice(("", random.choice(INSERTED))) + text[place + random.choice((0, 0, 1, 1, 2)) :]
        )
    return text


def _parse(pattern: SimpleDate, text: str) -> tuple[int | None, str]:
    try:
        return pattern.parse(text), ""
    except ValueError as error:
        return None, str(error)


def test_dates_are_read_and_written_as_in_java() -> None:
    random = Random(SEED)
    refused = zoned = read = 0
    with java_program("DateCheck", PACKAGES) as ask:
        for _ in range(PATTERNS):
            pattern = _pattern(random)
            instants = [_instant(random) for _ in range(INSTANTS)]
            try:
                ours = SimpleDate.of(pattern)
            except ValueError:
                assert "error" in ask({"pattern": pattern, "instants": [], "texts": []}), pattern
                refused += 1
                continue
            formats = [ours.format(instant) for instant in instants]
            texts = [_changed(random, random.choice(formats)) for _ in range(TEXTS)]
            answer = ask({"pattern": pattern, "instants": instants, "texts": texts})
            assert answer["formats"] == formats, (pattern, instants)
            for text, there in zip(texts, answer["parses"], strict=True):
                here, problem = _parse(ours, text)
                if HUGE_EXPONENT.search(text):
                    continue  # one Java reads it otherwise than the next
                if "time zone" in problem:
                    zoned += 1
                    continue
                assert here == there, (pattern, text)
                read += here is not None
    assert (refused > 20, zoned < PATTERNS * TEXTS // 20, read > PATTERNS * TEXTS // 4) == (True, True, True)
