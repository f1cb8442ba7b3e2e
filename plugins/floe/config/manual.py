"""The table of keys as Markdown, for ``docs/configuration.md``."""

from floe.config.key import Key, Status
from floe.config.keys import KEYS

_TITLES = {
    Status.SUPPORTED: ("key", "type", "default", "class", "meaning"),
    Status.NO_EFFECT: ("key", "type", "sink's default", "why it has no effect"),
    Status.REFUSED: ("key", "type", "passes when", "why, and what to do"),
}


def key_table(status: Status) -> str:
    """Print the keys of one status as a table, a row each."""
    titles = _TITLES[status]
    lines = [_line(titles), _line(("---",) * len(titles))]
    lines += [
        _line((f"`{key.name}`", key.kind.value, _third(key), *_class(key), key.doc))
        for key in KEYS
        if key.status is status
    ]
    return "\n".join(lines)


def _third(key: Key) -> str:
    if key.status is Status.REFUSED:
        return ", ".join(f"`{value}`" if value else "empty" for value in _harmless(key)) or "never"
    if key.default is None:
        return "none"
    return f"`{key.default}`" if key.default else "empty"


def _class(key: Key) -> tuple[str, ...]:
    """The class of the key; of a pattern with members, theirs: all others are of class file."""
    if key.status is not Status.SUPPORTED:
        return ()
    return (f"{key.key_class.value}, some" if key.members else key.key_class.value,)


def _harmless(key: Key) -> tuple[str, ...]:
    return ("false",) if key.kind.value == "boolean" else key.harmless


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
