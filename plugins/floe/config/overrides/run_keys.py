"""Which keys a run may set with its param ``config``: by their class, and by what the operator allows.

``FLOE_OVERRIDABLE_KEYS`` in the environment of Airflow's workers lists further keys, separated by commas; a ``*`` at the
end means any rest. Keys that name code or say where logins go are never allowed, nor are secrets and the name.
"""

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from floe.config.keys.key import Status
from floe.config.keys.key_class import KeyClass
from floe.config.keys.lookup import KEYS, advice, canonical, find, names_code
from floe.config.keys.values import parse_list
from floe.config.secrets.detection import is_reference, is_secret
from floe.config.secrets.detection import shown as without_secret
from floe.config.secrets.logins import directs_login
from floe.config.sections.table_properties import run_problem

if TYPE_CHECKING:
    from floe.config.connector import Connector

LIFTED_VARIABLE: Final = "FLOE_OVERRIDABLE_KEYS"

_SHAPES_DAG: Final = ("floe.dag.", "floe.schedule")
_CONVERTERS: Final = ("key.converter", "value.converter")
_WRITE_PROPS: Final = "iceberg.tables.write-props."
_SHOWN_CHARACTERS = 200
_SHOWN = 20


def class_of(key: str) -> KeyClass:
    """Return the class of a key, without the operator's exceptions; ``file`` for one that floe does not know."""
    entry = find(key)
    return KeyClass.FILE if entry is None else entry.class_of(key)


def is_lifted(key: str, value: str | None = None) -> bool:
    """Whether the operator allows runs to set ``key`` to ``value``, or to any, although its class does not."""
    if (
        names_code(key, value)
        or key == "name"
        or is_secret(key)
        or key.startswith(_SHAPES_DAG)
        or _says_where_logins_go(key)
    ):
        return False
    lifted = parse_list(os.environ.get(LIFTED_VARIABLE, ""))
    return any(_covers(one, spelling) for one in lifted for spelling in {key, canonical(key)})


def settable_keys(connector: "Connector", allowed: KeyClass) -> Iterator[tuple[str, str]]:
    """Yield the keys by name that a run may set, each with its present value, empty where it has none; never a secret."""
    for entry in KEYS:
        name = entry.name
        if entry.status is not Status.SUPPORTED or entry.is_pattern or not allowed.permits(entry.key_class):
            continue
        value = connector.properties.get(name, entry.default or "")
        yield name, without_secret(name, value)[:_SHOWN_CHARACTERS]


def key_problem(key: str, value: str, allowed: KeyClass) -> str | None:
    """Return why a run that may set keys of the class ``allowed`` may not set this one; None if it may."""
    shown = key[:_SHOWN_CHARACTERS]
    if find(key) is None:
        return f"unknown key {shown!r}"
    if key == "name":
        return "name is of class file and cannot be set by a run: a connector is its name; trigger the other connector's DAG"
    if is_secret(key, value):
        return f"{shown}: secrets do not go in params: put it into the connector file or the Airflow connection"
    if is_reference(value):
        return f"{shown}: references to config providers do not go in params: put it into the connector file"
    key_class = class_of(key)
    if allowed.permits(key_class):
        return _value_problem(key, value)
    if is_lifted(key, value):
        return None
    if never := _never_lifted(key, value):
        return f"{shown} is of class file and {never}"
    if key_class is KeyClass.REPLAY:
        return (
            f"{shown} is of class replay: a run of this DAG may not set it. Trigger the connector's replay DAG, or set it in "
            f"the connector file; the operator may lift it by {LIFTED_VARIABLE}"
        )
    return (
        f"{shown} is of class file: no run may set it. Set it in the connector file; the operator may lift it by "
        f"{LIFTED_VARIABLE}"
    )


def _never_lifted(key: str, value: str) -> str | None:
    """Return why the operator cannot allow a key either, and what to do; None if it can be."""
    if key.startswith(_SHAPES_DAG):
        return "shapes the DAG: no run may set it. Set it in the connector file"
    if names_code(key, value):
        return (
            f"names code: no run may set it, and {LIFTED_VARIABLE} does not lift it. Code is named by the operator's "
            "environment only, such as PYICEBERG_CATALOG__<NAME>__PY_IO_IMPL"
        )
    if _says_where_logins_go(key):
        return f"says where logins go: no run may set it, not by {LIFTED_VARIABLE} either. Set it in the connector file"
    return None


def _says_where_logins_go(key: str) -> bool:
    """Whether a key has an address, or names what has one. A converter is of floe's own list: its options have them."""
    name = canonical(key)
    return directs_login(name) and name not in _CONVERTERS


def key_problems(flat: Iterable[tuple[str, str]], allowed: KeyClass) -> list[str]:
    """Return why a run may not set keys to their values: for the first ones, and how many more there are."""
    refused = [(key, problem) for key, value in flat if (problem := key_problem(key, value, allowed))]
    message = [
        problem if find(key) else f"{problem}; {advice(key) or 'there is no such key: leave it out'}"
        for key, problem in refused[:_SHOWN]
    ]
    more = len(refused) - _SHOWN
    return [*message, *([f"and {more} more"] if more > 0 else [])]


def _value_problem(key: str, value: str) -> str | None:
    if not canonical(key).startswith(_WRITE_PROPS):
        return None
    return run_problem(canonical(key).removeprefix(_WRITE_PROPS), value)


def _covers(lifted: str, key: str) -> bool:
    return key.startswith(lifted[:-1]) if lifted.endswith("*") else key == lifted
