"""How Airflow shows and runs the DAGs of a connector: the keys ``floe.dag.*``."""

from dataclasses import dataclass
from typing import Final

from floe.config.keys.reader import Settings
from floe.config.keys.values import InvalidValue, parse_list
from floe.config.names import plain_problem
from floe.config.sections.callbacks import NO_CALLBACKS, ON_FAILURE, ON_SUCCESS, CallbackPath, read_callback
from floe.config.transforms.allowed_modules import AllowedModules

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
