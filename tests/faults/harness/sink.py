"""The sink under test: one connector on topics of its own, with producers, runs, a watcher and an oracle."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stack.progress import wait_until
from tests.faults.harness.producer import StampingProducer
from tests.faults.harness.run import JobResult, Run
from tests.faults.harness.zygote import Zygote
from tests.faults.oracle.control_log import control_headers
from tests.faults.oracle.evidence import Evidence, Excuses, TableEvidence
from tests.faults.oracle.kafka_log import KafkaLog, LogKey
from tests.faults.oracle.oracle import Oracle, Report
from tests.faults.oracle.stamps import Stamp, StampFormat
from tests.faults.oracle.stored_state import Position, Spans, positions_of
from tests.faults.oracle.table_files import Pointer, RestPointer, SqlPointer
from tests.faults.oracle.watcher import Watcher
from tests.support.connectors import connector_keys
from tests.support.kafka.admin import ClusterAdmin

CATALOG = "test"
DEAD_LETTERS_KEY = "floe.deadletter.table"


@dataclass
class Sink:
    """One connector and all that a test does with it."""

    zygote: Zygote
    bootstrap: str
    folder: Path
    keys: dict[str, Any]
    topics: tuple[str, ...]
    producers: dict[str, StampingProducer]
    kafka: dict[str, Any]
    pointers: dict[str, Pointer]
    log: KafkaLog = field(default_factory=KafkaLog)
    oracle: Oracle = field(default_factory=Oracle)
    faults: Counter[str] = field(default_factory=Counter)
    excuses: dict[tuple[str, LogKey], Spans] = field(default_factory=dict)
    foreign: dict[str, list[Stamp]] = field(default_factory=dict)
    catalog_uri: str | None = None
    """Where all but the connector reach the catalog, when the connector goes by a proxy."""
    timeout_s: float = 5.0
    """Seconds that acknowledged records are waited for; those behind an open transaction stay unseen."""
    environment: Mapping[str, str] = field(default_factory=dict)
    _runs: int = 0

    @classmethod
    def make(
        cls,
        zygote: Zygote,
        bootstrap: str,
        folder: Path,
        partitions: int = 2,
        topics: int = 1,
        tables: Sequence[str] = ("db.t",),
        catalog_uri: str | None = None,
        topic_config: Mapping[str, str] | None = None,
        largest: int = 1_000_000,
        stamps: StampFormat | None = None,
        environment: Mapping[str, str] | None = None,
        **more: Any,
    ) -> Sink:
        """Create topics and a connector from them into every table; ``more``: further keys of the connector, None for
        those that it is to lack.

        ``catalog_uri``: where the oracle asks for tables, when the connector asks by a proxy. ``largest``: bytes of a
        record that the producers take. ``stamps``: how records are written. ``environment``: of every step.
        """
        name = f"f-{uuid.uuid4().hex[:8]}"
        names = tuple(f"{name}-{i}" for i in range(topics))
        dead_letters = more.get(DEAD_LETTERS_KEY)
        for topic in names:
            ClusterAdmin(bootstrap).create_topic(topic, partitions, topic_config)
        more = {"iceberg.tables": ",".join(tables), "iceberg.catalog": CATALOG, **more}
        keys = connector_keys(name, ",".join(names), folder, **more)
        sink = cls(
            zygote=zygote,
            bootstrap=bootstrap,
            folder=folder,
            keys=keys,
            topics=names,
            producers={topic: StampingProducer(bootstrap, topic, largest=largest, stamps=stamps) for topic in names},
            kafka={"bootstrap.servers": bootstrap},
            catalog_uri=catalog_uri,
            pointers={table: _pointer(keys, folder, table, catalog_uri) for table in tables},
            dead_letters=dead_letters,
            log=KafkaLog(stamps),
            environment=environment or {},
        )
        sink.watcher = sink._new_watcher()
        sink.watcher.start()
        return sink

    watcher: Watcher = field(init=False)
    dead_letters: str | None = None
    """The table of dead letters."""

    # -- the connector ------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return str(self.keys["name"])

    @property
    def group(self) -> str:
        return f"connect-{self.name}"

    @property
    def control_topic(self) -> str:
        return str(self.keys["iceberg.control.topic"])

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(self.pointers)

    @property
    def topic(self) -> str:
        return self.topics[0]

    @property
    def producer(self) -> StampingProducer:
        """The producer of the first topic."""
        return self.producers[self.topic]

    @property
    def admin(self) -> ClusterAdmin:
        """What an administrator does to the cluster."""
        return ClusterAdmin(self.bootstrap)

    def pointer(self, table: str) -> Pointer:
        """Return where the catalog has a table, also one that is not the connector's."""
        return _pointer(self.keys, self.folder, table, self.catalog_uri)

    # -- runs ---------------------------------------------------------------------------------------------------------

    def new_run(self, **order: Any) -> Run:
        """Make a run. ``order``: ``max_records``, ``decisions``, ``spark``, ``twins``, ``kafka``, ``connector``."""
        self._runs += 1
        given = {"connector": self.keys, "kafka": self.kafka, **order}
        folder = self.folder / f"run-{self.name}-{self._runs:04d}"
        return Run.make(self.zygote, folder, given, self.environment)

    def run(self, **order: Any) -> Run:
        """Carry out a run that must succeed."""
        run = self.new_run(**order)
        for outcome in run.carry_out():
            assert outcome.is_done, outcome
        return run

    def announced(self, records: int = 300) -> Run:
        """Produce records and return a run whose files are announced."""
        self.producer.produce(records)
        run = self.new_run()
        assert run.step("plan").is_done
        assert run.step("write").is_done
        return run

    def refused(self, **order: Any) -> JobResult:
        """Plan a run that must be refused."""
        outcome = self.new_run(**order).step("plan")
        assert outcome.is_refused, outcome
        return outcome

    def catch_up(self, most: int = 10) -> None:
        """Run until nothing is new."""
        for _ in range(most):
            plan = self.run().plan
            if plan is None or not plan["slices"]:
                return
        message = f"{self.name} still found something new after {most} quiet runs"
        raise AssertionError(message)

    def settle(self, most: int = 10) -> None:
        """Run until every step succeeds: backlogs are caught up run by run, and until then each run fails."""
        for _ in range(most):
            if all(outcome.is_done for outcome in self.new_run().carry_out()):
                return
        message = f"{self.name} is still red after {most} quiet runs: {self.marks()}"
        raise AssertionError(message)

    # -- what is there ------------------------------------------------------------------------------------------------

    def observe(self) -> None:
        """Remember what Kafka shows; to be called before anything of it is deleted on purpose.

        The end of a transaction is reported some milliseconds before readers see it: what was acknowledged is waited for.
        """

        def is_all_there() -> bool:
            self.log.observe(self.bootstrap, self.topics)
            acks = [producer.acks for producer in self.producers.values()]
            return all(one.places.keys() - one.aborted <= self.log.places.keys() for one in acks)

        wait_until(is_all_there, self.timeout_s)

    def excuse(self, table: str, topic: str, partition: int, start: int, end: int) -> None:
        """Declare offsets that need not be in a table (``*``: in any), in the topic's present incarnation."""
        log = self.present(partition, topic)
        self.excuses[(table, log)] = (*self.excuses.get((table, log), ()), (start, end))

    def present(self, partition: int, topic: str | None = None) -> LogKey:
        """Return a partition's newest incarnation, as far as it was looked at."""
        wanted = (topic or self.topic, partition)
        return next(log for log in reversed(self.log.partitions) if (log.topic, log.partition) == wanted)

    def rows(self, table: str | None = None) -> Counter[Stamp]:
        """Return how often each record is a row of a table now."""
        name = table or self.tables[0]
        head = self.oracle.look_at(name, self.pointers[name]).head
        paths = [entry.path for entry in self.oracle.files.live(head)] if head is not None else []
        return Counter(stamp for path in paths for stamp in self.oracle.files.rows(path).stamps)

    def keep_foreign(self, table: str) -> None:
        """Take note of which foreign rows are left after a table's owner took some away."""
        there = self.rows(table)
        self.foreign[table] = [stamp for stamp in self.foreign.get(table, []) if stamp in there]

    def positions(self) -> dict[int, int]:
        """Return the positions of the first topic's partitions."""
        return {partition: p.offset for (topic, partition), p in self.marks().items() if topic == self.topic}

    def marks(self) -> dict[tuple[str, int], Position]:
        """Return the positions of all topics, with their metadata."""
        return positions_of(self.bootstrap, self.group, self.topics)

    def snapshots(self, table: str | None = None) -> int:
        """Return how many snapshots are in a table's history."""
        name = table or self.tables[0]
        return len(self.oracle.look_at(name, self.pointers[name]).history)

    def judge(self, *, is_quiet: bool = True) -> Report:
        """Have the oracle judge what is there now."""
        self.observe()
        self.watcher.look()
        evidence = Evidence(
            group=self.group,
            kafka=self.log,
            acks=[producer.acks for producer in self.producers.values()],
            files=self.oracle.files,
            tables=[
                self.oracle.look_at(name, pointer, self.watcher.samples) for name, pointer in self.pointers.items()
            ],
            positions=self.marks(),
            samples=self.watcher.samples,
            looks=self.watcher.looks,
            excuses=Excuses(self.excuses),
            foreign=self.foreign,
            is_quiet=is_quiet,
            dead_letters=self._dead_letters(),
        )
        return self.oracle.judge(evidence, self.faults)

    def assert_exactly_once(self) -> Report:
        """Run until nothing is new, and have every check of the oracle pass."""
        self.catch_up()
        report = self.judge()
        assert report.is_green, str(report)
        return report

    def forget_compacted(self) -> None:
        """Drop from the acknowledged records those that the broker has compacted away since."""
        self.log.observe(self.bootstrap, self.topics)
        for producer in self.producers.values():
            places = producer.acks.places
            producer.acks.places = {s: place for s, place in places.items() if s in self.log.places}

    def announcements(self) -> list[Mapping[str, str]]:
        """Return the headers of every complete announcement in the control topic."""
        return [headers for headers in control_headers(self.bootstrap, self.control_topic) if "floe-ranges" in headers]

    def add_partitions(self, count: int) -> None:
        """Give the first topic more partitions."""
        self.admin.add_partitions(self.topic, count)

    def delete_records(self, before: Mapping[int, int]) -> None:
        """Have the broker remove the first topic's records below offsets; they are remembered."""
        self.observe()
        self.admin.delete_records(self.topic, before)

    def delete_topics(self, topics: Iterable[str]) -> None:
        """Delete topics; their records are remembered."""
        self.observe()
        for topic in topics:
            self.admin.delete_topic(topic)

    def create_topic(self, topic: str, partitions: int) -> None:
        """Create a topic, again while the old one of its name is still being removed."""
        self.admin.create_topic(topic, partitions)

    def close(self) -> None:
        """End what runs beside."""
        for producer in self.producers.values():
            producer.close()
        self.watcher.stop()

    def _dead_letters(self) -> TableEvidence | None:
        if self.dead_letters is None:
            return None
        return self.oracle.look_at(self.dead_letters, self.pointer(self.dead_letters), self.watcher.samples)

    def _new_watcher(self) -> Watcher:
        # the letters last: what is dead must be there before a table goes past it
        dead_letters = {self.dead_letters: self.pointer(self.dead_letters)} if self.dead_letters is not None else {}
        return Watcher(self.bootstrap, self.group, self.topics, {**self.pointers, **dead_letters}, self.oracle.files)


def _pointer(keys: Mapping[str, Any], folder: Path, table: str, uri: str | None) -> Pointer:
    if keys["iceberg.catalog.type"] == "rest":
        return RestPointer(uri or str(keys["iceberg.catalog.uri"]), table)
    return SqlPointer(folder / "catalog.db", CATALOG, table)


MakeSink = Callable[..., Sink]
