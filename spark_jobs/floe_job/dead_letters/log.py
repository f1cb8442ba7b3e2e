"""Bad records in the log, one line each, up to a number."""

import logging
from collections.abc import Iterable

from floe_job.contract.dead_letter import DeadLetter
from floe_job.exceptions import clip

log = logging.getLogger(__name__)

MAX_LINES = 100
"""Maximum lines of one task: a topic that contains only bad records must not fill the disk."""

VALUE_CHARACTERS = 200
_VALUE_BYTES = VALUE_CHARACTERS * 4


class DeadLetterLog:
    """Logs what one task could not use; ``messages`` shows the beginning of the values, too."""

    def __init__(self, *, messages: bool, most: int = MAX_LINES) -> None:
        self._messages = messages
        self._most = most
        self._lines = 0
        self._rest = 0

    def note(self, dead_letters: Iterable[DeadLetter]) -> None:
        """Log dead letters, one WARNING each, until the maximum is reached."""
        for dead_letter in dead_letters:
            if self._lines == self._most:
                self._rest += 1
                continue
            self._lines += 1
            value = f"; value {_readable(dead_letter.value)}" if self._messages else ""
            log.warning(
                "bad record: %s, stage %s: %s%s",
                dead_letter.place,
                dead_letter.stage,
                _one_line(dead_letter.reason),
                value,
            )

    def close(self) -> None:
        """Log how many dead letters got no line."""
        if self._rest:
            log.warning("%s more bad records are not logged one by one", self._rest)
            self._rest = 0


def _readable(value: bytes | None) -> str:
    """Return the beginning of a value on one line: the producer of the value must not be able to write log lines."""
    if value is None:
        return "null"
    return clip(repr(value[:_VALUE_BYTES].decode("utf-8", "backslashreplace")), VALUE_CHARACTERS)


def _one_line(text: str) -> str:
    return text if text.isprintable() else repr(text)
