"""A connector's identity in Airflow: the name and when runs begin, also of a file that cannot be read as a connector."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from floe.config.document import claimed_name, unwrap
from floe.config.names import connector_name_problem
from floe.config.sections.dag import SCHEDULE, TIMEZONE, Schedule, schedule_of

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

    def or_else(self, other: Identity) -> Identity:
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


# The identities of a folder's connector files when they were last valid: only names and schedules.
#
# One small JSON file per folder, 0600, in the cache folder of the deployment. It only decides under which name and
# schedule a broken connector fails; losing or changing it has no other effect.


_MAX_BYTES = 10 << 20
_FOLDER = "connectors"


class IdentityStore:
    """Keeps the identities of one folder of connectors, by file name."""

    def __init__(self, cache: Path, connectors: Path) -> None:
        of_folder = hashlib.sha256(os.fsencode(connectors.absolute())).hexdigest()[:32]
        self.path = cache / _FOLDER / f"{of_folder}.json"

    def load(self) -> dict[str, Identity]:
        """Return the stored identities; empty if there are none or they cannot be read."""
        try:
            with self.path.open("rb") as stream:
                kept = json.loads(stream.read(_MAX_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(kept, dict):
            return {}
        return {file: _identity(fields) for file, fields in kept.items() if isinstance(fields, dict)}

    def save(self, identities: Mapping[str, Identity]) -> None:
        """Replace the stored identities atomically.

        :raises OSError: the folder cannot be written.
        """
        folder = self.path.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fields = {file: _fields(one) for file, one in sorted(identities.items())}
        descriptor, temporary = tempfile.mkstemp(dir=folder)  # of mode 0600
        try:
            with open(descriptor, "w") as stream:  # noqa: PTH123 - mkstemp has opened it
                json.dump(fields, stream)
            Path(temporary).replace(self.path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def _identity(fields: Mapping[str, object]) -> Identity:
    """Read a stored identity by the rules for connector files: the store is input, too."""
    keys = {"name": fields.get("name"), INTERVAL: fields.get("interval-ms", DEFAULT_INTERVAL_MS)}
    known = ((SCHEDULE, "schedule"), (TIMEZONE, "timezone"))
    return identity_of({**keys, **{key: fields[name] for key, name in known if name in fields}})


def _fields(identity: Identity) -> dict[str, object]:
    fields: dict[str, object] = {"name": identity.name, "interval-ms": identity.interval_ms}
    if identity.schedule is not None and not identity.schedule.is_interval:
        fields |= {"schedule": identity.schedule.text, "timezone": identity.schedule.timezone}
    return fields
