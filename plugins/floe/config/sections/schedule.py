"""When the runs of a connector begin: ``floe.schedule``, else every commit interval."""

import importlib.util
import re
import zoneinfo
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

from floe.config.keys.reader import Settings
from floe.config.keys.values import InvalidValue, parse_list
from floe.config.names import has_control_characters

SCHEDULE: Final = "floe.schedule"
TIMEZONE: Final = "floe.schedule.timezone"
INTERVAL_KEY: Final = "iceberg.control.commit.interval-ms"
MANUAL: Final = "manual"

UTC_ZONE: Final = "UTC"

PRESETS: Final = ("@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly")
"""Airflow's names of cron expressions."""

MAX_ASSETS = 100
MAX_URI_CHARACTERS = 1500
"""Of an asset's URI, in Airflow."""

_MAX_CHARACTERS = 200
_FIELD = re.compile(
    r"(?:[0-9*/,#?-]|L|W|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC|SUN|MON|TUE|WED|THU|FRI|SAT)+", re.IGNORECASE
)
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+")
_ASSETS = "://"
_WAYS = f"write a cron expression of 5 fields, one of {', '.join(PRESETS)}, URIs of assets, or {MANUAL}"


@dataclass(frozen=True)
class Schedule:
    """One of: a ``cron`` expression or preset in a ``timezone``; ``assets``, by URI; nothing but triggers; or the interval.

    A run begins when each of the assets was updated since the last one.
    """

    cron: str = ""
    timezone: str = UTC_ZONE
    assets: tuple[str, ...] = ()
    is_manual: bool = False

    @property
    def is_interval(self) -> bool:
        """Whether runs begin every commit interval."""
        return not (self.cron or self.assets or self.is_manual)

    @property
    def text(self) -> str:
        """The value of the key; empty for the interval."""
        return MANUAL if self.is_manual else self.cron or ",".join(self.assets)


INTERVAL: Final = Schedule()


def read_schedule(settings: Settings) -> Schedule:
    """Read the schedule of a connector; problems are noted, and then it is the interval."""
    found, problems = schedule_of(settings.properties.get(SCHEDULE), settings.properties.get(TIMEZONE))
    if not problems and settings.given(TIMEZONE) and not found.cron:
        problems = [f"{TIMEZONE} has no effect without a cron expression in {SCHEDULE}: remove it"]
    settings.problems += problems
    if not problems and not found.is_interval and settings.given(INTERVAL_KEY) and settings.is_own(INTERVAL_KEY):
        settings.warnings.append(f"{INTERVAL_KEY} has no effect: {SCHEDULE} says when runs begin. Remove one of them")
    return found if not problems else INTERVAL


def schedule_of(text: str | None, timezone: str | None) -> tuple[Schedule, list[str]]:
    """Return what the two keys mean, None for one that is not given, and the problems."""
    zone = UTC_ZONE if timezone is None else timezone.strip()
    problems = [] if _is_zone(zone) else [_invalid(TIMEZONE, timezone, "Unknown time zone; write one as Europe/Berlin")]
    schedule = (text or "").strip()
    if text is None:
        return INTERVAL, problems
    if schedule == MANUAL:
        return Schedule(is_manual=True), problems
    if _ASSETS in schedule:
        uris = parse_list(schedule)
        return Schedule(assets=tuple(dict.fromkeys(uris))), [*problems, *_asset_problems(uris)]
    why = _cron_problem(schedule)
    return Schedule(schedule, zone), [*problems, *([_invalid(SCHEDULE, text, why)] if why else [])]


def _asset_problems(uris: tuple[str, ...]) -> list[str]:
    if len(uris) > MAX_ASSETS:
        return [f"{SCHEDULE} names {len(uris)} assets: at most {MAX_ASSETS} are taken"]
    return [_invalid(SCHEDULE, uri, why) for uri in uris if (why := _uri_problem(uri))]


def _uri_problem(uri: str) -> str | None:
    if len(uri) > MAX_URI_CHARACTERS:
        return f"An asset's URI has at most {MAX_URI_CHARACTERS} characters"
    if not _URI.fullmatch(uri) or has_control_characters(uri):
        return f"Not the URI of an asset; {_WAYS}"
    try:
        parts = urlsplit(uri)
    except ValueError:
        return "Not a URI"
    if parts.scheme == "airflow":
        return "Airflow keeps the scheme airflow for itself"
    return "Remove the login: Airflow takes none in the URI of an asset" if "@" in parts.netloc else None


def _cron_problem(text: str) -> str | None:
    """Return why a text is neither a preset nor a cron expression that Airflow can schedule by."""
    if text.startswith("@"):
        return None if text in PRESETS else f"Unknown preset; {_WAYS}"
    fields = text.split()
    if len(fields) != 5 or len(text) > _MAX_CHARACTERS or not all(map(_FIELD.fullmatch, fields)):
        return f"Not a cron expression; {_WAYS}"
    if importlib.util.find_spec("croniter") is None:
        return None  # a file is checked by a bare Python; Airflow, which has it, checks the file again
    # not at the top: few connectors need it
    from croniter import CroniterBadCronError, CroniterBadDateError, croniter  # type: ignore[import-untyped]

    try:
        croniter(text, datetime(2024, 1, 1, tzinfo=UTC)).get_next(datetime)
    except CroniterBadDateError:
        return "No such date: it would never begin a run"
    except (CroniterBadCronError, ValueError) as error:
        return f"Not a cron expression: {error}; {_WAYS}"
    return None


def _is_zone(name: str) -> bool:
    try:
        zoneinfo.ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        return name == UTC_ZONE or not zoneinfo.available_timezones()  # a bare Python may know none at all
    return True


def _invalid(key: str, text: str | None, why: str) -> str:
    return str(InvalidValue(key, text or "", why))
