"""Regular expressions of a connector: written for Java, read by Python."""

import re
import warnings

_MOST_CHARACTERS = 4000


def compile_expression(text: str) -> re.Pattern[str]:
    r"""Compile an expression, to be used with ``fullmatch``.

    ``\d``, ``\w``, ``\s`` and ``(?i)`` know ASCII only, as in Java. What Java reads and Python does not (``\p{…}``,
    ``\Q…\E``, ``(?<name>…)``), and what they read differently (``[a&&b]``, ``[a[b]]``), is refused.

    :raises ValueError: with what is wrong, and the expression.
    """
    if len(text) > _MOST_CHARACTERS:
        msg = f"an expression of {len(text)} characters is too long: write at most {_MOST_CHARACTERS}"
        raise ValueError(msg)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of sets that a later Python, and Java today, read differently
            return re.compile(text, re.ASCII)
    except (re.error, ValueError, OverflowError, RecursionError, Warning) as error:
        msg = f"{text[:200]!r} is no regular expression that floe can use: {error}; write it in Python's syntax"
        raise ValueError(msg) from None
