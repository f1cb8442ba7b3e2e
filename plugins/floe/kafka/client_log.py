"""librdkafka's log lines, each once, in one logger at their own level; and why a client could not connect.

The client's own error is often a time-out, while a line of its log has the reason: refused, not resolved, wrong password.
"""

import logging
import re
import threading
import time
from collections.abc import Callable
from typing import Any

from floe.config.secrets.mask import clip, hide

log = logging.getLogger("floe.kafka.librdkafka")

REPEATED_WITHIN = 60.0
"""Seconds in which a line that differs from an earlier one only in numbers is a repetition, and is not logged."""

MAX_LINES = 1000
"""Different lines that are kept for comparison."""

LEVELS = (
    logging.CRITICAL,  # emergency
    logging.CRITICAL,  # alert
    logging.CRITICAL,  # critical
    logging.ERROR,
    logging.WARNING,
    logging.INFO,  # notice
    logging.INFO,
    logging.DEBUG,
)
"""Python's levels for those of syslog, which librdkafka uses."""

_MAX_EVENTS = 10_000
_LINE = re.compile(r"%([0-7])\|[\d.]+\|(\w+)\|([^|]*)\| ?(.*)", re.DOTALL)
_WHERE = re.compile(r"^(\[thrd:[^\]]*\]: )?(\S+(/\w+)?: )?")
_WHEN = re.compile(r" \(after \d+ms in state \w+.*\)$")


class Repetitions:
    """Detects lines that were written a short time ago. It may be used by several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._written: dict[str, float] = {}

    def is_one(self, line: str) -> bool:
        """Whether a line like this was written within ``REPEATED_WITHIN``; if not, it counts as written now."""
        key, now = re.sub(r"\d+", "0", line), self._clock()
        with self._lock:
            if now - self._written.get(key, -REPEATED_WITHIN) < REPEATED_WITHIN:
                return True
            if len(self._written) >= MAX_LINES:
                self._written.clear()
            self._written[key] = now
            return False


_REPETITIONS = Repetitions()


class ClientLog:
    """The log of one client: give it as ``logger`` in the client's settings.

    confluent-kafka delivers lines when the client is polled; ``drained`` polls it after a failure.
    """

    def __init__(self) -> None:
        self._failure: str | None = None

    def log(self, level: int, form: str, *values: Any) -> None:
        """Log a line from confluent-kafka: ``values`` are facility, client and text."""
        facility, text = (str(values[0]), str(values[-1])) if len(values) > 1 else ("", form % values)
        if facility in ("FAIL", "RESOLVE", "SSL", "SASL", "OIDC", "OAUTHBEARER"):
            self._failure = reason_of(text)
        write(level, facility, text)

    def drained(self, client: Any) -> str | None:
        """Poll all log lines and return why the client recently could not connect; None if no line says so."""
        for _ in range(_MAX_EVENTS):
            if not client.poll(0):
                break
        return self._failure


def write(level: int, facility: str, text: str) -> None:
    """Log a line of librdkafka, unless it repeats an earlier one."""
    if not _REPETITIONS.is_one(f"{facility} {_WHERE.sub('', text)}"):
        log.log(level, "%s %s", facility, hide(text))


def parse_line(line: str) -> tuple[int, str, str] | None:
    """Read a line as librdkafka writes it to stderr: its level for Python, its facility and its text."""
    found = _LINE.match(line)
    return (LEVELS[int(found[1])], found[2], found[4]) if found else None


def reason_of(text: str) -> str:
    """Return the reason in a line about a connection: ``Connect to ipv4#127.0.0.1:1 failed: Connection refused``."""
    return clip(_WHEN.sub("", _WHERE.sub("", text)).strip(), 300)
