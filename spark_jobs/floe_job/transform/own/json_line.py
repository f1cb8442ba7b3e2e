"""Values as JSON text that reads as the same values: floats keep their digits."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from floe_job.types.number_tokens import Literal, Single
from floe_job.types.typed_values import json_form

_quote = json.JSONEncoder(ensure_ascii=False).encode
_ascii_quote = json.JSONEncoder(ensure_ascii=True).encode


def json_line(value: Any) -> str:
    """Write a value as JSON, without blanks; bytes in base64 and times as numbers. Raises TypeError for other types."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        form = value if all(type(name) is str for name in value) else json_form(value)
        return "{" + ",".join(f"{_text(name)}:{json_line(entry)}" for name, entry in form.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(json_line, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Literal | Single):
        return value.token if value.token.lstrip("-")[:1].isdigit() else _text(json_form(value))  # else NaN or infinite
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    form = json_form(value)
    if form is value and type(value) is not float:
        problem = f"JSON has no form for Python's {type(value).__name__}"
        raise TypeError(problem)
    return float.__repr__(form) if type(form) is float else json_line(form)


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a pair, which no Arrow column holds as it is
        return _ascii_quote(value)
    return _quote(value)
