"""A Kafka broker of one node (KRaft), as a process of its own."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from stack import jars
from stack.exceptions import StartFailed
from stack.java import java, spark_jar
from stack.services.recorded_service import RecordedService
from stack.settings import CONTROLLER_PORT, KAFKA_PORT, LOOPBACK, free_port, require_free

KAFKA = "4.4.0"
"""The version of the broker, and of Connect's classes wherever tests load them without a worker."""

PACKAGES = (f"org.apache.kafka:kafka_2.13:{KAFKA}", "org.slf4j:slf4j-simple:1.7.36")

# What a single node needs, and what makes it quick to start.
SINGLE_NODE = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "8",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "8",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "false",
    "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
}

_ASKED_FOR = 5.0
"""Seconds, before it is seen again whether the process lives."""


class Broker(RecordedService):
    """A broker whose data, log and record are in `folder`.

    `properties` are server properties that override those of a single node. Without `controller_port` a free one is used.
    """

    name: ClassVar[str] = "broker"

    def __init__(
        self,
        folder: Path,
        port: int,
        controller_port: int | None = None,
        properties: Mapping[str, str] | None = None,
        jar_cache: Path = jars.CACHE,
        heap: str = "512m",
    ) -> None:
        super().__init__(folder, port)
        self._controller_port = controller_port
        self._properties = dict(properties or {})
        self._jar_cache = jar_cache
        self._heap = heap

    @property
    def bootstrap(self) -> str:
        """The address for `bootstrap.servers`."""
        return self.address

    def start(self) -> None:
        """Start the broker on its data (formatted if new) and wait until it answers; harmless if it runs.

        Raises PortTaken, DownloadFailed, StartFailed.
        """
        if self.running:
            return
        controller_port = self._controller_port or free_port()
        require_free(self.port, KAFKA_PORT)
        require_free(controller_port, CONTROLLER_PORT)
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = self.folder / "server.properties"
        settings.write_text(self._server_properties(controller_port))
        self._format(settings)
        command = [*self._java(), f"-Xmx{self._heap}", "kafka.Kafka", str(settings)]
        self._launch(command, lambda: self._listens() and self._answers())

    def _java(self) -> list[str]:
        found = [*jars.resolve(PACKAGES, self._jar_cache), spark_jar("scala-library")]
        path = os.pathsep.join(str(jar) for jar in found)
        quick = ["-Xms64m", "-XX:+UseSerialGC", "-Djava.awt.headless=true"]
        return [java(), *quick, "-cp", path]

    def _format(self, settings: Path) -> None:
        if (self.folder / "data" / "meta.properties").exists():
            return
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "A", 1)
        command = [*self._java(), "-XX:TieredStopAtLevel=1", "kafka.tools.StorageTool", "format"]
        command += ["--cluster-id", cluster, "--config", str(settings)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            message = f"the broker's folder {self.folder} could not be formatted: {done.stdout.strip()[-2000:]}"
            raise StartFailed(message)

    def _server_properties(self, controller_port: int) -> str:
        properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{LOOPBACK}:{controller_port}",
            "listeners": f"PLAINTEXT://{LOOPBACK}:{self.port},CONTROLLER://{LOOPBACK}:{controller_port}",
            "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{self.port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": str(self.folder / "data"),
            **SINGLE_NODE,
            **self._properties,
        }
        return "".join(f"{key}={value}\n" for key, value in properties.items())

    def _listens(self) -> bool:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            return probe.connect_ex((LOOPBACK, self.port)) == 0

    def _answers(self) -> bool:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        client = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        try:
            return bool(client.list_topics(timeout=_ASKED_FOR).brokers)
        except KafkaException:
            return False
