"""A Kafka broker of one node (KRaft), as a process of its own."""

from __future__ import annotations

import base64
import os
import signal
import socket
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path

from stack import jars, processes
from stack.exceptions import StartFailed
from stack.java import java, spark_jar
from stack.progress import wait_until
from stack.settings import CONTROLLER_PORT, KAFKA_PORT, LOOPBACK, free_port, require_free

PACKAGES = ("org.apache.kafka:kafka_2.13:4.2.0", "org.slf4j:slf4j-simple:1.7.36")
READY_WITHIN = 60.0
STOPPED_WITHIN = 20.0

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


class Broker:
    """A broker whose data, log and record are in `folder`.

    `properties` are server properties that override those of a single node. Without `controller_port` a free one is used.
    """

    def __init__(
        self,
        folder: Path,
        port: int,
        controller_port: int | None = None,
        properties: Mapping[str, str] | None = None,
        jar_cache: Path = jars.CACHE,
        heap: str = "512m",
    ) -> None:
        self.folder = folder.absolute()
        self.port = port
        self.log = self.folder / "broker.log"
        self.record = self.folder / "broker.json"
        self._controller_port = controller_port
        self._properties = dict(properties or {})
        self._jar_cache = jar_cache
        self._heap = heap

    @property
    def bootstrap(self) -> str:
        """The address for `bootstrap.servers`."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def process(self) -> processes.Process | None:
        """The broker's process as recorded, running or not; None if it was never started."""
        return processes.load(self.record)

    @property
    def running(self) -> bool:
        """Whether the broker's process runs."""
        process = self.process
        return process is not None and processes.alive(process)

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
        process = processes.start_recorded(command, os.environ, self.log, self.folder, self.record)
        try:
            self._wait_until_ready(process)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the broker by SIGTERM and wait; by SIGKILL if it does not end. Harmless if it does not run."""
        process = self.process
        if process is not None:
            processes.stop(process, signal.SIGTERM, STOPPED_WITHIN)
            self.record.unlink(missing_ok=True)

    def kill(self) -> None:
        """End the broker by SIGKILL, as a machine that loses power would; `start` starts it again on its data."""
        process = self.process
        if process is not None:
            processes.stop(process, signal.SIGKILL, STOPPED_WITHIN)
            self.record.unlink(missing_ok=True)

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

    def _wait_until_ready(self, process: processes.Process) -> None:
        if not wait_until(lambda: not processes.alive(process) or self._listens(), READY_WITHIN):
            message = f"the broker did not open port {self.port} within {READY_WITHIN:.0f} s: read {self.log}"
            raise StartFailed(message)
        if not processes.alive(process) or not self._answers():
            tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])
            message = f"the broker ended or does not answer; the end of {self.log}:\n{tail}"
            raise StartFailed(message)

    def _listens(self) -> bool:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            return probe.connect_ex((LOOPBACK, self.port)) == 0

    def _answers(self) -> bool:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        client = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        try:
            return bool(client.list_topics(timeout=READY_WITHIN).brokers)
        except KafkaException:
            return False
