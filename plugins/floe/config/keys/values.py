"""Values by the rules of Kafka's ConfigDef, with its messages."""

import re

from floe.config.keys.key import KeyType

_INTEGER = re.compile(r"[+-]?[0-9]+")
_BITS = {KeyType.INT: 31, KeyType.LONG: 63}
_MAX_DIGITS = 25  # more than any LONG has; Python refuses to convert some thousands of them
_SHOWN_CHARACTERS = 100


class InvalidValue(ValueError):
    """A value that its type does not allow; the message is ConfigDef's."""

    def __init__(self, key: str, text: str, why: str) -> None:
        super().__init__(f"Invalid value {_readable(text)} for configuration {key}: {why}")


def parse_integer(key: str, kind: KeyType, text: str, minimum: int | None = None) -> int:
    """Read an INT or a LONG, blanks around it allowed.

    :raises InvalidValue: not a number, out of the type's range or below ``minimum``.
    """
    digits = text.strip()
    bound = 1 << _BITS[kind]
    is_number = _INTEGER.fullmatch(digits) and len(digits.lstrip("+-0")) <= _MAX_DIGITS
    number = int(digits) if is_number and len(digits) < 1000 else None
    if number is None or not -bound <= number < bound:
        raise InvalidValue(key, text, f"Not a number of type {kind.name}")
    if minimum is not None and number < minimum:
        raise InvalidValue(key, text, f"Value must be at least {minimum}")
    return number


def parse_boolean(key: str, text: str) -> bool:
    """Read ``true`` or ``false`` in any case, blanks around it allowed.

    :raises InvalidValue: anything else.
    """
    match text.strip().lower():
        case "true":
            return True
        case "false":
            return False
    raise InvalidValue(key, text, "Expected value to be either true or false")


def parse_list(text: str) -> tuple[str, ...]:
    """Split at commas, blanks around them dropped. An empty text is an empty list; ``a,,b`` has an empty element."""
    stripped = text.strip()
    return tuple([part.strip() for part in stripped.split(",")]) if stripped else ()


def _readable(text: str) -> str:
    short = text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
    return short if short.isprintable() else repr(short)
