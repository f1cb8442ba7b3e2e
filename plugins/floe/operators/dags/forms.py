"""The trigger forms: the params of a connector's two DAGs, by section.

Airflow opens the section of params that name none; a param that takes null has no red asterisk. No description has code in
it: Airflow's box around code covers the lines above and below.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from airflow.sdk import DAG, Param

from floe.config import Connector, KeyClass
from floe.config.overrides.run_keys import settable_keys
from floe.model.decisions import DroppedTable, Rollback
from floe.operators.documentation import linked
from floe.planning.replay_request import Overlap

RECOVERY, KAFKA_CONNECT = "Recovery", "Kafka Connect"
LOSES_DATA = "Recovery that gives up data"
FIRST_RUN = "First run"
HOW, CONNECTOR = "Where and how it is written", "Connector keys"
"""Sections; what a run reads is in Airflow's own first one, which is open."""

START_EXAMPLE = '{"orders": "latest", "payments-0": 1200}'
SKIP_EXAMPLE = '{"orders-2": 1036, "payments": "2026-01-31T12:00:00Z"}'
EXAMPLE = '{"0": [100, 200], "3": [0, null]}'
PAUSED = (
    "Of a paused DAG: “Unpause on trigger” also starts a run of the schedule, which reads and commits, and may be the first; "
    "without it this run waits. The commands floe status and floe doctor look without a run."
)
KEYS_EXAMPLE = '{"tasks.max": 4}'


def give_form(dag: DAG, form: Mapping[str, Param]) -> None:
    """Give a DAG its params, after its tasks.

    Airflow copies those that a DAG's constructor is given into each task, checks the rules of each copy, which takes longer
    than all else of the DAG, and stores each. A run has the DAG's own all the same, checked when it is triggered.
    """
    dag.params.update(form)


def sink_form(connector: Connector) -> dict[str, Param]:
    """Return the params of the connector's DAG."""
    return {
        "max_records": _limit(
            "Records at most",
            "Maximum number of offsets to read in this run, over all partitions. It applies once to new records and again "
            "to the backlog of each table. Empty: the connector's own limit.",
        ),
        "dry_run": _switch("Dry run", f"Print the plan only: nothing is read, written or moved. {PAUSED}"),
        "diagnose": _switch(
            "Diagnose",
            "Check brokers, topics, ACLs, registry, catalog, warehouse, Spark and versions, with probes that are removed, "
            f"and print what to do. No record is read. {PAUSED}",
        ),
        "start_at": _offsets(
            "Where a new topic begins",
            "Of topics that were not read yet, in the place of consumer.override.auto.offset.reset, by partition, topic or "
            rf"\*: an offset, *earliest*, *latest* or a time, e.g. {markdown(START_EXAMPLE)}.",
            FIRST_RUN,
        ),
        "config": _config(connector, KeyClass.LIVE),
        "recover": _switch(
            "Recover offsets",
            "Committed offsets that were lost, or that another process wrote, are restored from what the tables contain. "
            "No row is lost or duplicated by it.",
            RECOVERY,
        ),
        "rolled_back": _decisions(
            "Tables that were rolled back",
            '{"db.table": "replay"} reads the removed rows again; {"db.table": "accept"} leaves them out.',
            Rollback,
        ),
        "dropped_tables": _decisions(
            "Tables that were dropped",
            '{"db.table": "refill"} reads its rows again, as far as the log still has them; {"db.table": "continue"} '
            "continues without them.",
            DroppedTable,
        ),
        "takeover": _switch(
            "Take over from Kafka Connect",
            "From a stopped Iceberg sink of the connector's name: commit what it announced, then continue at its offsets.",
            KAFKA_CONNECT,
        ),
        "return_to_connect": _switch(
            "Return to Kafka Connect",
            "Prepare tables and groups for the sink, and read nothing. Then pause the DAG and start the sink.",
            KAFKA_CONNECT,
        ),
        "skip_to": _offsets(
            "Skip to",
            rf"**Records up to there are not read.** Forward only, by partition, topic or \*: an offset, *latest* or a time, "
            f"e.g. {markdown(SKIP_EXAMPLE)}. *Dry run* prints what would be left out. It is on record in the control topic "
            "and in the next snapshot; a replay can read it later.",
            LOSES_DATA,
        ),
        "accept_loss": Param(
            None,
            type=["null", "array", "boolean"],
            items={"type": "string"},
            title="Accept lost offsets of",
            # two types: Airflow's field takes JSON only
            description='Topics or partitions as JSON, e.g. ["orders", "payments-0"], or true for all: their offsets '
            "that retention removed before they were read are skipped. The plan prints each range and its number of "
            "offsets.",
            section=LOSES_DATA,
        ),
        "drop_backlog": _names(
            "Drop the backlog of tables",
            "Tables, one on each line. The records that they are behind on are skipped; they take new ones again. Terms: "
            f"{linked('docs/glossary.md')}.",
            LOSES_DATA,
        ),
        "reset_topics": _names(
            "Start over with topics",
            "Topics, one on each line, that were created again or whose log lost its end; or * for all, after the cluster "
            "has changed. Their new log is read from its start.",
            LOSES_DATA,
        ),
    }


def replay_form(connector: Connector) -> dict[str, Param]:
    """Return the params of the connector's replay DAG."""
    own_branch = connector.settings.default.branch or "main"
    return {
        "ranges": _ranges(),
        "topic": _topic(connector.topics),
        "from_time": _time(
            "From time", "Instead of offsets: from the first record at or after this time, by Kafka's times."
        ),
        "to_time": _time("To time", "Up to the first record at or after this time; at most what was read."),
        "dead_letters": _switch(
            "Dead letters only",
            "Read only the records of open dead letters, after the table or the connector was fixed. Those that become "
            "rows are marked resolved.",
        ),
        "all": _switch("Everything", "Read everything that was read, of all partitions. Not with append."),
        "dry_run": _switch(
            "Dry run", "Print what would be read, left out and written, per table and partition. Nothing is written."
        ),
        "overlap": _overlap(),
        "tables": _names("Tables", "Of the connector's. Empty: all of them.", HOW, connector.tables),
        "branch": Param(
            None,
            type=["null", "string"],
            title="Branch",
            description=f"Empty: the connector's own, {own_branch}. A new one begins as main is.",
            section=HOW,
        ),
        "max_records": _limit(
            "Records per slice",
            "Offsets of one Spark job, and of one snapshot per table. Empty: the connector's own limit.",
            HOW,
        ),
        "config": _config(connector, KeyClass.REPLAY),
    }


def _section(section: str | None) -> dict[str, Any]:
    return {} if section is None else {"section": section}


def _switch(title: str, description: str, section: str | None = None) -> Param:
    return Param(False, type=["null", "boolean"], title=title, description=description, **_section(section))


def _limit(title: str, description: str, section: str | None = None) -> Param:
    return Param(None, type=["null", "integer"], minimum=1, title=title, description=description, **_section(section))


def _names(title: str, description: str, section: str, offered: Sequence[str] = ()) -> Param:
    # Airflow makes a list to choose from of examples, of an empty one too
    more: dict[str, Any] = {"examples": list(offered)} if offered else {}
    return Param(
        None,
        type=["null", "array"],
        items={"type": "string"},
        title=title,
        description=description,
        section=section,
        **more,
    )


def _decisions(title: str, description: str, choices: type[StrEnum]) -> Param:
    return Param(
        None,
        type=["null", "object"],
        additionalProperties={"enum": [choice.value for choice in choices]},
        title=title,
        description=description,
        section=RECOVERY,
    )


def _time(title: str, description: str) -> Param:
    return Param(None, type=["null", "string"], format="date-time", title=title, description=description)


def _offsets(title: str, description: str, section: str) -> Param:
    return Param(
        None,
        type=["null", "object"],
        additionalProperties={"type": ["integer", "string"], "minimum": 0},
        title=title,
        description_md=description,
        section=section,
    )


def _ranges() -> Param:
    of_partition = {"type": "array", "items": {"type": ["integer", "null"]}, "minItems": 2, "maxItems": 2}
    return Param(
        None,
        type=["null", "object"],
        additionalProperties=of_partition,
        title="Offsets, by partition",
        description_md=rf"\[start, end) of each partition, e.g. {markdown(EXAMPLE)}; null at the start is the first "
        "offset that the log still has, at the end the last one that was read. **Without offsets, times, *Dead letters "
        "only* or *Everything* the run prints what a replay of everything would do, and writes nothing.**",
    )


def _topic(topics: Sequence[str]) -> Param:
    """Return the param of the topic; a connector's only one is its default."""
    only: list[Any] = list(topics) if len(topics) == 1 else []
    # one with a default takes null, and is not shown as required
    named: dict[str, Any] = {"title": "Topic", "description": "The topic whose records are read again."}
    if topics:
        named["enum"] = [*topics, *[None] * len(only)]
    return Param(*only, type=["null", "string"] if only else "string", **named)


def _overlap() -> Param:
    return Param(
        Overlap.SKIP.value,
        type=["null", "string"],
        enum=[*(o.value for o in Overlap), None],
        values_display={
            "skip": "skip what a table contains",
            "append": "append all of it again",
            "replace": "replace what a table contains",
        },
        title="Offsets that a table has already",
        description="skip: they are left out, row by row. append: their rows are in the table twice afterwards; needs "
        "offsets or times. replace: their rows are removed and written again, in one snapshot; the table needs "
        "KafkaMetadataTransform's columns.",
        section=HOW,
    )


def _config(connector: Connector, allowed: KeyClass) -> Param:
    present = settable_keys(connector, allowed)
    keys = "".join(f"\n* {markdown(f'{key}: {value}' if value else key)}" for key, value in present)
    return Param(
        None,
        type=["null", "object"],
        title="Connector keys for this run",
        description_md=f"Sets keys of the connector for this run, e.g. {markdown(KEYS_EXAMPLE)}. Checked like the file. A "
        "run of this DAG may set these, shown with their present values, and keys of tables and of clients "
        f"({linked('docs/reference/configuration.md')}):\n{keys}",
        section=CONNECTOR,
    )


# Texts that came from connector files, for people: on one line of a log or an error, and in the Markdown of a DAG's
# docs.


_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~&])")
_BLANKS = re.compile(r"\s+")


def readable(text: str) -> str:
    """Write a text on one line, in characters that can be stored and shown."""
    line = _BLANKS.sub(" ", text.encode(errors="backslashreplace").decode())
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in line)


def markdown(text: str) -> str:
    """Write a text so that Markdown shows it as it is: it makes no link, no image, no HTML."""
    return _MARKDOWN.sub(r"\\\1", readable(text))
