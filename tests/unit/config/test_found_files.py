"""Connectors as people bring them from Kafka Connect: the next step that each refusal names is one that works."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from floe.config import Connector
from floe.config.connector_files import read_file
from floe.config.converters.plain import CLASSES
from tests.support.connectors import MINIMAL

CATALOG = "iceberg.catalog."
NO_TYPE = (f"{CATALOG}type",)
STRING = "org.apache.kafka.connect.storage.StringConverter"
KAFKA = "org.apache.kafka.connect.transforms."
Make = Callable[..., Connector]
Problems = Callable[..., tuple[str, ...]]


def catalog(**keys: str) -> dict[str, str]:
    return {f"{CATALOG}{key.replace('_', '-')}": value for key, value in keys.items()}


def transformed(converter: str, kind: str, **keys: str) -> dict[str, Any]:
    own = {f"transforms.t.{key.replace('_', '.')}": value for key, value in keys.items()}
    return {"value.converter": converter, "transforms": "t", "transforms.t.type": kind, **own}


@pytest.mark.parametrize("converter", [name for name, one in CLASSES.items() if "value" in one.roles])
def test_values_that_get_fields_are_not_warned_of(connector: Make, converter: str) -> None:
    hoisted = transformed(converter, f"{KAFKA}HoistField$Value", field="line")
    assert connector(hoisted, ("value.converter.schemas.enable",)).warnings == ()


@pytest.mark.parametrize("package", ["org.apache.iceberg", "io.tabular.iceberg"])
def test_json_texts_that_get_fields_are_not_warned_of(connector: Make, package: str) -> None:
    parsed = transformed(STRING, f"{package}.connect.transforms.JsonToMapTransform", json_root="true")
    assert connector(parsed, ("value.converter.schemas.enable",)).warnings == ()


@pytest.mark.parametrize(
    ("kind", "keys"),
    [(f"{KAFKA}HoistField$Key", {"field": "line"}), (f"{KAFKA}InsertField$Value", {"topic_field": "topic"})],
)
def test_values_that_get_no_fields_are_warned_of(connector: Make, kind: str, keys: dict[str, str]) -> None:
    given = {**transformed(STRING, kind, **keys), "key.converter": STRING}
    found = connector(given, ("value.converter.schemas.enable",)).warnings
    (warning,) = (one for one in found if one.startswith("value.converter"))
    assert "of which no row can be made: every record is rejected" in warning


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("io.confluent.kafka.serializers.KafkaAvroDeserializer", "io.confluent.connect.avro.AvroConverter"),
        (
            "io.confluent.kafka.serializers.protobuf.KafkaProtobufDeserializer",
            "io.confluent.connect.protobuf.ProtobufConverter",
        ),
        (
            "io.confluent.kafka.serializers.json.KafkaJsonSchemaDeserializer",
            "io.confluent.connect.json.JsonSchemaConverter",
        ),
        ("io.apicurio.registry.serde.avro.AvroKafkaDeserializer", "io.apicurio.registry.utils.converter.AvroConverter"),
        ("org.apache.kafka.common.serialization.StringDeserializer", STRING),
    ],
)
def test_deserializer_is_answered_with_its_converter(problems: Problems, name: str, meant: str) -> None:
    (problem,) = problems({"value.converter": name}, ("value.converter.schemas.enable",))
    assert problem.endswith(f"is a class of Kafka's clients, and no converter: set {meant}")


@pytest.mark.parametrize(
    "key",
    ["s3.signing-region", "adls.auth.type", "s3.block-size"],
)
def test_another_setting_is_not_suggested(problems: Problems, key: str) -> None:
    (problem,) = problems({f"{CATALOG}{key}": "x"})
    assert problem == f"{CATALOG}{key} is no setting of PyIceberg that floe hands on: remove it"


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("s3.path.style.access", "the nearest known one is iceberg.catalog.s3.path-style-access"),
        ("s3.endpoint-url", "set iceberg.catalog.s3.endpoint"),
        ("s3.access.key", "set iceberg.catalog.s3.access-key-id"),
        ("glue.warehouse", "set iceberg.catalog.warehouse"),
        ("aws.region", "set iceberg.catalog.client.region"),
        ("s3.ssl-enabled", "write http:// or https:// in iceberg.catalog.s3.endpoint, and remove it"),
    ],
)
def test_a_setting_spelled_otherwise_is_suggested(problems: Problems, key: str, meant: str) -> None:
    (problem,) = problems({f"{CATALOG}{key}": "x"})
    assert problem.endswith(f"; {meant}")


def test_keys_of_an_unnamed_type_are_not_to_be_removed(problems: Problems) -> None:
    """The first step is the type: its keys are right."""
    own = {"glue.id": "1", "jdbc.user": "me", "authentication.type": "NONE", "rest.sigv4-enabled": "true"}
    (problem,) = problems({f"{CATALOG}{key}": value for key, value in own.items()}, NO_TYPE)
    assert problem.startswith(f"{CATALOG}type is not given")


def test_a_class_as_the_catalogs_name_is_its_type(problems: Problems) -> None:
    old = {"iceberg.catalog": "org.apache.iceberg.rest.RESTCatalog", f"{CATALOG}uri": "http://h"}
    (problem,) = problems(old, NO_TYPE)
    assert problem == (
        f"{CATALOG}type is not given, and iceberg.catalog has a class, where the catalog's name is wanted: set "
        f"{CATALOG}type to rest"
    )


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (
            catalog(catalog_impl="software.amazon.s3tables.iceberg.S3TablesCatalog"),
            "S3 Tables have Iceberg's REST API: remove it, and set iceberg.catalog.type to rest, iceberg.catalog.uri to "
            "https://s3tables.REGION.amazonaws.com/iceberg, iceberg.catalog.rest.sigv4-enabled to true and "
            "iceberg.catalog.rest.signing-name to s3tables",
        ),
    ],
)
def test_class_of_a_catalog_with_a_rest_api_names_that(problems: Problems, keys: dict[str, str], text: str) -> None:
    (problem,) = problems(keys, NO_TYPE)
    assert problem.endswith(f"is not supported: {text}")


def test_login_of_another_auth_manager_is_translated_by_hand(problems: Problems) -> None:
    own = {"client-id": "a", "client-secret": "b", "token-endpoint": "http://idp/token", "scope": "x"}
    found = problems({f"{CATALOG}type": "rest", **{f"{CATALOG}rest.auth.oauth2.{k}": v for k, v in own.items()}})
    assert {problem.partition(" is refused: ")[2] for problem in found} == {
        "floe's own login has other names: set credential to client-id:client-secret, oauth2-server-uri to the token's "
        "endpoint, and scope"
    }


@pytest.mark.parametrize("kind", ["glue", "hive", "sql"])
def test_name_of_amazon_is_no_warehouse(problems: Problems, kind: str) -> None:
    uri = {"hive": "thrift://h:9083", "sql": "sqlite:////x.db"}.get(kind, "")
    keys = {**catalog(type=kind, warehouse="arn:aws:s3:::lake/"), **(catalog(uri=uri) if uri else {})}
    (problem,) = problems(keys)
    assert (
        problem
        == f"{CATALOG}warehouse 'arn:aws:s3:::lake/' is Amazon's name of a bucket, and no address: set s3://lake/"
    )


def test_warehouse_in_hdfs_is_warned_of(connector: Make) -> None:
    (warning,) = connector(catalog(type="hive", uri="thrift://h:9083", warehouse="hdfs://nn/w")).warnings
    assert "needs Hadoop's native client (libhdfs)" in warning


@pytest.mark.parametrize(
    "key", ["iceberg.catalog.credential", "iceberg.kafka.sasl.password", "iceberg.catalog.warehouse"]
)
def test_variable_of_a_shell_is_warned_of(connector: Make, key: str) -> None:
    found = connector({f"{CATALOG}type": "rest", f"{CATALOG}uri": "http://h", key: "${LAKE_VALUE}"}).warnings
    assert [one for one in found if "nothing replaces" in one] == [
        f"{key} has ${{…}} without a provider, which nothing replaces: for a variable of the environment write ${{env:NAME}}"
    ]


def test_placeholders_of_transforms_are_no_variables(connector: Make) -> None:
    router = transformed(
        str(MINIMAL["value.converter"]), f"{KAFKA}TimestampRouter", topic_format="${topic}-${timestamp}"
    )
    assert not [one for one in connector(router).warnings if "nothing replaces" in one]


def test_upserts_name_the_next_step(problems: Problems) -> None:
    (problem,) = problems({"iceberg.tables.upsert-mode-enabled": "true"})
    assert problem.endswith("Comes with upserts. Remove it: rows are appended.")


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"useSSL": "true", "verifyServerCertificate": "true"}, ["useSSL", "verifyServerCertificate"]),
        ({"requireSSL": "true"}, ["requireSSL"]),
    ],
)
def test_tls_of_another_driver_is_named_at_once(problems: Problems, keys: dict[str, str], named: list[str]) -> None:
    address = catalog(type="jdbc", uri="jdbc:postgresql://h/d")
    found = problems({**address, **{f"{CATALOG}jdbc.{key}": value for key, value in keys.items()}})
    assert list(found) == [
        f"{CATALOG}jdbc.{key} is not translated for postgresql, as it is of MySQL's driver: remove it, and set jdbc.sslmode, "
        "to verify-full for TLS with a certificate that is checked"
        for key in named
    ]


def test_provider_that_is_not_allowed_names_what_floe_has(problems: Problems) -> None:
    (problem,) = problems({f"{CATALOG}type": "rest", f"{CATALOG}token": "${secrets:ns/name:key}"})
    assert "'secrets' is not allowed here" in problem
    assert problem.endswith(
        "floe has the providers env, file, dir, conn, var; others' secrets come as files or variables"
    )


# -- other forms of a file --------------------------------------------------------------------------------------------


def own(**more: Any) -> dict[str, Any]:
    return {"name": "pizzas", "config": dict(MINIMAL), **more}


def problem_of(write: Callable[..., Path], name: str, content: object) -> str:
    error = read_file(write(name, content)).error
    assert error is not None
    (problem,) = error.problems
    return problem


@pytest.mark.parametrize(
    ("key", "value", "step"),
    [
        ("tasks", [{"connector": "pizzas", "task": 0}], "remove it, which a worker says of itself"),
        ("type", "sink", "remove it, which a worker says of itself"),
        (
            "initial_state",
            "STOPPED",
            "remove it, and set floe.dag.is-paused=true in config for a DAG that begins paused",
        ),
        ("topics", "a", "move it into config or remove it"),
    ],
)
def test_what_is_beside_config_names_its_step(write: Callable[..., Path], key: str, value: Any, step: str) -> None:
    """``GET /connectors/<name>`` answers with tasks and type, ``POST /connectors`` takes initial_state."""
    problem = problem_of(write, "a.json", own(**{key: value}))
    assert problem == f"{key!r} is beside config, where only name is allowed: {step}"


@pytest.mark.parametrize("part", ["config", "configs"])
def test_object_of_kubernetes_names_its_part(write: Callable[..., Path], part: str) -> None:
    found = {"apiVersion": "x/v1", "kind": "KafkaConnector", "metadata": {"name": "a"}, "spec": {part: dict(MINIMAL)}}
    assert problem_of(write, "a.json", found) == (
        f"this is an object of Kubernetes: write what is in spec.{part} as the file, with name, and tasks.max for its tasks"
    )


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [("a.properties", "topics=a\n", "a properties file"), ("a.yaml", "topics: a\n", "YAML"), ("a.yml", "x: y", "YAML")],
)
def test_other_formats_are_named(write: Callable[..., Path], name: str, content: str, kind: str) -> None:
    assert problem_of(write, name, content) == (
        f"it is {kind} by its name, and a connector is one JSON object: write the same keys and values as JSON into a file "
        "that ends in .json"
    )
