"""What Debezium's transforms make of deletes and of tombstones: the keys of Debezium 3, and those of its versions before."""

from enum import StrEnum
from typing import Final, NamedTuple

from floe.config.keys.option_reader import OptionReader

DROP_TOMBSTONES: Final = "drop.tombstones"
HANDLE_DELETES: Final = "delete.handling.mode"
HANDLE_BOTH: Final = "delete.tombstone.handling.mode"
KEYS: Final = (HANDLE_BOTH, DROP_TOMBSTONES, HANDLE_DELETES)


class Deletes(StrEnum):
    """What becomes of the event of a delete."""

    DROP = "drop"
    """The record is left out."""
    TOMBSTONE = "tombstone"
    """The record becomes a tombstone."""
    REWRITE = "rewrite"
    """The row before the delete is written, with a field that says so."""


class Handling(NamedTuple):
    """What becomes of deletes, and whether tombstones stay."""

    deletes: Deletes
    keeps_tombstones: bool


_BOTH: Final = {
    "drop": Handling(Deletes.DROP, False),
    "tombstone": Handling(Deletes.TOMBSTONE, False),
    "rewrite": Handling(Deletes.REWRITE, False),
    "rewrite-with-tombstone": Handling(Deletes.REWRITE, True),
    "delete-to-tombstone": Handling(Deletes.TOMBSTONE, False),
}
_DELETES: Final = {"drop": Deletes.DROP, "rewrite": Deletes.REWRITE, "none": Deletes.TOMBSTONE}


def read_handling(options: OptionReader) -> Handling:
    """Read the keys of either version; problems are noted in ``options``.

    Without any of them it is what Debezium 3 does: deletes become tombstones, and tombstones are left out.
    """
    mode = _choice(options, HANDLE_BOTH, tuple(_BOTH))
    deletes = _choice(options, HANDLE_DELETES, tuple(_DELETES))
    drops = options.boolean(DROP_TOMBSTONES, True)
    gives_tombstones = options.key(DROP_TOMBSTONES) is not None
    if not mode:
        if not deletes and not gives_tombstones:
            return _BOTH["tombstone"]
        return Handling(_DELETES[deletes or "drop"], not drops)
    handling = _BOTH[mode]
    if deletes and _DELETES[deletes] is not handling.deletes:
        options.refuse_value(HANDLE_DELETES, f"contradicts {HANDLE_BOTH}={mode}: remove it")
    if gives_tombstones and drops is handling.keeps_tombstones:
        options.refuse_value(DROP_TOMBSTONES, f"contradicts {HANDLE_BOTH}={mode}: remove it")
    return handling


def _choice(options: OptionReader, key: str, known: tuple[str, ...]) -> str:
    text = options.text(key).lower()
    if not text or text in known:
        return text
    options.refuse_value(key, f"is none of {', '.join(known)}: write one of these")
    return ""
