"""A connector's identity in Airflow: the name and when runs begin, also of a file that cannot be read as a connector."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from floe.config.document import claimed_name, unwrap
from floe.config.names import connector_name_problem
from floe.config.sections.schedule import SCHEDULE, TIMEZONE, Schedule, schedule_of

DEFAULT_INTERVAL_MS = 300_000
"""The default of ``iceberg.control.commit.interval-ms``."""

MIN_INTERVAL_MS = 1000
"""Airflow schedules by the second."""

INTERVAL = "iceberg.control.commit.interval-ms"
_MAX_INTERVAL_MS = 2**31 - 1

# A key and its value where quotes, commas or braces may be missing; not the end of a longer key or value.
_NAME = re.compile(r"""(?<![\w.-])["']?name["']?\s{0,20}[:=]\s{0,20}["']?([\w.-]{1,250})(?![\w.-])""")
_INTERVAL = re.compile(
    rf"""(?<![\w.-])["']?{re.escape(INTERVAL)}["']?\s{{0,20}}[:=]\s{{0,20}}["']?([0-9]{{1,10}})(?![\w.-])"""
)


@dataclass(frozen=True)
class Identity:
    """The name, which is the dag_id, the time between two runs in milliseconds, and the schedule; None if not given."""

    name: str | None = None
    interval_ms: int | None = None
    schedule: Schedule | None = None

    def or_else(self, other: "Identity") -> "Identity":
        """Fill missing values from another identity."""
        return Identity(self.name or other.name, self.interval_ms or other.interval_ms, self.schedule or other.schedule)


UNKNOWN = Identity()


def identity_of(document: Mapping[str, object]) -> Identity:
    """Read the identity of a JSON object, even if the rest of it is broken; the interval has a default."""
    keys = unwrap(document)[0]
    given = str(keys.get(INTERVAL, DEFAULT_INTERVAL_MS)).strip()
    schedule, problems = schedule_of(*(str(keys[key]) if key in keys else None for key in (SCHEDULE, TIMEZONE)))
    return Identity(claimed_name(document), _interval(given), None if problems else schedule)


def identity_in_text(content: bytes) -> Identity:
    """Find the identity in a text that is not valid JSON: the first legal name, the first interval."""
    encoding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    text = content.decode(encoding, errors="replace")
    names = (match[1] for match in _NAME.finditer(text))
    interval = _INTERVAL.search(text)
    return Identity(
        next((name for name in names if connector_name_problem(name) is None), None),
        _interval(interval[1]) if interval else None,
    )


def _interval(text: str) -> int | None:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(_MAX_INTERVAL_MS))):
        return None
    number = int(text)
    return max(number, MIN_INTERVAL_MS) if 0 < number <= _MAX_INTERVAL_MS else None
