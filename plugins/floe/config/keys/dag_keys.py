"""Keys of floe's own about the DAGs of a connector: when their runs begin, and how Airflow runs and shows them.

They count when the connector file is parsed, so no run can set them.
"""

from typing import Final

from floe.config.keys.key import Kind, supported
from floe.config.keys.loaded_code import IN_PYTHON

DAG: Final = (
    supported(
        "floe.schedule",
        Kind.STRING,
        None,
        "When runs begin, in the place of iceberg.control.commit.interval-ms: a cron expression (`30 6 * * 1-5`); "
        "`@hourly`, `@daily`, `@weekly`, `@monthly`, `@quarterly` or `@yearly`; URIs of Airflow assets, separated by commas, "
        "each of which must have been updated since the last run; or `manual`, by triggers only.",
    ),
    supported("floe.schedule.timezone", Kind.STRING, "UTC", "Time zone of a cron expression: `Europe/Berlin`."),
    supported("floe.dag.owner", Kind.STRING, "floe", "Owner of the tasks, as Airflow shows and filters it."),
    supported("floe.dag.tags", Kind.LIST, None, "Further tags of the DAGs, beside floe's own."),
    supported(
        "floe.dag.access-control.*",
        Kind.LIST,
        None,
        "What a role of Airflow's FAB auth manager may do with both DAGs, the role in the key: `can_read`, `can_edit`, "
        "`can_delete`, `can_trigger`, which FAB grants to those who have `can_edit` too. The role must exist.",
    ),
    supported(
        "floe.dag.pool",
        Kind.STRING,
        None,
        "Airflow pool of the tasks; it must exist, or they wait for ever. For many connectors: one with as many slots as "
        "Spark jobs may run at once. Commits go before writes, and both before plans. Default: Airflow's.",
    ),
    supported(
        "floe.dag.queue", Kind.STRING, None, "Queue of the tasks, for executors with queues. Default: Airflow's."
    ),
    supported("floe.dag.priority-weight", Kind.INT, "1", "Priority of the tasks over others of the pool.", minimum=1),
    supported(
        "floe.dag.retries",
        Kind.INT,
        "2",
        "Retries of plan and write after an error that may pass. The commit has 5, or these if they are more.",
        minimum=0,
    ),
    supported(
        "floe.dag.retry-delay",
        Kind.INT,
        "10000",
        "Milliseconds before a retry; the commit's are doubled each time.",
        minimum=0,
    ),
    supported(
        "floe.dag.run-timeout",
        Kind.INT,
        "-1",
        "Milliseconds that a run of the connector's DAG may take, at least 1000; then Airflow fails it. -1 for no limit.",
        minimum=-1,
    ),
    supported(
        "floe.dag.task-timeout",
        Kind.INT,
        "-1",
        "Milliseconds that one try of a task may take, at least 1000; -1 for no limit. See floe.write.timeout first: it lets "
        "the next run read less.",
        minimum=-1,
    ),
    supported("floe.dag.max-active-replays", Kind.INT, "4", "Runs of the replay DAG at the same time.", minimum=1),
    supported(
        "floe.dag.is-paused",
        Kind.BOOLEAN,
        None,
        "Whether the connector's DAG is paused when Airflow sees it first. Default: Airflow's.",
    ),
    supported(
        "floe.dag.on-failure-callback",
        Kind.STRING,
        None,
        "Called once for each run of both DAGs that fails, and when a table is late: `python:package.module.attribute`, a "
        "function that takes Airflow's context or a notifier, of a module of FLOE_CALLBACK_MODULES.",
        code=IN_PYTHON,
    ),
    supported(
        "floe.dag.on-success-callback",
        Kind.STRING,
        None,
        "Called once for each run of both DAGs that succeeds, likewise.",
        code=IN_PYTHON,
    ),
)
