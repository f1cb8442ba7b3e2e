"""Avro from a topic to a table, with the schemas of a real registry."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from floe.exceptions import FloeError, Retryable
from floe.kafka.admin import Cluster
from floe.schema_registry.exceptions import UnknownSchemas
from floe_job.exceptions import SliceFailed, SliceRefused
from stack.services.schema_registry import SchemaRegistry
from stack.settings import LOOPBACK, free_port
from tests.support.registry.avro_values import datum, framed, record_schema
from tests.support.registry.certificates import Authority
from tests.support.registry.double import PAGE, as_json, schema, serving
from tests.support.registry.double import UNKNOWN as NO_SCHEMA
from tests.support.registry.stores import PASSWORD, StoreFiles
from tests.support.registry.subjects import register, register_artifact
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.replays import replay

CONFLUENT = "io.confluent.connect.avro.AvroConverter"
APICURIO = "io.apicurio.registry.utils.converter.AvroConverter"
DEAD_LETTERS = "db.letters"
UNKNOWN = 999_999
QUICK = {"retries.wait.ms": 1, "max.retries": 1}

MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
TIME = {"type": "long", "logicalType": "timestamp-millis"}
ADDRESS = record_schema("Address", street="string", floor=["null", "int"])
ORDER = record_schema(
    "Order", id="long", price=MONEY, at=TIME, ship_to=ADDRESS, tags={"type": "array", "items": "string"}
)
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
SMALL, LARGE = record_schema("Pizza", id="int"), record_schema("Pizza", id="long", sauce=["null", "string"])


def order(number: int) -> dict[str, Any]:
    street = {"street": "Main", "floor": number}
    return {"id": number, "price": Decimal("9.50"), "at": NOW, "ship_to": street, "tags": ["hot"] * number}


@pytest.fixture
def known(schema_registry: SchemaRegistry) -> Callable[[dict[str, Any]], int]:
    """Register a schema under a subject of its own; gives its id."""
    return lambda schema: register(schema_registry.confluent_url, f"s-{uuid.uuid4()}", json.dumps(schema))


@pytest.fixture
def avro(pipeline: MakePipeline, schema_registry: SchemaRegistry) -> MakePipeline:
    """Make a topic and a connector that reads it as Avro; ``url``: of another registry."""

    def make(url: str = schema_registry.confluent_url, **more: Any) -> Pipeline:
        keys = {f"value.converter.{key}": value for key, value in {"schema.registry.url": url, **QUICK}.items()}
        none = {"value.converter.schemas.enable": None}
        return pipeline(**{"value.converter": CONFLUENT, **keys, **none, **more})

    return make


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOE_CACHE_DIR", str(tmp_path / "cache"))


def dead_letters(one: Pipeline) -> dict[int, tuple[str, str]]:
    rows = one.table(DEAD_LETTERS).scan().to_arrow().to_pylist()
    return {row["offset"]: (row["stage"], row["reason"]) for row in rows if row["kind"] == "dead"}


def test_avro_table_is_created_with_the_types_of_the_schema(avro: MakePipeline, known: Any) -> None:
    one, schema_id = avro(), known(ORDER)
    one.produce([framed(schema_id, datum(ORDER, order(i))) for i in range(3)])
    one.run()
    fields = {field.name: field for field in one.table().schema().fields}
    assert {name: str(field.field_type) for name, field in fields.items() if name not in ("ship_to", "tags")} == {
        "id": "long",
        "price": "decimal(38, 2)",
        "at": "timestamptz",
    }
    assert fields["ship_to"].field_type.field_by_name("floor").optional
    rows = sorted(one.table().scan().to_arrow().to_pylist(), key=lambda row: int(row["id"]))
    assert rows == [order(i) for i in range(3)]


def test_avro_new_version_widens_the_table_in_the_same_run(avro: MakePipeline, known: Any) -> None:
    one = avro()
    small, large = known(SMALL), known(LARGE)
    one.produce([framed(small, datum(SMALL, {"id": i})) for i in range(50)])
    one.run()
    assert str(one.table().schema().find_type("id")) == "int"
    one.produce([framed(small, datum(SMALL, {"id": 50})), framed(large, datum(LARGE, {"id": 2**40, "sauce": "hot"}))])
    before = len(one.table().schemas())
    one.run()
    assert str(one.table().schema().find_type("id")) == "long"
    assert len(one.table().schemas()) == before + 1, "one update for all"
    assert one.column("id") == [*range(51), 2**40]
    rows = {row["id"]: row["sauce"] for row in one.table().scan().to_arrow().to_pylist()}
    assert (rows[50], rows[2**40]) == (None, "hot")


def test_avro_bad_records_are_dead_letters_that_can_be_redriven(
    avro: MakePipeline, known: Any, schema_registry: SchemaRegistry
) -> None:
    one = avro(**{"floe.deadletter.table": DEAD_LETTERS})
    small = known(SMALL)
    later = max(small, known(record_schema("Last", a="int"))) + 1
    good = datum(SMALL, {"id": 7})
    one.produce([framed(small, good), framed(later, good), b'{"id": 1}', framed(small, good + b"\x00"), None])
    one.run()
    assert one.column("id") == [7]
    found = dead_letters(one)
    assert {stage for stage, _ in found.values()} == {"value_converter"}
    assert f"no schema {later}" in found[1][1]
    assert "magic byte" in found[2][1]
    assert f"schema {small}" in found[3][1]
    assert register(schema_registry.confluent_url, f"s-{uuid.uuid4()}", json.dumps(SMALL | {"name": "Later"})) == later
    replay(one, dead_letters=True)
    assert set(dead_letters(one)) == {1, 2, 3}
    assert one.column("id") == [7, 7]


def test_avro_routes_by_a_field_of_the_record(avro: MakePipeline, known: Any) -> None:
    tables = {"iceberg.tables": None, "iceberg.tables.dynamic-enabled": True, "iceberg.tables.route-field": "to"}
    one, schema = avro(**tables), record_schema("Routed", id="long", to="string")
    schema_id = known(schema)
    for start in (0, 3):
        values = [datum(schema, {"id": i, "to": f"db.{'ab'[i % 2]}"}) for i in range(start, start + 3)]
        one.produce([framed(schema_id, value) for value in values])
        one.run()
    assert (one.column("id", "db.a"), one.column("id", "db.b")) == ([0, 2, 4], [1, 3, 5])


def test_apicurio_ids_before_values_and_in_headers_are_read(
    pipeline: MakePipeline, schema_registry: SchemaRegistry
) -> None:
    keys = {"value.converter": APICURIO, "value.converter.apicurio.registry.url": schema_registry.url}
    one = pipeline(**keys, **{"value.converter.schemas.enable": None, "floe.deadletter.table": DEAD_LETTERS})
    text = json.dumps({**SMALL, "doc": str(uuid.uuid4())})
    # the same content twice: it has the content's id of the first, and a global id of its own
    _, content_id = register_artifact(schema_registry.url, f"s-{uuid.uuid4()}", text)
    global_id, same = register_artifact(schema_registry.url, f"s-{uuid.uuid4()}", text)
    assert same == content_id != global_id
    one.produce([framed(global_id, datum(SMALL, {"id": 0}), 8)])
    for number, (name, schema_id) in enumerate({"globalId": global_id, "contentId": content_id}.items(), 1):
        header = (f"apicurio.value.{name}", schema_id.to_bytes(8, "big"))
        one.produce([datum(SMALL, {"id": number})], record={"headers": [header]})
    one.produce([b"\x08"], record={"headers": [("apicurio.value.globalId", UNKNOWN.to_bytes(8, "big"))]})
    one.run()
    assert one.column("id") == [0, 1, 2]
    (row,) = one.table(DEAD_LETTERS).scan().to_arrow().to_pylist()
    assert (row["offset"], row["stage"], row["value"]) == (3, "value_converter", b"\x08")
    assert f"no schema {UNKNOWN}" in row["reason"]


def test_guids_in_headers_are_read_over_tls_with_java_stores(avro: MakePipeline, tmp_path: Path) -> None:
    guid, unknown = uuid.uuid4(), uuid.uuid4()
    replies = {f"/schemas/guids/{guid}": schema(json.dumps(SMALL)), "/schemas/ids/7": schema(json.dumps(LARGE))}
    authority = Authority(tmp_path)
    store = StoreFiles(tmp_path, authority, authority.issue("client")).trust("trust.jks", "JKS")
    with serving(lambda request: replies.get(request.path, NO_SCHEMA), authority.server_context()) as double:
        tls = {"location": str(store), "password": PASSWORD}
        keys = {f"value.converter.schema.registry.ssl.truststore.{name}": text for name, text in tls.items()}
        one = avro(double.url, **{"floe.deadletter.table": DEAD_LETTERS, **keys})
        for number, named in enumerate((guid, unknown)):
            header = ("__value_schema_id", b"\x01" + named.bytes)
            one.produce([datum(SMALL, {"id": number})], record={"headers": [header, ("trace", b"x")]})
        one.produce([framed(7, datum(LARGE, {"id": 2, "sauce": None}))])
        one.run()
    assert one.column("id") == [0, 2]
    ((stage, reason),) = dead_letters(one).values()
    assert stage == "value_converter" and str(unknown) in reason


def control_ends(one: Pipeline) -> list[int]:
    return [log.stable_end for log in Cluster.of_control(one.settings).logs([one.connector.control_topic])]


def failure(one: Pipeline, kind: type[FloeError]) -> str:
    """Write a plan that fails; nothing of it is announced."""
    plan = one.plan()
    before = control_ends(one)
    with pytest.raises(kind) as caught:
        one.write(plan)
    assert control_ends(one) == before
    return str(caught.value)


def test_avro_slice_of_unknown_ids_alone_fails(avro: MakePipeline, known: Any) -> None:
    one = avro(**{"floe.deadletter.table": DEAD_LETTERS})
    small = known(SMALL)
    value = datum(SMALL, {"id": 1})
    one.produce([framed(UNKNOWN, value), framed(UNKNOWN + 1, value)])
    said = failure(one, UnknownSchemas)
    assert f"{UNKNOWN}, {UNKNOWN + 1}" in said
    assert "Nothing was announced" in said
    one.produce([framed(small, value)])
    one.run()
    assert one.column("id") == [1]
    assert set(dead_letters(one)) == {0, 1}


def test_avro_registry_that_is_down_fails_the_run_retryably(avro: MakePipeline, known: Any) -> None:
    one, small = avro(f"http://{LOOPBACK}:{free_port()}"), known(SMALL)
    one.produce([framed(small, datum(SMALL, {"id": 1}))])
    said = failure(one, SliceFailed)
    assert issubclass(SliceFailed, Retryable)
    assert "Connection refused" in said
    assert "Nothing was announced" in said


def test_avro_registry_that_answers_with_a_page_fails_the_run(avro: MakePipeline, known: Any) -> None:
    with serving(PAGE) as double:
        one, small = avro(double.url), known(SMALL)
        one.produce([framed(small, datum(SMALL, {"id": 1}))])
        assert "not one of a schema registry" in failure(one, SliceRefused)


def test_avro_registry_that_refuses_the_client_shows_no_secret(
    avro: MakePipeline, known: Any, caplog: pytest.LogCaptureFixture
) -> None:
    login = {"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": "floe:quite-secret"}
    with serving(as_json({"message": "no such login: floe:quite-secret"}, 401)) as double:
        one, small = avro(double.url, **{f"value.converter.{key}": value for key, value in login.items()}), known(SMALL)
        one.produce([framed(small, datum(SMALL, {"id": 1}))])
        plan = one.plan()
        with pytest.raises(SliceRefused, match=r"Check value\.converter\.basic\.auth\.user\.info") as caught:
            one.write(plan)
        assert {request.headers["authorization"] for request in double.requests} == {"Basic ZmxvZTpxdWl0ZS1zZWNyZXQ="}
    assert "quite-secret" not in f"{caught.value}{caplog.text}{plan}{json.dumps(plan.to_json())}{one.connector}"
