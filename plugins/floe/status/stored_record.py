"""A status record as text, in the place where Airflow keeps it: what writes it and what reads it agree here.

It is the value of an Airflow variable: tasks write it, the API server reads those of all connectors in one query.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any, Final, NoReturn

from floe.status.parts.record_size import MAX_BYTES, fit, text_of
from floe.status.parts.value_types import check_types
from floe.status.record import StatusRecord

PREFIX: Final = "floe.status."
"""Of the variables' keys; what follows is the connector's name."""

MAX_KEY: Final = 250
"""Characters of a variable's key in Airflow's database."""

_HEAD: Final = 200
_DIGITS: Final = 32


def key_of(name: str) -> str:
    """Return the key of a connector's record. A name that is too long for a key is cut, and a hash of it follows."""
    key = PREFIX + name
    if len(key) <= MAX_KEY:
        return key
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{PREFIX}{name[:_HEAD]}~{digest}"  # no name of a connector has a tilde


def dump(record: StatusRecord) -> str:
    """Write a record as JSON of at most ``MAX_BYTES`` bytes; one that is larger loses what counts least."""
    return text_of(fit(record))


def parse(text: str) -> StatusRecord:
    """Read what :func:`dump` wrote. Raises ValueError for any other text."""
    if len(text) > 2 * MAX_BYTES:
        msg = f"a status record has at most {MAX_BYTES} bytes, this text has {len(text)} characters: run floe.status again"
        raise ValueError(msg)
    try:
        fields: Any = json.loads(text, parse_constant=_refuse)
        record = StatusRecord.from_json(fields)
        check_types(record)
    except (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        msg = f"this is no status record ({type(error).__name__}: {str(error)[:200]}): run floe.status again"
        raise ValueError(msg) from error
    return record


def _refuse(constant: str) -> NoReturn:
    msg = f"a status record has no {constant}"
    raise ValueError(msg)
