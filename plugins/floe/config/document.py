"""The JSON document of a connector: strict reading, and its two shapes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import NoReturn

from floe.config.exceptions import ConfigError, MalformedFile
from floe.config.expressions.java_regex import is_plain
from floe.config.keys.key import KeyType
from floe.config.keys.lookup import KEYS
from floe.config.keys.reader import Settings
from floe.config.names import connector_name_problem

MAX_BYTES = 1 << 20
MAX_KEYS = 5000
_SHOWN_CHARACTERS = 200
_MAX_TWICE = 50
_MOVE = "move it into config or remove it"
_BESIDE = {
    "tasks": "remove it, which a worker says of itself",
    "type": "remove it, which a worker says of itself",
    "initial_state": "remove it, and set floe.dag.is-paused=true in config for a DAG that begins paused",
}
"""What Connect's API answers or takes beside a configuration, and what to do."""
_KUBERNETES = (
    "this is an object of Kubernetes: write what is in spec.{part} as the file, with name, and tasks.max for its tasks"
)


class JsonObject(dict[str, object]):
    """An object of a document. Of a key that is given twice the last value counts, as in Kafka Connect."""

    twice: tuple[str, ...] = ()
    """The keys that are given more than once."""


def parse_document(content: bytes) -> dict[str, object]:
    """Read one JSON object in UTF-8; numbers become strings as they are written.

    A key given twice is refused, except inside ``config``: see :func:`given_twice`.

    :raises MalformedFile: saying where, by line and column.
    """
    text = _decode(content)
    if not text.strip():
        msg = "the file is empty: write a JSON object of Kafka Connect keys"
        raise MalformedFile(msg)
    try:
        document = json.loads(
            text,
            object_pairs_hook=_object_of,
            parse_int=str,
            parse_float=str,
            parse_constant=_reject_constant,
        )
    except json.JSONDecodeError as error:
        msg = f"line {error.lineno}, column {error.colno}: no valid JSON: {error.msg}"
        raise MalformedFile(msg) from None  # the cause would carry the whole text, secrets too
    except RecursionError:
        msg = "the JSON is nested too deeply: a connector is one flat map"
        raise MalformedFile(msg) from None
    if not isinstance(document, dict):
        msg = f"the file contains a JSON {_kind(document)}: write an object of Kafka Connect keys"
        raise MalformedFile(msg)
    if isinstance(document, JsonObject) and document.twice:
        msg = f"the key {document.twice[0][:_SHOWN_CHARACTERS]!r} is given twice: keep one of them"
        raise MalformedFile(msg)
    return document


def given_twice(document: Mapping[str, object]) -> list[str]:
    """Return a warning for each key that ``config`` has more than once, up to 50."""
    config = document.get("config")
    if not isinstance(config, JsonObject):
        return []
    return [
        f"the key {key[:_SHOWN_CHARACTERS]!r} is given twice in config: the last one counts, as in Kafka Connect. Keep one"
        for key in config.twice[:_MAX_TWICE]
    ]


def unwrap(document: Mapping[str, object]) -> tuple[dict[str, object], list[str]]:
    """Return the flat map of either shape, including the name, and the problems of the shape; no map of another shape."""
    if "config" not in document:
        part = _part_of_kubernetes(document)
        return ({}, [_KUBERNETES.format(part=part)]) if part else (dict(document), [])
    config = document["config"]
    if not isinstance(config, Mapping):
        return dict(document), ["config must be an object of Kafka Connect keys, beside name"]
    problems = [
        f"{key[:_SHOWN_CHARACTERS]!r} is beside config, where only name is allowed: {_BESIDE.get(key, _MOVE)}"
        for key in document
        if key not in ("name", "config")
    ]
    items = dict(config)
    if "name" in document:
        if "name" in items and str(items["name"]) != str(document["name"]):
            outside, inside = (str(one["name"])[:_SHOWN_CHARACTERS] for one in (document, items))
            problems.append(f"name is {outside!r} outside and {inside!r} inside config: keep one")
        items["name"] = document["name"]
    return items, problems


def _part_of_kubernetes(document: Mapping[str, object]) -> str | None:
    """Return where an object of Kubernetes has a connector's keys, as Strimzi or Confluent has them; None for others."""
    spec = document.get("spec")
    if "kind" not in document or not isinstance(spec, Mapping):
        return None
    return next((part for part in ("config", "configs") if isinstance(spec.get(part), Mapping)), None)


def claimed_name(document: Mapping[str, object]) -> str | None:
    """The legal name in a document, even if the rest of it is broken."""
    items, _ = unwrap(document)
    name = items.get("name")
    return name if isinstance(name, str) and connector_name_problem(name) is None else None


def _decode(content: bytes) -> str:
    if len(content) > MAX_BYTES:
        msg = f"the file has {len(content)} bytes: a connector has at most {MAX_BYTES}"
        raise MalformedFile(msg)
    if content.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        msg = "the file begins with a byte order mark: save it as UTF-8 without one"
        raise MalformedFile(msg)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        msg = f"line {line}, byte {column}: no valid UTF-8: save the file as UTF-8"
        raise MalformedFile(msg) from None  # the cause would carry the whole text, secrets too


def _object_of(pairs: list[tuple[str, object]]) -> JsonObject:
    if len(pairs) > MAX_KEYS:
        msg = f"an object has {len(pairs)} keys: a connector has at most {MAX_KEYS}"
        raise MalformedFile(msg)
    items = JsonObject(pairs)
    if len(items) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        items.twice = tuple(key for key, count in counts.items() if count > 1)
    return items


def _reject_constant(name: str) -> NoReturn:
    msg = f"{name} is no valid JSON: write a number or a string"
    raise MalformedFile(msg)


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case list():
            return "array"
        case bool():
            return "boolean"
    return "string or number"


# Size limits of one connector, so that no file delays the parsing of the others.
#
# Airflow stops parsing a DAG file after half a minute, with the DAGs of all connectors in it. Values that cost more
# than one read per key are counted before they are parsed.


MAX_LIST_ELEMENTS = 10_000
"""Topics, tables, columns: in all lists of a connector together."""

MAX_EXPRESSION_CHARACTERS = 10_000
"""Characters of all expressions, partitions and sort orders together; one has at most 4,000. Plain words are not counted."""

MAX_TRANSFORMS = 100

_LISTS = frozenset(entry.name for entry in KEYS if entry.kind is KeyType.LIST)
_WITH_GRAMMAR = frozenset(entry.name for entry in KEYS if entry.name.endswith(("regex", "partition-by", "sort-by")))


def check_limits(settings: Settings) -> None:
    """Refuse a connector that exceeds a limit, before it is parsed.

    :raises ConfigError: with every limit that is exceeded.
    """
    elements = characters = 0
    for key, entry in settings.entries.items():
        if entry.name in _LISTS:
            elements += settings.properties[key].count(",") + 1
        elif entry.name in _WITH_GRAMMAR and not is_plain(settings.properties[key]):
            characters += len(settings.properties[key])
    transforms = settings.properties.get("transforms", "").count(",") + 1
    counted = (
        (elements, MAX_LIST_ELEMENTS, "elements in its lists"),
        (characters, MAX_EXPRESSION_CHARACTERS, "characters in expressions, partitions and sort orders"),
        (transforms, MAX_TRANSFORMS, "transforms"),
    )
    problems = [_problem(count, limit, what) for count, limit, what in counted if count > limit]
    if problems:
        raise ConfigError(*problems)


def check_count(keys: int) -> None:
    """Refuse a connector with too many keys, before anything is asked of each of them.

    :raises ConfigError: there are too many.
    """
    if keys > MAX_KEYS:
        raise ConfigError(_problem(keys, MAX_KEYS, "keys"))


def _problem(count: int, limit: int, what: str) -> str:
    return f"this connector has {count} {what}: one may have {limit}; divide it into several connectors"
