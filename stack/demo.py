"""The demo: orders into Kafka, a DAG run, the table; more orders, another run, only those added."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from stack import orders
from stack.exceptions import RunFailed
from stack.local import CATALOG, Local
from stack.progress import say, step

if TYPE_CHECKING:
    from pyiceberg.table import Table

DAG = "pizzas-on-ice"
TABLE = "rpc.pizzas"
FIRST = 1000
MORE = 500
_SHOWN = 8
_LOG_TAIL = 40


def fill(local: Local) -> None:
    """Produce the first orders, move them by a DAG run, and show the table. Raises RunFailed."""
    bootstrap = local.settings.bootstrap
    with step(f"topics {orders.TOPIC!r} and {orders.CONTROL_TOPIC!r}, {FIRST} orders"):
        orders.create_topics(bootstrap)
        orders.produce(bootstrap, 0, FIRST)
    local.filled.touch()
    with step(f"DAG {DAG!r} is found"):
        local.airflow.rest.wait_for_dag(DAG)
    rest = local.airflow.rest
    rest.unpause(DAG)
    move(local, "the scheduler's first run", lambda: rest.wait_for_scheduled_run(DAG))
    show(local, expected=FIRST)


def add(local: Local) -> None:
    """Produce more orders, move them, and show that only those were added. Raises RunFailed."""
    with step(f"{MORE} more orders"):
        orders.produce(local.settings.bootstrap, FIRST, MORE)
    move(local, "a run triggered by hand", lambda: local.airflow.rest.trigger(DAG))
    show(local, expected=FIRST + MORE)


def move(local: Local, what: str, begin: Callable[[], str]) -> None:
    """Begin a run and wait for it; raises RunFailed after printing the end of the failed tasks' logs."""
    rest = local.airflow.rest
    with step(f"DAG {DAG!r}: {what}"):
        run_id = begin()
        state = rest.wait_for_run(DAG, run_id)
    tasks = rest.task_instances(DAG, run_id)
    took = [f"{task['task_id']} {task['state']} {task['duration'] or 0:.1f} s" for task in tasks]
    say(f"    {run_id}: {', '.join(took)}")
    if state == "success":
        return
    for task in tasks:
        if task["state"] == "failed":
            say(f"--- the end of the log of {task['task_id']!r}")
            say("\n".join(rest.log(DAG, run_id, task)[-_LOG_TAIL:]))
    message = f"run {run_id!r} of {DAG!r} failed: see the log above, or {local.airflow.folder / 'logs'}"
    raise RunFailed(message)


def show(local: Local, expected: int) -> None:
    """Print the table's newest rows, its count and its snapshots; raises RunFailed if the count is another."""
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NoSuchTableError

    settings = local.settings
    catalog = load_catalog(CATALOG, type="sql", uri=settings.catalog_uri, warehouse=settings.warehouse.as_uri())
    try:
        table = catalog.load_table(TABLE)
        count = _print_table(table)
    except NoSuchTableError as error:
        message = f"the run succeeded, but there is no table {TABLE!r} in {settings.catalog_uri}"
        raise RunFailed(message) from error
    finally:
        catalog.close()
    if count != expected:
        message = f"{TABLE} holds {count} rows instead of {expected}"
        raise RunFailed(message)


def _print_table(table: Table) -> int:
    count = int(table.scan().count())
    rows = table.scan().to_arrow().sort_by([("date_ordered", "descending")]).slice(0, _SHOWN).to_pylist()
    names = [field.name for field in table.schema().fields]
    widths = [max(len(name), *(len(str(row[name])) for row in rows), 0) for name in names]
    say(f"\n{TABLE}: {count} rows, the newest {len(rows)}:")
    say("  " + "  ".join(name.ljust(width) for name, width in zip(names, widths, strict=True)))
    for row in rows:
        say("  " + "  ".join(str(row[name]).ljust(width) for name, width in zip(names, widths, strict=True)))
    say(f"\n{TABLE}: its snapshots:")
    for snapshot in table.snapshots():
        summary = snapshot.summary
        added = summary["added-records"] if summary and "added-records" in summary.additional_properties else "0"
        total = summary["total-records"] if summary else "?"
        operation = summary.operation.value if summary else "?"
        say(f"  {snapshot.snapshot_id:>20}  {operation}  added {added} rows, total {total}")
    say()
    return count
