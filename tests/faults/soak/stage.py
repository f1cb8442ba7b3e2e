"""The stage of a soak: a broker and a catalog, each behind a proxy, and one connector that routes into two tables and
dead-letters."""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stack import processes
from stack.services.broker import Broker
from stack.services.rest_catalog import RestCatalog
from stack.services.schema_registry import SchemaRegistry
from stack.settings import free_port
from tests.faults.harness.avro import NO_CACHE, avro_keys, kinds_of, new_stamps
from tests.faults.harness.ports import lasting_port
from tests.faults.harness.run import Attempt, JobResult
from tests.faults.harness.sink import Sink
from tests.faults.harness.zygote import Zygote
from tests.faults.oracle.avro_stamps import AvroStamps
from tests.support.kafka.proxy import KafkaProxy, listeners
from tests.support.registry.proxy import RegistryProxy
from tests.support.runs.poison import JSON_KINDS, Kinds
from tests.support.tables.catalog_proxy import CatalogProxy

TABLES = ("db.a", "db.b")
PARTITIONS = 3

ROUTES = {"a": ["db.a"], "b": ["db.b"], "ab": ["db.a", "db.b"], "none": []}
"""The tables of a record, by the value of its field ``to``."""

ROUTING = {
    "iceberg.tables.route-field": "to",
    "iceberg.table.db.a.route-regex": "a|ab",
    "iceberg.table.db.b.route-regex": "b|ab",
    "floe.deadletter.table": "db.letters",
}


@dataclass
class Stage:
    """All that the faults act on, and what they leave to be done."""

    folder: Path
    broker: Broker
    kafka_proxy: KafkaProxy
    catalog: RestCatalog
    catalog_proxy: CatalogProxy
    zygote: Zygote
    sink: Sink
    registry: SchemaRegistry | None = None
    registry_proxy: RegistryProxy | None = None
    kinds: Kinds = JSON_KINDS
    chance: random.Random = field(default_factory=random.Random)
    zombies: list[tuple[int, Attempt]] = field(default_factory=list)
    """Held steps, and the round in which each goes on."""
    hanging: list[Callable[[], None]] = field(default_factory=list)
    decisions: dict[str, object] = field(default_factory=dict)
    """What the next plan needs; a plan without it must be refused."""
    outcomes: Counter[str] = field(default_factory=Counter)
    surprises: list[str] = field(default_factory=list)
    round_number: int = 0

    @classmethod
    def set_up(cls, folder: Path, *, avro: bool = False) -> Stage:
        """Start everything; what was started is ended again when it fails. ``avro``: topics of Avro, with a registry."""
        ports = [lasting_port() for _ in range(4)]
        broker = Broker(folder / "kafka", ports[0], ports[1], listeners(*ports))
        catalog = RestCatalog(folder, free_port())
        zygote: Zygote | None = None
        registry = SchemaRegistry(folder / "registry", free_port()) if avro else None
        registry_proxy: RegistryProxy | None = None
        stamps: AvroStamps | None = None
        try:
            broker.start()
            catalog.start()
            zygote = Zygote(folder / "zygote.log")
            kafka_proxy = KafkaProxy(ports[3], ports[2])
            catalog_proxy = CatalogProxy(catalog.uri)
            keys: dict[str, Any] = {
                "iceberg.catalog.type": "rest",
                "iceberg.catalog.uri": catalog_proxy.uri,
                "iceberg.catalog.warehouse": catalog.warehouse,
                **ROUTING,
            }
            if registry is not None:
                registry.start()
                registry_proxy, stamps = RegistryProxy(registry.confluent_url), new_stamps(registry.confluent_url)
                # other writers leave out what floe's records always have
                keys |= {**avro_keys(registry_proxy), "iceberg.tables.schema-force-optional": True}
            sink = Sink.make(
                zygote,
                broker.bootstrap,
                folder,
                partitions=PARTITIONS,
                tables=TABLES,
                catalog_uri=catalog.uri,
                stamps=stamps,
                environment=NO_CACHE if avro else None,
                **keys,
            )
        except BaseException:
            if zygote is not None:
                zygote.close()
            if registry_proxy is not None:
                registry_proxy.close()
            if registry is not None:
                registry.stop()
            catalog.stop()
            broker.stop()
            raise
        sink.kafka = {"bootstrap.servers": kafka_proxy.bootstrap}
        for producer in sink.producers.values():
            producer.routes = ROUTES
        kinds = JSON_KINDS if stamps is None else kinds_of(stamps)
        return cls(folder, broker, kafka_proxy, catalog, catalog_proxy, zygote, sink, registry, registry_proxy, kinds)

    @property
    def proxies(self) -> list[KafkaProxy | CatalogProxy | RegistryProxy]:
        """What is between floe and the services."""
        proxies: list[KafkaProxy | CatalogProxy | RegistryProxy] = [self.catalog_proxy, self.kafka_proxy]
        return [*proxies, self.registry_proxy] if self.registry_proxy is not None else proxies

    def count(self, kind: str) -> None:
        """Count a fault that happened."""
        self.sink.faults[kind] += 1

    def note(self, outcome: JobResult) -> JobResult:
        """Count how a step ended; what floe did not raise on purpose is a finding."""
        if outcome.is_done:
            self.outcomes["done"] += 1
        elif outcome.was_killed:
            self.outcomes["killed"] += 1
            if outcome.code != -signal.SIGKILL:
                self.surprises.append(f"{outcome.step} ended by {signal.Signals(-outcome.code).name}")
        else:
            self.outcomes[outcome.error] += 1
            if not outcome.is_refused and not outcome.is_retryable:
                self.surprises.append(f"{outcome.step}: {outcome.error}: {outcome.message}")
        return outcome

    def wake(self, number: int | None = None) -> None:
        """Let the zombies go on whose time has come, all of them without ``number``."""
        due = [one for one in self.zombies if number is None or one[0] <= number]
        self.zombies = [one for one in self.zombies if one not in due]
        for _, attempt in due:
            attempt.go_on()
            self.note(attempt.finish())

    def calm(self) -> None:
        """End all faults: nothing held, nothing hanging, no answer lost any more."""
        assert self.broker.process is not None
        processes.send(self.broker.process, signal.SIGCONT)
        for proxy in self.proxies:
            proxy.clear()
        for release in self.hanging:
            release()
        self.hanging.clear()
        self.wake()

    def tear_down(self) -> None:
        """End everything."""
        for _, attempt in self.zombies:
            attempt.kill()
        try:
            if self.broker.process is not None:
                processes.send(self.broker.process, signal.SIGCONT)
            self.sink.close()
        finally:
            self.zygote.close()
            for proxy in self.proxies:
                proxy.close()
            if self.registry is not None:
                self.registry.stop()
            self.catalog.stop()
            self.broker.stop()
