"""Canaries: secrets that are planted wherever a secret can be given, and a walk through all places where none may be read.

    canaries = Canaries()
    token = canaries.plant("token of the connector file")     # into a file, a connection, the environment …
    canaries.watch(files(folder))                             # a place: what it holds is read when the walk comes by
    …runs, failing ones too…
    assert canaries.seen() == []

A later issue adds a place by one more ``watch``: anything that yields where a text is, and its bytes.
"""

from __future__ import annotations

import base64
import json
import re
import sqlite3
import threading
import uuid
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, quote_plus

import confluent_kafka as ck
import httpx
import psutil

from tests.support.api.routes import routes

Texts = Iterable[tuple[str, bytes]]
"""Where a text is, and the text."""
Place = Callable[[], Texts]

HARD = "/p@"
"""What parsers of addresses stumble over."""

_PIECE = 8
"""Characters of a piece of a canary that no other text has by chance."""


_WORD = "kanary"
"""How each canary begins, and each of its pieces."""
_BEGINNING = 12
"""Characters that tell a canary which was cut."""


@dataclass(frozen=True)
class Sighting:
    """A canary that was seen: which one, where, and what stood around it."""

    canary: str
    where: str
    around: str


@dataclass
class Canaries:
    """Planted secrets and the places that are searched for them."""

    planted: dict[str, str] = field(default_factory=dict)
    places: list[Place] = field(default_factory=list)

    def plant(self, name: str, *, hard: str = "") -> str:
        """Make a secret up; ``hard`` is put into its middle."""
        one = uuid.uuid4().hex
        self.planted[name] = f"{_WORD}{one[:12]}{hard}{_WORD}{one[12:24]}"
        return self.planted[name]

    def watch(self, *places: Place) -> None:
        """Search these places, too."""
        self.places.extend(places)

    def seen(self, names: Collection[str] | None = None) -> list[Sighting]:
        """Walk through all places and return the canaries that can be read there: all, or those named."""
        needles = {
            needle: name
            for name, value in self.planted.items()
            if names is None or name in names
            for needle in needles_of(value)
        }
        search = re.compile(b"|".join(map(re.escape, sorted(needles, key=len, reverse=True))))
        found = []
        for place in self.places:
            for where, text in place():
                if not any(mark in text for mark in _MARKS):
                    continue
                for hit in search.finditer(text):
                    around = text[max(0, hit.start() - 60) : hit.end() + 20].decode(errors="replace")
                    found.append(Sighting(needles[hit[0]], where, around))
        return found


def needles_of(secret: str) -> set[bytes]:
    """Return all that tells a secret: itself, its pieces and their beginnings, as they are spelled and in base64."""
    pieces = {secret, *(piece for piece in re.split(r"[\n/@:]", secret) if len(piece) >= _PIECE)}
    pieces |= {piece[:_BEGINNING] for piece in pieces}
    spelled = set()
    for piece in pieces:
        spelled |= {
            piece,
            repr(piece)[1:-1],
            json.dumps(piece)[1:-1],
            quote(piece),
            quote(piece, safe=""),
            quote_plus(piece),
        }
        spelled |= _in_base64(piece)
    return {text.encode() for text in spelled}


def _in_base64(text: str) -> set[str]:
    """Return what base64 has in it, whatever user is in front of the text."""
    codes = ((before, base64.b64encode(b"\0" * before + text.encode()).decode()) for before in range(3))
    return {code[-(-before * 4 // 3) : (before + len(text.encode())) * 4 // 3] for before, code in codes}


_MARKS = tuple(mark.encode() for mark in (_WORD, *_in_base64(_WORD)))
"""One of them is in every text that a canary is in: to look for them first takes a tenth of the time."""


# -- places -----------------------------------------------------------------------------------------------------------


def files(folder: Path, leave_out: Collection[str] = ()) -> Place:
    """All files below a folder with their names: logs, a warehouse, what is temporary. ``leave_out``: names of files."""

    def read() -> Iterator[tuple[str, bytes]]:
        for path in folder.rglob("*"):
            if path.name in leave_out or path.is_symlink():
                continue
            with suppress(OSError):
                yield f"the name of {path}", str(path).encode()
                if path.is_file():
                    yield str(path), path.read_bytes()

    return read


def sqlite(path: Path) -> Place:
    """All values of all tables of a database, packed ones unpacked: XCom, task state, DAGs, runs, connections."""

    def read() -> Iterator[tuple[str, bytes]]:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60)) as connection:
            connection.text_factory = bytes
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (name,) in names:
                table = name.decode()
                rows = connection.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - of its own list of tables
                columns = [column[0] for column in rows.description]
                for row in rows:
                    for column, value in zip(columns, row, strict=True):
                        if isinstance(value, bytes):
                            yield f"table {table}, column {column}", _unpacked(value)

    return read


def topics(bootstrap: str, names: Collection[str]) -> Place:
    """All records of topics, uncommitted ones too: keys, values, headers."""

    def read() -> Iterator[tuple[str, bytes]]:
        conf = {
            "bootstrap.servers": bootstrap,
            "group.id": "canary",
            "enable.partition.eof": True,
            "isolation.level": "read_uncommitted",
            "auto.offset.reset": "earliest",
        }
        consumer = ck.Consumer(conf)
        known = consumer.list_topics(timeout=30).topics
        parts = [ck.TopicPartition(name, p, 0) for name in names if name in known for p in known[name].partitions]
        consumer.assign(parts)
        left = {(part.topic, part.partition) for part in parts}
        while left:
            for message in consumer.consume(1000, 1.0):
                if message.error() is not None:
                    left.discard((message.topic(), message.partition()))
                    continue
                where = f"{message.topic()}-{message.partition()}@{message.offset()}"
                for text in (message.key(), message.value(), *(value for _, value in message.headers() or [])):
                    if text is not None:
                        yield where, text if isinstance(text, bytes) else str(text).encode()
        consumer.close()

    return read


def pages(url: str, user: str, password: str, connectors: Collection[str]) -> Place:
    """What all routes of floe in Airflow's API server answer to a user who reads: the page, metrics, Connect's API."""

    def read() -> Iterator[tuple[str, bytes]]:
        found = {path for name in connectors for method, path in routes(name) if method == "GET"}
        assert {"/floe/view/connectors", "/floe/metrics", "/connect/connectors"} <= found
        with httpx.Client(base_url=url, auth=(user, password), timeout=60, trust_env=False) as client:
            for path in sorted({*found, "/connect/connectors?expand=info&expand=status"}):
                answer = client.get(path)
                is_known = answer.status_code in (200, 307) or (
                    answer.status_code == 404 and path.startswith("/connect/")
                )
                assert is_known, f"{path}: {answer.status_code}"
                yield path, answer.content
                yield f"headers of {path}", str(answer.headers).encode()

    return read


class Processes:
    """Argument lists of all processes of the machine, and their environments, as long as it watches.

    ``home``: the ``AIRFLOW_HOME`` by which processes of floe's own differ from others.
    """

    def __init__(self, home: Path, *, pause: float = 0.5) -> None:
        self._home = str(home)
        self._pause = pause
        self._known: set[tuple[int, tuple[str, ...]]] = set()
        self._texts: list[tuple[str, bytes]] = []

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Look again and again until the block ends."""
        ended = threading.Event()

        def look() -> None:
            while not ended.wait(self._pause):
                self._open()

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _open(self) -> None:
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                arguments = tuple(process.cmdline())
                if (process.pid, arguments) in self._known:
                    continue
                self._known.add((process.pid, arguments))
                self._texts.append((f"arguments of {process.name()}", "\n".join(arguments).encode()))
                environment = process.environ()
                whose = OWN if environment.get("AIRFLOW_HOME") == self._home else "environment of"
                for name, value in environment.items():
                    self._texts.append((f"{whose} {process.name()}, {name}", value.encode(errors="replace")))

    def __call__(self) -> Texts:
        """Return what was seen."""
        return tuple(self._texts)


OWN = "floe's own environment:"
"""How sightings in the environment of Airflow and of what it starts begin: what is given there is there."""


def _unpacked(value: bytes) -> bytes:
    with suppress(zlib.error):
        return zlib.decompress(value)
    return value
