"""Rows 43 to 47: the schema registry of Avro records is down, slow, wrong, another service, or answers errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stack.services.schema_registry import SchemaRegistry
from tests.faults.harness.avro import NO_CACHE, READ_TIMEOUT_S, avro_keys, new_stamps, stamps_of
from tests.faults.harness.dead_letters import DEAD_LETTERS, dead_letters
from tests.faults.harness.run import JobResult, Run
from tests.faults.harness.sink import MakeSink, Sink
from tests.faults.harness.spark_workers import SPARK
from tests.faults.oracle.avro_stamps import FRAME, schema_text
from tests.support.registry.proxy import (
    Fault,
    RegistryProxy,
    another_service,
    answered,
    dropped,
    exchanged,
    page,
    passed,
    slow,
)
from tests.support.runs.poison import Poison


@pytest.fixture
def registry(schema_registry: SchemaRegistry) -> Iterator[RegistryProxy]:
    """A proxy in front of the real registry."""
    one = RegistryProxy(schema_registry.confluent_url)
    yield one
    one.close()


@pytest.fixture
def avro(make_sink: MakeSink, schema_registry: SchemaRegistry, registry: RegistryProxy) -> Callable[..., Sink]:
    """A factory: a sink of Avro records whose steps keep no schema, unless an environment is given."""

    def make(environment: dict[str, str] | None = None, **keys: Any) -> Sink:
        stamps = new_stamps(schema_registry.confluent_url)
        return make_sink(
            stamps=stamps, environment=NO_CACHE if environment is None else environment, **avro_keys(registry), **keys
        )

    return make


def two_versions(sink: Sink, count: int = 200) -> None:
    """Produce records of one schema to all partitions, and behind them records of another one."""
    for partition in (0, 1):
        sink.producer.produce(count, partition)
    stamps_of(sink).add(since="long")
    for partition in (0, 1):
        sink.producer.produce(count, partition)


def write_fails(run: Run, sink: Sink) -> JobResult:
    """Plan and write once: the write fails, nothing of it is announced, and no position has moved."""
    assert run.step("plan").is_done
    before = sink.positions(), len(sink.announcements())
    failed = run.step("write")
    assert not failed.is_done, failed
    assert (sink.positions(), len(sink.announcements())) == before
    assert "Nothing was announced" in failed.message, failed
    return failed


HANGS = slow(READ_TIMEOUT_S + 1.5)


@pytest.mark.parametrize("fault", [dropped, HANGS, answered(503)], ids=["down", "hanging", "503"])
def test_row_43_registry_down_before_run_fails_write_only(
    avro: Callable[..., Sink], registry: RegistryProxy, fault: Fault
) -> None:
    sink = avro()
    two_versions(sink)
    registry.always(fault)
    run = sink.new_run()
    failed = write_fails(run, sink)
    assert failed.is_retryable, failed
    registry.clear()
    assert run.persist("write").is_done
    assert run.step("commit").is_done
    sink.assert_exactly_once()


@pytest.mark.parametrize("spark", [pytest.param(None, marks=pytest.mark.ci), SPARK])
def test_row_43_registry_down_in_mid_run_announces_nothing(
    avro: Callable[..., Sink], registry: RegistryProxy, spark: str | None
) -> None:
    sink = avro()
    two_versions(sink)
    registry.put(passed)
    registry.always(dropped)
    run = sink.new_run(spark=spark)
    failed = write_fails(run, sink)
    assert failed.is_retryable, failed
    assert registry.asked > 1
    registry.clear()
    sink.producer.produce(100)
    assert run.persist("write").is_done
    assert run.step("commit").is_done
    sink.assert_exactly_once()


def test_row_43_registry_down_after_write_is_not_needed(avro: Callable[..., Sink], registry: RegistryProxy) -> None:
    sink = avro()
    two_versions(sink)
    run = sink.new_run()
    assert run.step("plan").is_done
    assert run.step("write").is_done
    registry.always(dropped)
    assert run.step("commit").is_done
    registry.clear()
    sink.assert_exactly_once()


def test_row_43_schemas_on_disk_need_no_registry(
    avro: Callable[..., Sink], registry: RegistryProxy, tmp_path_factory: pytest.TempPathFactory
) -> None:
    sink = avro(environment={"FLOE_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))})
    two_versions(sink)
    sink.run()
    registry.always(dropped)
    sink.producer.produce(100)
    sink.assert_exactly_once()


def test_row_44_slow_registry_only_delays(avro: Callable[..., Sink], registry: RegistryProxy) -> None:
    sink = avro()
    two_versions(sink)
    registry.always(slow(READ_TIMEOUT_S / 4))
    sink.assert_exactly_once()


def test_row_44_registry_too_slow_at_first_is_asked_again(avro: Callable[..., Sink], registry: RegistryProxy) -> None:
    sink = avro()
    two_versions(sink)
    registry.put(HANGS, passed, HANGS)
    sink.run()
    assert len(sink.announcements()) == 1
    sink.assert_exactly_once()


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(schema_text(more="long"), id="longer", marks=pytest.mark.ci),
        pytest.param(schema_text(n="string"), id="another type"),
    ],
)
def test_row_45_wrong_schema_of_an_id_makes_dead_letters(
    avro: Callable[..., Sink], registry: RegistryProxy, wrong: str
) -> None:
    sink = avro(**{"floe.deadletter.table": DEAD_LETTERS})
    stamps = stamps_of(sink)
    spoiled = stamps.current
    whole = stamps.add(since="long")
    misread = Poison(lambda record: stamps.encode(record, spoiled), "value_converter", f"^schema {spoiled}: ")
    for partition in (0, 1):
        for number in range(50):
            sink.producer.write(partition=partition, n=number, note="before")
            sink.producer.write(misread, partition, n=64, note="x")
            sink.producer.write(unknown_schema(whole + 100_000), partition, n=64)
            sink.producer.write(cut(whole, sink), partition, n=64)
    sink.producer.flush()
    registry.always(exchanged(spoiled, wrong))
    sink.run()
    assert dead_letters(sink) == {("value_converter", "db.t"): 2 * 50 * 3}
    sink.assert_exactly_once()


@pytest.mark.ci
def test_row_45_registry_that_has_none_of_the_ids_fails_the_run(
    avro: Callable[..., Sink], registry: RegistryProxy
) -> None:
    sink = avro(**{"floe.deadletter.table": DEAD_LETTERS})
    two_versions(sink)
    registry.always(answered(404))
    run = sink.new_run()
    failed = write_fails(run, sink)
    assert failed.is_refused, failed
    registry.clear()
    assert run.persist("write").is_done
    assert run.step("commit").is_done
    assert dead_letters(sink) == {}
    sink.assert_exactly_once()


def unknown_schema(schema_id: int) -> Poison:
    """Return what is wrong with a record that names a schema which the registry does not have."""
    return Poison(
        lambda _: b"\0" + schema_id.to_bytes(FRAME - 1, "big") + b"whatever", "value_converter", str(schema_id)
    )


def cut(schema_id: int, sink: Sink) -> Poison:
    """Return what is wrong with a record whose last bytes are missing."""
    return Poison(
        lambda record: stamps_of(sink).encode(record, schema_id)[:-2], "value_converter", f"^schema {schema_id}: "
    )


@pytest.mark.parametrize(
    ("fault", "first"),
    [
        pytest.param(page, 0, id="a page"),
        pytest.param(page, 1, id="a page in mid-run", marks=pytest.mark.ci),
        pytest.param(another_service, 0, id="another service"),
        pytest.param(another_service, 1, id="another service in mid-run"),
    ],
)
def test_row_46_answer_that_is_no_registry_s_fails_the_run(
    avro: Callable[..., Sink], registry: RegistryProxy, fault: Fault, first: int
) -> None:
    sink = avro(**{"floe.deadletter.table": DEAD_LETTERS})
    two_versions(sink)
    registry.put(*[passed] * first)
    registry.always(fault)
    run = sink.new_run()
    failed = write_fails(run, sink)
    assert failed.is_refused, failed
    assert "not one of a schema registry" in failed.message
    registry.clear()
    assert run.persist("write").is_done
    assert run.step("commit").is_done
    assert dead_letters(sink) == {}
    sink.assert_exactly_once()


def test_row_47_errors_that_pass_do_not_fail_the_run(avro: Callable[..., Sink], registry: RegistryProxy) -> None:
    sink = avro(**{"floe.deadletter.table": DEAD_LETTERS})
    two_versions(sink)
    registry.put(answered(500), answered(429), passed, dropped, answered(504))
    sink.run()
    assert len(sink.announcements()) == 1
    assert dead_letters(sink) == {}
    sink.assert_exactly_once()


def test_row_47_errors_that_stay_fail_the_run_each_time(avro: Callable[..., Sink], registry: RegistryProxy) -> None:
    sink = avro(**{"floe.deadletter.table": DEAD_LETTERS})
    two_versions(sink)
    registry.always(answered(500))
    for _ in range(2):
        assert write_fails(sink.new_run(), sink).is_retryable
    registry.clear()
    sink.assert_exactly_once()
    assert dead_letters(sink) == {}
