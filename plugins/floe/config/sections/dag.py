"""How Airflow shows and runs the DAGs of a connector: the keys ``floe.dag.*``."""

from __future__ import annotations

import importlib.util
import re
import zoneinfo
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

from floe.config.keys.reader import Settings
from floe.config.keys.values import InvalidValue, parse_list
from floe.config.names import has_control_characters, plain_problem
from floe.config.transforms.python_class import (
    MAX_PATH,
    OWN_PACKAGES,
    PREFIX,
    AllowedModules,
    SourceProblem,
    find_module,
)

# What a connector has called when a run of it ends or a table is late: ``python:package.module.attribute``.
#
# The module is found here and not run: an error in it must not take the DAGs away. It is imported when it is called.


ON_FAILURE, ON_SUCCESS = "floe.dag.on-failure-callback", "floe.dag.on-success-callback"
KEYS: Final = (ON_FAILURE, ON_SUCCESS)
VARIABLE: Final = "FLOE_CALLBACK_MODULES"
NO_CALLBACKS: Final = AllowedModules(variable=VARIABLE)

_PATH: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", re.ASCII)
_SHOWN_CHARACTERS: Final = 100


@dataclass(frozen=True)
class CallbackPath:
    """The place of a callable or of an Airflow notifier, and the key that names it."""

    key: str
    module: str
    attribute: str

    def __str__(self) -> str:
        return f"{self.key} '{PREFIX}{self.module}.{self.attribute}'"


def read_callback(settings: Settings, key: str, allowed: AllowedModules | None) -> CallbackPath | None:
    """Read the key; problems are noted. ``allowed``: the operator's list; None in a task, after the file was read by it."""
    text = settings.text(key)
    if not text:
        return None
    path = text.removeprefix(PREFIX)
    where = f"{key} {text[:_SHOWN_CHARACTERS]!r}"
    if path == text or not _PATH.fullmatch(path) or len(path) > MAX_PATH:
        settings.problems.append(
            f"{where} is no path of a callable: write {PREFIX}package.module.attribute, of letters, digits, '_' and dots, at "
            f"most {MAX_PATH} characters"
        )
        return None
    module, _, attribute = path.rpartition(".")
    if problem := allowed and _problem(module, allowed):
        settings.problems.append(f"{where}: {problem}")
        return None
    return CallbackPath(key, module, attribute)


def _problem(module: str, allowed: AllowedModules) -> str | None:
    if module.partition(".")[0] in OWN_PACKAGES:
        return "it is in a package of floe's own: put the callable into a module of yours"
    if allowed.entry(module) is None:
        return allowed.problem(module)
    try:
        find_module(module)
    except SourceProblem as error:
        return str(error)
    return None


ACCESS: Final = "floe.dag.access-control."
OWNER, TAGS, POOL, QUEUE = "floe.dag.owner", "floe.dag.tags", "floe.dag.pool", "floe.dag.queue"
PRIORITY, RETRIES, RETRY_DELAY = "floe.dag.priority-weight", "floe.dag.retries", "floe.dag.retry-delay"
RUN_TIMEOUT, TASK_TIMEOUT = "floe.dag.run-timeout", "floe.dag.task-timeout"
MAX_REPLAYS, IS_PAUSED = "floe.dag.max-active-replays", "floe.dag.is-paused"

PERMISSIONS: Final = ("can_read", "can_edit", "can_delete", "can_trigger")
"""What a role may do with the DAGs."""

LEAST_TIMEOUT_MS = 1000
_MAX_NAME = 250
"""Characters of a pool, a queue, an owner and a tag, by the columns of Airflow's database; a tag has fewer."""

_MAX_TAG = 100
_MAX_TAGS = 50
_OWN_TAGS = ("floe", "sink", "replay", "broken")


@dataclass(frozen=True)
class DagSettings:
    """What the connector says of its DAGs. Times are in milliseconds; None is no limit, or Airflow's own default.

    ``retries``: of plan and write. ``access``: roles, each with some of ``PERMISSIONS``. ``is_paused``: when Airflow first
    sees them. ``on_failure``, ``on_success``: what is called once for a run that ends so.
    """

    owner: str = "floe"
    tags: tuple[str, ...] = ()
    access: tuple[tuple[str, tuple[str, ...]], ...] = ()
    pool: str | None = None
    queue: str | None = None
    priority_weight: int = 1
    retries: int = 2
    retry_delay_ms: int = 10_000
    run_timeout_ms: int | None = None
    task_timeout_ms: int | None = None
    max_active_replays: int = 4
    is_paused: bool | None = None
    on_failure: CallbackPath | None = None
    on_success: CallbackPath | None = None


PLAIN: Final = DagSettings()


def read_dag(settings: Settings, callbacks: AllowedModules | None = NO_CALLBACKS) -> DagSettings:
    """Read the keys; a problem is noted, and what it is of has its default.

    ``callbacks``: the modules that the operator allows; None in a task, after the file was read by them.
    """
    return DagSettings(
        owner=_name(settings, OWNER) or PLAIN.owner,
        tags=_tags(settings),
        access=_access(settings),
        pool=_name(settings, POOL),
        queue=_name(settings, QUEUE),
        priority_weight=settings.integer(PRIORITY),
        retries=settings.integer(RETRIES),
        retry_delay_ms=settings.integer(RETRY_DELAY),
        run_timeout_ms=_timeout(settings, RUN_TIMEOUT),
        task_timeout_ms=_timeout(settings, TASK_TIMEOUT),
        max_active_replays=settings.integer(MAX_REPLAYS),
        is_paused=settings.boolean(IS_PAUSED) if settings.given(IS_PAUSED) else None,
        on_failure=read_callback(settings, ON_FAILURE, callbacks),
        on_success=read_callback(settings, ON_SUCCESS, callbacks),
    )


def _name(settings: Settings, key: str) -> str | None:
    if not settings.given(key):
        return None
    value = settings.properties[key]
    if problem := _text_problem(value, _MAX_NAME):
        settings.problems.append(f"{key} {problem}")
    return value


def _tags(settings: Settings) -> tuple[str, ...]:
    tags = settings.names(TAGS)
    if len(tags) > _MAX_TAGS:
        settings.problems.append(f"{TAGS} has {len(tags)} tags: at most {_MAX_TAGS} are taken")
        return ()
    for tag in tags:
        problem = _text_problem(tag, _MAX_TAG)
        if tag in _OWN_TAGS:
            problem = f"has {tag!r}, by which floe's own DAGs are found: choose another"
        if problem:
            settings.problems.append(f"{TAGS} {problem}")
    return tuple(dict.fromkeys(tags))


def _text_problem(text: str, most: int) -> str | None:
    return plain_problem(text) or (
        f"has {len(text)} characters: at most {most} are taken" if len(text) > most else None
    )


def _access(settings: Settings) -> tuple[tuple[str, tuple[str, ...]], ...]:
    access: dict[str, tuple[str, ...]] = {}
    for role, text in settings.properties.under(ACCESS).items():
        permissions = parse_list(text)
        wrong = [one for one in permissions if one not in PERMISSIONS]
        if wrong or not permissions:
            why = f"Must be some of: {', '.join(PERMISSIONS)}"
            settings.problems.append(str(InvalidValue(f"{ACCESS}{role}", text, why)))
        if problem := plain_problem(role):
            settings.problems.append(f"{ACCESS}<role> {problem}")
        if "can_trigger" in permissions and "can_edit" not in permissions:
            settings.warnings.append(
                f"{ACCESS}{role}: can_trigger has no effect without can_edit, as Airflow's FAB auth manager lets only those "
                "start runs who may edit the DAG. Add can_edit, unless the role has it on all DAGs"
            )
        access[role] = permissions
    return tuple(access.items())


def _timeout(settings: Settings, key: str) -> int | None:
    timeout = settings.integer(key)
    if 0 <= timeout < LEAST_TIMEOUT_MS:
        why = f"Value must be at least {LEAST_TIMEOUT_MS}, or -1 for no limit"
        settings.problems.append(str(InvalidValue(key, str(timeout), why)))
    return None if timeout < 0 else timeout


# When the runs of a connector begin: ``floe.schedule``, else every commit interval.


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
