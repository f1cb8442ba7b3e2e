"""References to parts of a change event: what ``add.fields`` and ``add.headers`` name."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from floe.config.keys.option_reader import OptionReader

PREFIX: Final = "__"
_SHOWN_CHARACTERS: Final = 100
_TOP: Final = ("op", "ts_ms", "ts_us", "ts_ns")
_OF_TRANSACTION: Final = ("id", "data_collection_order", "total_order")
_OF_ITSELF: Final = "updateDescription"


@dataclass(frozen=True)
class Reference:
    """A part of an event. ``struct``: what it is in, None for the event itself; ``name``: that of the new field or header."""

    struct: str | None
    field: str
    name: str


def references_of(options: OptionReader, key: str, prefix_key: str) -> tuple[Reference, ...]:
    """Read a list of references, and the prefix of their names; problems are noted in ``options``."""
    options.used.add(prefix_key)
    prefix = options.options.get(prefix_key, PREFIX)
    found = []
    for text in (part.strip() for part in options.text(key).split(",")):
        if not text:
            continue
        reference = _reference(text, prefix)
        if reference is None:
            shown = repr(text[:_SHOWN_CHARACTERS])
            options.refuse_value(key, f"{shown} is no part of an event: write field, struct.field or field:name")
        else:
            found.append(reference)
    twice = [name for name, count in Counter(one.name for one in found).items() if count > 1]
    if twice:
        options.refuse_value(
            key, f"gives the name {twice[0][:_SHOWN_CHARACTERS]!r} twice: write field:name for one of them"
        )
    return tuple(found)


def _reference(text: str, prefix: str) -> Reference | None:
    """Read a reference as Debezium does: what follows a second dot does not count."""
    parts = text.rstrip(":").split(":")
    path = parts[0].rstrip(".").split(".")
    if len(parts) > 2 or not path[0] or (len(path) > 1 and not path[1]):
        return None
    field = path[0] if len(path) == 1 else path[1]
    struct = _struct_of(field) if len(path) == 1 else path[0]
    own = field if len(path) == 1 else f"{struct}_{field}"
    return Reference(struct, field, prefix + (own if len(parts) == 1 else parts[1]))


def _struct_of(field: str) -> str | None:
    if field in _TOP:
        return None
    if field == _OF_ITSELF:
        return _OF_ITSELF
    return "transaction" if field in _OF_TRANSACTION else "source"
