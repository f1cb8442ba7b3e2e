"""CPython's parser of regular expressions, which has no public name. Standard library only, as all of ``floe.config``."""

from re import _parser  # type: ignore[attr-defined]
from typing import Any, Final

from floe.private_names import PrivateName

PRIVATE_NAMES: Final = (
    PrivateName(
        "re:_parser.parse",
        "the tree of an expression tells what each engine would make of it",
        "a public parser of expressions in Python (none is planned)",
        ("str", "flags", "state"),
    ),
    PrivateName("re:_parser.MAXREPEAT", "a count without an end, in that tree", "the same"),
)

MAX_REPEAT: Final = int(_parser.MAXREPEAT)
"""A count without an end."""


def parse(expression: str, flags: int) -> Any:
    """Return the tree of an expression, as Python compiles it. Raises re.error, RecursionError, OverflowError."""
    return _parser.parse(expression, flags)
