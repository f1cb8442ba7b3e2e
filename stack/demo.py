"""The demo: orders into Kafka, a DAG run, the table; more orders, another run, only those added."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stack import avro_orders, orders
from stack.exceptions import RunFailed
from stack.local import CATALOG, Local
from stack.progress import say, step

if TYPE_CHECKING:
    from pyiceberg.table import Table

FIRST = 1000
MORE = 500
_SHOWN = 8
_LOG_TAIL = 40


@dataclass(frozen=True)
class Demo:
    """Orders in one format: the connector that moves them, their topic and their table.

    ``records``: keys and values of orders, by the first one's number and their count. ``filled``: the file that says that
    the first ones are in.
    """

    dag: str
    topic: str
    table: str
    records: Callable[[int, int], Iterator[tuple[str, bytes]]]
    filled: Path
    is_typed: bool = False

    @classmethod
    def of(cls, local: Local) -> Demo:
        """Return the orders in Avro if the stack has a registry, else those in JSON."""
        state, url = local.settings.state, local.registry.confluent_url
        if not local.has_registry:
            return cls("pizzas-on-ice", orders.TOPIC, "rpc.pizzas", orders.json_records, state / "filled")
        return cls(
            "pizzas-in-avro",
            avro_orders.TOPIC,
            "rpc.pizzas_in_avro",
            lambda first, count: avro_orders.avro_records(url, first, count),
            state / "filled-avro",
            is_typed=True,
        )


def fill(local: Local) -> None:
    """Produce the first orders, move them by a DAG run, and show the table. Raises RunFailed."""
    bootstrap, demo = local.settings.bootstrap, Demo.of(local)
    with step(f"topics {demo.topic!r} and {orders.CONTROL_TOPIC!r}, {FIRST} orders"):
        orders.create_topics(bootstrap, demo.topic)
        orders.produce(bootstrap, demo.topic, demo.records(0, FIRST))
    demo.filled.touch()
    with step(f"DAG {demo.dag!r} is found"):
        local.airflow.rest.wait_for_dag(demo.dag)
    rest = local.airflow.rest
    rest.unpause(demo.dag)
    move(local, demo.dag, "the scheduler's first run", lambda: rest.wait_for_scheduled_run(demo.dag))
    show(local, demo, expected=FIRST)


def refill(local: Local) -> None:
    """Read the orders again into a table that is gone with its store, by the decision that runs ask for. Raises RunFailed."""
    demo, rest = Demo.of(local), local.airflow.rest
    decision = {"dropped_tables": {demo.table: "refill"}}
    say(
        "The tables of the S3 store are gone. Connectors that filled one stop with FLOE-224 until a run is given a decision, "
        f"as in {json.dumps(decision)} (docs/how-to/recover.md)."
    )
    with step(f"DAG {demo.dag!r} is found"):
        rest.wait_for_dag(demo.dag)
    if rest.is_paused(demo.dag):
        say(f"DAG {demo.dag!r} is paused: trigger it with this decision when you need its table.")
        return
    move(local, demo.dag, "a run that reads the orders again", lambda: rest.trigger(demo.dag, decision))
    show(local, demo)


def add(local: Local) -> None:
    """Produce more orders, move them, and show that only those were added. Raises RunFailed."""
    demo = Demo.of(local)
    with step(f"{MORE} more orders"):
        orders.produce(local.settings.bootstrap, demo.topic, demo.records(FIRST, MORE))
    move(local, demo.dag, "a run triggered by hand", lambda: local.airflow.rest.trigger(demo.dag))
    show(local, demo, expected=FIRST + MORE)


def move(local: Local, dag: str, what: str, begin: Callable[[], str]) -> None:
    """Begin a run and wait for it; raises RunFailed after printing the end of the failed tasks' logs."""
    rest = local.airflow.rest
    with step(f"DAG {dag!r}: {what}"):
        run_id = begin()
        state = rest.wait_for_run(dag, run_id)
    tasks = rest.task_instances(dag, run_id)
    took = [f"{task['task_id']} {task['state']} {task['duration'] or 0:.1f} s" for task in tasks]
    say(f"    {run_id}: {', '.join(took)}")
    if state == "success":
        return
    for task in tasks:
        if task["state"] == "failed":
            say(f"--- the end of the log of {task['task_id']!r}")
            say("\n".join(rest.log(dag, run_id, task)[-_LOG_TAIL:]))
    message = f"run {run_id!r} of {dag!r} failed: see the log above, or {local.airflow.folder / 'logs'}"
    raise RunFailed(message)


def show(local: Local, demo: Demo, expected: int | None = None) -> None:
    """Print the table's newest rows, its count and its snapshots; raises RunFailed if the count is not the expected one."""
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NoSuchTableError

    catalog = load_catalog(CATALOG, type="sql", **local.catalog)
    try:
        table = catalog.load_table(demo.table)
        count = _print_table(table, demo)
    except NoSuchTableError as error:
        message = f"the run succeeded, but there is no table {demo.table!r} in {local.settings.catalog_uri}"
        raise RunFailed(message) from error
    finally:
        catalog.close()
    if expected not in (None, count):
        message = f"{demo.table} holds {count} rows instead of {expected}"
        raise RunFailed(message)


def _print_table(table: Table, demo: Demo) -> int:
    count = int(table.scan().count())
    rows = table.scan().to_arrow().sort_by([("date_ordered", "descending")]).slice(0, _SHOWN).to_pylist()
    names = [field.name for field in table.schema().fields]
    types = {field.name: str(field.field_type) for field in table.schema().fields} if demo.is_typed else {}
    widths = [max(len(name), len(types.get(name, "")), *(len(str(row[name])) for row in rows), 0) for name in names]
    say(f"\n{demo.table}: {count} rows, the newest {len(rows)}:")
    say("  " + "  ".join(name.ljust(width) for name, width in zip(names, widths, strict=True)))
    if types:
        say("  " + "  ".join(types[name].ljust(width) for name, width in zip(names, widths, strict=True)))
    for row in rows:
        say("  " + "  ".join(str(row[name]).ljust(width) for name, width in zip(names, widths, strict=True)))
    say(f"\n{demo.table}: its snapshots:")
    for snapshot in table.snapshots():
        summary = snapshot.summary
        added = summary["added-records"] if summary and "added-records" in summary.additional_properties else "0"
        total = summary["total-records"] if summary else "?"
        operation = summary.operation.value if summary else "?"
        say(f"  {snapshot.snapshot_id:>20}  {operation}  added {added} rows, total {total}")
    say()
    return count
