"""Where a connector is: ``collect`` asks Kafka and its tables, ``latest`` reads what its last commits left in the tables."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from floe.config import Connector
from floe.config.secrets.mask import learn
from floe.exceptions import FloeError
from floe.kafka.admin import Cluster
from floe.kafka.settings import KafkaSettings
from floe.model.dead_letters import DeadLetterOffsets
from floe.status.connector_status import ConnectorStatus, TableStatus
from floe.status.kafka_state import KafkaState
from floe.status.tables import Found, TableReader, problem_of

KAFKA_FIRST: Final = 2.0
"""Seconds for which the tables wait for Kafka's answer."""


class LookUp(NamedTuple):
    """A status, and what it was made from; None in the place of what did not answer.

    ``is_kafka_first``: whether all offsets were known before a table was loaded.
    """

    status: ConnectorStatus
    kafka: KafkaState | None
    reader: TableReader | None
    found: dict[str, Found]
    is_kafka_first: bool = False


def collect(
    connector: Connector,
    settings: KafkaSettings,
    *,
    dead_letters: bool = False,
    commits: int = 1,
) -> ConnectorStatus:
    """Return where a connector is now. Kafka and the catalog are asked, and nothing is written.

    ``dead_letters``: count the open ones, which reads their table. ``commits``: of each table at most, the newest ones.
    Nothing is raised for what does not answer or cannot be read: the status says so in its place, and the rest is there.
    ``KafkaState`` is the half of it that needs no catalog.
    """
    look = look_up(connector, settings, commits)
    if dead_letters and look.kafka is not None and look.reader is not None:
        return _with_dead_letters(look.status, look.reader, look.found, look.kafka)
    return look.status


def look_up(connector: Connector, settings: KafkaSettings, commits: int) -> LookUp:
    """Return the status that :func:`collect` returns, without dead letters, and the tables that were loaded for it.

    Commits change tables before offsets. So tables that are loaded after the offsets have all that these say; with brokers
    that do not answer soon they are not waited for.
    """
    for secrets in (connector.properties, settings.source, settings.control):
        learn(secrets)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(_kafka, connector, settings)
        is_kafka_first = bool(wait([asked], KAFKA_FIRST).done)
        loaded = _tables(connector, commits)
        kafka = asked.result()
    status = _with_kafka(connector, kafka)
    state = None if isinstance(kafka, str) else kafka
    if isinstance(loaded, str):
        return LookUp(replace(status, problems=(*status.problems, loaded)), state, None, {})
    reader, found = loaded
    if state is None:
        tables = reader.statuses(found, None, has_read=None)
    else:
        has_read = any(position.offset > 0 for position in state.positions.values())
        tables = reader.statuses(found, _cluster_id(settings), has_read=has_read)
    return LookUp(replace(status, tables=tables), state, reader, found, is_kafka_first)


def latest(connector: Connector, *, commits: int = 1) -> ConnectorStatus:
    """Return what the connector's last commits say, from the summaries of its tables' newest snapshots.

    The catalog is asked, Kafka is not: neither lag nor backlog is in it. Nothing is raised, as in :func:`collect`.
    """
    learn(connector.properties)
    loaded = _tables(connector, commits)
    status = ConnectorStatus(connector.name, connector.group_id, datetime.now(UTC))
    if isinstance(loaded, str):
        return replace(status, problems=(loaded,))
    reader, found = loaded
    return replace(status, tables=reader.statuses(found, None, has_read=None))


def _kafka(connector: Connector, settings: KafkaSettings) -> KafkaState | str:
    try:
        return KafkaState.of(connector, settings)
    except Exception as error:  # noqa: BLE001 - a status is what is known, whatever does not answer
        return problem_of(error)


def _cluster_id(settings: KafkaSettings) -> str | None:
    try:
        return Cluster.of_source(settings).cluster_id()
    except FloeError:
        return None  # it answered a moment ago; the next status has it


def _with_kafka(connector: Connector, kafka: KafkaState | str) -> ConnectorStatus:
    if isinstance(kafka, str):
        return ConnectorStatus(connector.name, connector.group_id, datetime.now(UTC), problems=(kafka,))
    return kafka.status(connector)


def _tables(connector: Connector, commits: int) -> tuple[TableReader, dict[str, Found]] | str:
    """Load the tables, or say why none could be."""
    try:
        reader = TableReader.of(connector, commits)
        return reader, reader.load_all()
    except Exception as error:  # noqa: BLE001 - as for Kafka
        return problem_of(error)


def _with_dead_letters(
    status: ConnectorStatus, reader: TableReader, found: dict[str, Found], kafka: KafkaState
) -> ConnectorStatus:
    try:
        dead_letters = reader.open_dead_letters(found, kafka.logs)
    except FloeError as error:
        return replace(status, problems=(*status.problems, problem_of(error)))
    table = reader.connector.errors.table
    return replace(status, tables=counted(status.tables or (), dead_letters, table))


def counted(
    tables: Sequence[TableStatus], dead_letters: DeadLetterOffsets, dead_letter_table: str | None
) -> tuple[TableStatus, ...]:
    """Set the number of open dead letters of each table's records; the dead-letter table has all of them."""
    of_each = {
        name: sum(offsets.offsets for offsets in dead_letters.by_table.get(name, {}).values())
        for name in dead_letters.by_table
    }
    return tuple(
        replace(
            one, open_dead_letters=dead_letters.count if one.name == dead_letter_table else of_each.get(one.name, 0)
        )
        for one in tables
    )
