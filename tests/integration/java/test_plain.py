"""floe's decoders of plain values against Kafka's StringConverter, ByteArrayConverter and those of numbers, in Java."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import pytest

from floe.config.converters.base import ConverterSpec
from floe.config.converters.charsets import ENCODING, codec_of
from floe.config.converters.kinds import BOOLEAN, BYTES, STRING
from floe.config.properties import Properties
from floe_job.convert.plain.decoder import PlainDecoder
from stack.services.broker import KAFKA
from tests.support.java.program import Ask, java_program
from tests.support.job.connect_json import schema_json, value_json
from tests.support.kafka.messages import values_of

PACKAGES = (f"org.apache.kafka:connect-runtime:{KAFKA}", "org.slf4j:slf4j-nop:2.0.17")
CONVERTERS = "org.apache.kafka.connect.converters"
CLASSES = {
    BYTES: f"{CONVERTERS}.ByteArrayConverter",
    BOOLEAN: f"{CONVERTERS}.BooleanConverter",
    "short": f"{CONVERTERS}.ShortConverter",
    "int": f"{CONVERTERS}.IntegerConverter",
    "long": f"{CONVERTERS}.LongConverter",
    "float": f"{CONVERTERS}.FloatConverter",
    "double": f"{CONVERTERS}.DoubleConverter",
    STRING: "org.apache.kafka.connect.storage.StringConverter",
}
BYTE_BY_BYTE = [bytes([byte]) for byte in range(256)]

NOT_AS_JAVA = {
    "ISO-2022-JP": {"0e", "0f"},
    "ISO-2022-JP-2": {"0e", "0f"},
    "Shift_JIS": {"815c"},
    "EUC-JP": {"a1bd"},
    "GBK": {"a892"},
    "Big5": {"a15a", "a1fe", "a240"},
}
"""Bytes of which Python's character sets, and so floe's, have another character than Java's."""


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """Ask the Java classes, in one process for all tests."""
    with java_program("PlainCheck", PACKAGES) as one:
        yield one


def by_java(ask: Ask, kind: str, records: Sequence[bytes], **options: str) -> list[dict[str, Any]]:
    request = {"class": CLASSES[kind], "options": options, "records": [one.hex() for one in records]}
    found: list[dict[str, Any]] = ask(request)
    return found


def by_floe(kind: str, records: Sequence[bytes], charset: str | None = None) -> dict[int, dict[str, Any]]:
    options = Properties({} if charset is None else {ENCODING: charset})
    batch = PlainDecoder(ConverterSpec(kind, options)).decode(values_of(records))
    return {
        place: {"schema": schema_json(part.schema), "value": value_json(part.schema, value)}
        for part in batch.parts
        for place, value in zip(part.places.tolist(), part.column.to_pylist(), strict=True)
    }


@pytest.mark.parametrize("kind", [kind for kind in CLASSES if kind != STRING])
def test_plain_values_are_read_as_java_reads_them(ask: Ask, kind: str) -> None:
    random = Random(kind)
    records = [random.randbytes(size) for size in (0, 1, 2, 3, 4, 5, 7, 8, 9) for _ in range(40)] + BYTE_BY_BYTE
    read = by_floe(kind, records)
    java = by_java(ask, kind, records)
    assert {place for place, one in enumerate(java) if "error" not in one} == read.keys()
    for place, one in read.items():
        assert java[place] == one, records[place]


def character(answer: dict[str, Any]) -> str:
    return bytes.fromhex(answer["value"]).decode()


def others(ask: Ask, charset: str, records: Sequence[bytes]) -> set[str]:
    """Return the records of which both read a text, and not the same."""
    java = by_java(ask, STRING, records, **{ENCODING: charset})
    read = by_floe(STRING, records, charset)
    return {
        records[place].hex()
        for place, one in read.items()
        if "\ufffd" not in character(java[place]) and one != java[place]
    }


def test_single_bytes_are_the_characters_of_java(ask: Ask) -> None:
    charsets = [name for name in ask({"charsets": True}) if codec_of(name)]
    found = {name: others(ask, name, BYTE_BY_BYTE) for name in charsets}
    assert {name for name, some in found.items() if not some <= NOT_AS_JAVA.get(name, set())} == set()
    assert len(charsets) > 50


@pytest.mark.parametrize("charset", ["Shift_JIS", "EUC-JP", "EUC-KR", "GBK", "Big5"])
def test_pairs_of_bytes_are_the_characters_of_java(ask: Ask, charset: str) -> None:
    pairs = [bytes([first, second]) for first in range(0xA1, 0xAA) for second in range(0x40, 0xFF)]
    pairs += [bytes([0x81, second]) for second in range(0x40, 0xFD)]
    assert others(ask, charset, pairs) == NOT_AS_JAVA.get(charset, set())


def test_texts_are_read_as_java_reads_them(ask: Ask) -> None:
    random = Random(1)
    texts = ["", "a", "é☃🍕", "\ufeffmark", "日本", "\x00\n"]
    records = [text.encode(codec) for text in texts for codec in ("utf-8", "utf-16", "utf-16-be", "utf-16-le")]
    records += [random.randbytes(random.randrange(9)) for _ in range(300)]
    for charset in ("UTF-8", "UTF-16", "UTF-16BE", "UTF-16LE", "US-ASCII"):
        assert others(ask, charset, records) == set(), charset
