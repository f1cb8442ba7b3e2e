import pytest

from floe.config.sections.catalog_types import TYPES, CatalogType


@pytest.mark.parametrize("kind", ["sql", "rest", "REST"])
def test_the_catalogs_that_are_built_pass(connector, kind):
    assert connector({"iceberg.catalog.type": kind}).catalog.properties["type"] == kind.lower()


@pytest.mark.parametrize("kind", ["hive", "hadoop", "glue", "nessie", "dynamodb", "bigquery", "in-memory", ""])
def test_other_catalogs_are_refused_by_name(problems, kind):
    assert problems({"iceberg.catalog.type": kind}) == (
        f"iceberg.catalog.type {kind!r} is not supported yet: set sql or rest",
    )


def test_javas_jdbc_is_answered_with_pyicebergs_name(problems):
    assert "PyIceberg calls it sql" in problems({"iceberg.catalog.type": "jdbc"})[0]


def test_a_missing_type_names_the_key_to_set(problems):
    (problem,) = problems({"iceberg.catalog.uri": "http://rest:8181"}, ("iceberg.catalog.type",))
    assert problem.startswith("iceberg.catalog.type is not given") and "set it to sql or rest" in problem


@pytest.mark.parametrize("key", ["catalog-impl", "py-catalog-impl"])
def test_catalogs_of_own_classes_are_refused_by_name(problems, key):
    (problem,) = problems({f"iceberg.catalog.{key}": "a.B"}, ("iceberg.catalog.type",))
    assert problem.startswith(f"iceberg.catalog.{key} is not supported")


def test_properties_are_handed_through_without_prefix(connector):
    made = connector({"iceberg.catalog": "demo", "iceberg.catalog.s3.endpoint": "http://minio:9000"})
    assert made.catalog.name == "demo"
    assert made.catalog.properties == {"type": "sql", "s3.endpoint": "http://minio:9000"}


@pytest.mark.parametrize("key", ["io-impl", "s3.path-style-access", "client.credentials-provider"])
def test_properties_that_only_java_reads_are_warned_of(connector, key):
    assert connector({f"iceberg.catalog.{key}": "x"}).warnings[0].startswith(f"iceberg.catalog.{key} has no effect")


def test_a_further_type_is_one_entry(connector, problems, monkeypatch):
    def check(given):
        if "uri" not in given:
            yield "iceberg.catalog.uri is missing"

    made = CatalogType("hive", ("metastore",), {"clients": "pool_pre_ping"}, {"lock-impl": "there are no locks"}, check)
    monkeypatch.setitem(TYPES, made.name, made)
    keys = {"iceberg.catalog.type": "Metastore", "iceberg.catalog.clients": "2", "iceberg.catalog.lock-impl": "x"}
    assert problems(keys) == ("iceberg.catalog.uri is missing",)
    read = connector({**keys, "iceberg.catalog.uri": "thrift://h:9083"})
    assert (read.catalog.type, read.warnings) == (
        "hive",
        ("iceberg.catalog.lock-impl has no effect: there are no locks",),
    )
    assert read.catalog.properties == {
        "type": "hive",
        "pool_pre_ping": "2",
        "lock-impl": "x",
        "uri": "thrift://h:9083",
    }
    assert "sql, rest or hive" in problems({"iceberg.catalog.type": "glue"})[0]
