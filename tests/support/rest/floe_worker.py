"""floe's side of the calls of Connect's API: a site on which Airflow's part is played by rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from floe.config.stored.stored_connector import CONNECTOR, STATE, STOPPED, StoredConnector
from floe.status.connector_status import ConnectorStatus, PartitionStatus
from floe.status.record import StatusRecord
from floe.status.record_codec import dump, key_of
from tests.support.api.site import Site
from tests.support.rest.connect_calls import PLUGIN, TOPIC, Answer, Call

BASE = "/connect"
CONFIG = {
    "connector.class": PLUGIN,
    "tasks.max": "1",
    "topics": TOPIC,
    "iceberg.tables": "db.orders",
    "iceberg.tables.auto-create-enabled": "true",
    "iceberg.catalog.type": "rest",
    "iceberg.catalog.warehouse": "lake",
    "iceberg.catalog.uri": "http://catalog.example:8181",
    "iceberg.control.topic": "rest-control",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


@dataclass
class FloeWorker:
    """The site, called as a worker is."""

    site: Site
    _client: Any = field(default=None, init=False)

    def send(self, call: Call) -> Answer:
        """Send a call as the administrator."""
        headers = {"Content-Type": call.media} if call.media else {}
        client = self.site.client(BASE)
        content = call.content(CONFIG)
        answer = client.request(call.method, call.path, content=content, headers=headers if content is not None else {})
        return Answer.of(answer.status_code, answer.text, CONFIG)

    def _record(self, name: str) -> StatusRecord:
        """Return a status record with the offset 2 as committed."""
        partition = PartitionStatus(TOPIC, 0, 2, 0, 5, 3)
        at = datetime(2026, 1, 1, tzinfo=UTC)
        return StatusRecord(ConnectorStatus(name, f"connect-{name}", at, partitions=(partition,)))

    def settle(self, name: str) -> None:
        """Do what Airflow does within seconds: the connector becomes a DAG."""
        if self.site.variable(STATE + name) == STOPPED:
            self.site.set_variable(key_of(name), dump(self._record(name)))
        text = self.site.variable(CONNECTOR + name)
        if text is not None and not self.site.has_dag(name):
            self.site.add_dag(name, is_paused=StoredConnector.from_text(name, text).is_paused)
