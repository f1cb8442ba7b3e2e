import pytest

from floe.config.catalogs.base import CatalogType, no_effect, refused, translated
from floe.config.catalogs.catalog_types import TYPES
from floe.config.engine import Engine


@pytest.mark.parametrize("kind", ["sql", "rest", "REST"])
def test_the_catalogs_that_are_built_pass(connector, kind):
    assert connector({"iceberg.catalog.type": kind}).catalog.properties["type"] == kind.lower()


@pytest.mark.parametrize("kind", ["dynamodb", "bigquery", "in-memory", ""])
def test_other_catalogs_are_refused_by_name(problems, kind):
    (problem,) = problems({"iceberg.catalog.type": kind})
    assert problem.startswith(f"iceberg.catalog.type {kind!r} is not supported: set sql")


def test_a_missing_type_names_the_key_to_set(problems):
    (problem,) = problems({"iceberg.catalog.uri": "http://rest:8181"}, ("iceberg.catalog.type",))
    assert problem.startswith("iceberg.catalog.type is not given") and "set iceberg.catalog.type to sql" in problem


@pytest.mark.parametrize("key", ["catalog-impl", "py-catalog-impl"])
def test_catalogs_of_own_classes_are_refused_by_name(problems, key):
    (problem,) = problems({f"iceberg.catalog.{key}": "a.B"}, ("iceberg.catalog.type",))
    assert problem.startswith(f"iceberg.catalog.{key}") and "is not supported" in problem


def test_class_of_icebergs_is_not_said_to_be_your_own(problems):
    name = "org.apache.iceberg.gcp.biglake.BigLakeCatalog"
    (problem,) = problems({"iceberg.catalog.catalog-impl": name}, ("iceberg.catalog.type",))
    assert f"{name!r} is not supported: floe has no catalog in the place of this class. Remove it" in problem


def test_class_of_a_catalog_means_its_type(connector):
    made = connector({"iceberg.catalog.catalog-impl": "org.apache.iceberg.rest.RESTCatalog"}, ("iceberg.catalog.type",))
    assert (made.catalog.type, made.catalog.properties) == ("rest", {"type": "rest"})


def test_class_beside_a_type_is_refused(problems):
    keys = {"iceberg.catalog.type": "rest", "iceberg.catalog.catalog-impl": "org.apache.iceberg.rest.RESTCatalog"}
    assert "are both set" in problems(keys)[0]


def test_properties_are_handed_through_without_prefix(connector):
    made = connector({"iceberg.catalog": "demo", "iceberg.catalog.s3.endpoint": "http://minio:9000"})
    assert made.catalog.name == "demo"
    assert made.catalog.properties == {"type": "sql", "s3.endpoint": "http://minio:9000"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("io-impl", "org.apache.iceberg.aws.s3.S3FileIO"),
        ("s3.multipart.size", "1"),
        ("client.credentials-provider", "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"),
    ],
)
def test_properties_that_only_java_reads_are_warned_of(connector, key, value):
    assert connector({f"iceberg.catalog.{key}": value}).warnings[0].startswith(f"iceberg.catalog.{key} has no effect")


def test_a_further_type_is_one_entry(connector, problems, monkeypatch):
    def check(given):
        if "uri" not in given:
            yield "iceberg.catalog.uri is missing"

    made = CatalogType(
        "own",
        Engine("own.provider:OwnProvider"),
        aliases=("metastore",),
        implementations=("a.OwnCatalog",),
        keys=(
            translated("clients", "pool_pre_ping"),
            no_effect("lock-impl", "there are no locks"),
            refused("lock.*", "remove it"),
        ),
        problems=check,
        to_pyiceberg=lambda given: {**given, "echo": "true"},
    )
    monkeypatch.setitem(TYPES.own, made.name, made)
    keys = {"iceberg.catalog.type": "Metastore", "iceberg.catalog.clients": "2", "iceberg.catalog.lock-impl": "x"}
    assert problems(keys) == ("iceberg.catalog.uri is missing",)
    given = {**keys, "iceberg.catalog.uri": "thrift://h:9083"}
    assert problems({**given, "iceberg.catalog.lock.x": "1"}) == ("iceberg.catalog.lock.x is refused: remove it",)
    read = connector(given)
    assert read.warnings == ("iceberg.catalog.lock-impl has no effect: there are no locks",)
    assert read.catalog.type == "own"
    assert read.catalog.properties == {"type": "own", "clients": "2", "lock-impl": "x", "uri": "thrift://h:9083"}
    assert read.catalog.for_pyiceberg() == {
        "type": "own",
        "pool_pre_ping": "2",
        "uri": "thrift://h:9083",
        "echo": "true",
    }
    assert " or own" in problems({"iceberg.catalog.type": "dynamodb"})[0]
