"""Connect's schemas from their JSON, as Kafka's ``JsonConverter.asConnectSchema`` reads them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final, NoReturn

import pyarrow as pa

from floe_job.connect import logical
from floe_job.connect.arrow import arrow_type, logical_problem
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.envelope.values import Misfit, value_reader
from floe_job.exceptions import VALUE_LENGTH, UnusableSchema, clip

MAX_FIELDS: Final = 5_000
"""Schemas in a schema."""

MAX_DEPTH: Final = 64
"""Schemas in each other."""

_KINDS: Final = {kind.value: kind for kind in Kind}
_NESTED: Final = (Kind.ARRAY, Kind.MAP, Kind.STRUCT)
_OF_AVRO: Final = frozenset(value for name, value in vars(logical).items() if name.startswith("AVRO_"))
"""Names by which floe's decoders of Avro mark what Connect has no name for: here they are names like any other."""


def connect_schema(given: Any, *, fill_defaults: bool) -> ConnectSchema:
    """Return the schema of a parsed JSON object, whose floats are ``Literal``. Raises UnusableSchema.

    ``fill_defaults``: defaults within defaults are filled in.
    """
    return _Parser(fill_defaults).schema(given, "")


class _Parser:
    """Reads one schema."""

    def __init__(self, fill_defaults: bool) -> None:
        self._fill = fill_defaults
        self._schemas = 0
        self._depth = 0

    def schema(self, given: Any, path: str) -> ConnectSchema:
        self._schemas += 1
        self._depth += 1
        if self._schemas > MAX_FIELDS:
            _refuse(f"it has more than {MAX_FIELDS} fields")
        if self._depth > MAX_DEPTH:
            _refuse(f"it has more than {MAX_DEPTH} levels")
        kind = given.get("type") if isinstance(given, dict) else None
        if not isinstance(kind, str):
            _refuse(f"{_where(path)} has no type: it is {_shown(given)}")
        if kind not in _KINDS:
            _refuse(f"{_where(path)} has the type {_shown(kind)}, and Connect has {', '.join(_KINDS)}")
        made = self._made(given, _KINDS[kind], path)
        self._depth -= 1
        return made

    def _inside(self, given: dict[str, Any], kind: Kind, path: str) -> dict[str, Any]:
        """Return the schemas inside of a schema."""
        if kind is Kind.ARRAY:
            return {"element": self._inner(given, "items", path)}
        if kind is Kind.MAP:
            key = self._inner(given, "keys", path)
            if key.kind in _NESTED:
                _refuse(f"{_where(path)} is a map whose keys are {key.kind.value}s, which floe does not compare")
            return {"key": key, "element": self._inner(given, "values", path)}
        return {"fields": self._fields(given.get("fields"), path)} if kind is Kind.STRUCT else {}

    def _inner(self, given: dict[str, Any], name: str, path: str) -> ConnectSchema:
        if given.get(name) is None:
            _refuse(f"{_where(path)} has the type {given['type']} and no {name!r}")
        return self.schema(given[name], f"{path}.{name}" if path else name)

    def _fields(self, given: Any, path: str) -> tuple[tuple[str, ConnectSchema], ...]:
        if not isinstance(given, list):
            _refuse(f"{_where(path)} is a struct, and its 'fields' are no array")
        fields: dict[str, ConnectSchema] = {}
        for one in given:
            name = one.get("field") if isinstance(one, dict) else None
            if not isinstance(name, str) or not name:
                _refuse(f"{_where(path)} has a field without a name: {_shown(one)}")
            if name in fields:
                _refuse(f"{_where(path)} has two fields named {_shown(name)}")
            fields[name] = self.schema(one, f"{path}.{name}" if path else name)
        return tuple(fields.items())

    def _made(self, given: dict[str, Any], kind: Kind, path: str) -> ConnectSchema:
        name, version, parameters = given.get("name"), given.get("version"), given.get("parameters")
        parameters = parameters if isinstance(parameters, dict) else {}
        if not all(isinstance(value, str) for value in parameters.values()):
            _refuse(f"{_where(path)} has parameters that are no texts: {_shown(parameters)}")
        made = ConnectSchema(
            kind,
            given.get("optional") is True,
            name if isinstance(name, str) and name not in _OF_AVRO else None,
            version if type(version) is int else None,
            tuple(parameters.items()),
            **self._inside(given, kind, path),
        )
        if problem := logical_problem(made):
            _refuse(f"{_where(path)} {problem}")
        return self._with_default(given, made, path) if "default" in given else made

    def _with_default(self, given: dict[str, Any], made: ConnectSchema, path: str) -> ConnectSchema:
        """Add the default, which may be null for what is optional. A struct's cannot be read by Connect either."""
        default = given["default"]
        if made.kind is Kind.STRUCT and default is not None:
            _refuse(f"{_where(path)} is a struct with a default, which Kafka Connect does not read")
        try:
            found = value_reader(made, fill_defaults=self._fill)(default)
            return made if found is None else replace(made, default=_python_value(found, made))
        except (Misfit, pa.ArrowException, OverflowError) as error:
            _refuse(f"{_where(path)} has the default {_shown(default)}, which does not fit its type: {error}")


def _python_value(found: Any, schema: ConnectSchema) -> Any:
    """Return a default as a date, a time, a timestamp …, if Python has it; else as the number that Arrow takes."""
    made = pa.array([found], arrow_type(schema))
    try:
        return made.to_pylist()[0]
    except (OverflowError, ValueError):
        return found


def _where(path: str) -> str:
    return f"its field {clip(path, VALUE_LENGTH)!r}" if path else "it"


def _shown(value: Any) -> str:
    try:
        return clip(json.dumps(value), VALUE_LENGTH)
    except (TypeError, ValueError):
        return clip(repr(value), VALUE_LENGTH)


def _refuse(problem: str) -> NoReturn:
    why = f"the schema cannot be used: {problem}"
    raise UnusableSchema(why)
