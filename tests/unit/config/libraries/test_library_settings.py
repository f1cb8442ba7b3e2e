"""What floe hands on: the lists agree with the libraries, and what they lack is refused with the nearest name."""

import ctypes
import inspect
from pathlib import Path

import confluent_kafka
import pyiceberg.catalog.rest
import pyiceberg.catalog.sql
import pyiceberg.io
import pytest
from pyiceberg.table import TableProperties

from floe.config.libraries.client_settings import CLIENT_FLAGS, CLIENT_RANGES, CLIENT_SETTINGS, LIVE_CLIENT_SETTINGS
from floe.config.libraries.library_settings import FILE_IO, REST_CATALOG, SQL_CATALOG
from floe.config.libraries.table_property_names import KNOWN_PROPERTIES
from floe.config.sections.table_properties import is_icebergs

LEFT_OUT = {
    *(
        "builtin.features",
        "consume.callback.max.messages",
        "default_topic_conf",
        "enable.random.seed",
        "enabled_events",
    ),
    *("interceptors", "internal.termination.signal", "log.queue", "max.poll.records", "msg_order_cmp", "opaque"),
    *("plugin.library.paths", "sasl.kerberos.kinit.cmd", "share.acknowledgement.mode", "ssl.engine.id"),
    *("ssl.engine.location", "ssl.providers", "ssl_ca", "ssl_certificate", "ssl_engine_callback_data", "ssl_key"),
}
"""Of librdkafka's: callbacks, what names code, what is for its tests, and what only the Java client reads."""


@pytest.fixture(scope="module")
def librdkafka(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The names and ranges of all settings of the librdkafka that is installed, as it lists them itself."""
    (path,) = Path(confluent_kafka.__file__).parents[1].glob("confluent_kafka.libs/librdkafka*")
    library, libc = ctypes.CDLL(str(path)), ctypes.CDLL(None)
    libc.fopen.restype = ctypes.c_void_p
    libc.fclose.argtypes = library.rd_kafka_conf_properties_show.argtypes = [ctypes.c_void_p]
    listed = tmp_path_factory.mktemp("librdkafka") / "settings.md"
    stream = libc.fopen(str(listed).encode(), b"w")
    library.rd_kafka_conf_properties_show(stream)
    libc.fclose(stream)
    rows = [line.split("|") for line in listed.read_text().splitlines() if line.count("|") >= 5]
    found = {row[0].strip(): row[2].strip() for row in rows}
    return {name: text for name, text in found.items() if name and name != "Property" and not name.startswith("-")}


def test_client_settings_are_librdkafkas(librdkafka):
    assert set(CLIENT_SETTINGS) <= librdkafka.keys()
    assert {name for name in librdkafka.keys() - set(CLIENT_SETTINGS) if not name.endswith("_cb")} == LEFT_OUT
    assert set(LIVE_CLIENT_SETTINGS) <= set(CLIENT_SETTINGS)


def test_ranges_of_client_settings_are_librdkafkas(librdkafka):
    listed = {name: f"{least} .. {most}" for name, (least, most) in CLIENT_RANGES.items() if name != "fetch.min.bytes"}
    assert listed == {name: librdkafka[name] for name in listed}
    assert {librdkafka[name] for name in CLIENT_FLAGS} == {"true, false"}


def test_the_client_takes_both_ends_of_each_range():
    together = {"reconnect.backoff.ms": 0, "reconnect.backoff.max.ms": 3_600_000, "linger.ms": 0}
    for name, ends in CLIENT_RANGES.items():
        for end in ends:
            conf = {**together, name: end, "group.id": "x", "log_level": 0}
            if conf["reconnect.backoff.ms"] <= conf["reconnect.backoff.max.ms"]:
                confluent_kafka.Consumer(conf).close()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fetch.min.bytes", "0"),
        ("fetch.min.bytes", "100000001"),
        ("linger.ms", "127.0.0.1:9092"),
        ("socket.timeout.ms", "5"),
        ("linger.ms", "-1"),
        ("socket.nagle.disable", "x"),
    ],
)
def test_a_value_that_the_client_would_misread_is_refused(problems, name, value):
    (problem,) = problems({f"iceberg.kafka.{name}": value})
    assert problem.startswith(f"iceberg.kafka.{name} {value!r}: ")


def test_settings_of_stores_are_pyicebergs():
    prefixes = ("s3.", "gcs.", "adls.", "hdfs.", "hf.", "client.")
    values = {v for v in vars(pyiceberg.io).values() if isinstance(v, str) and v.startswith(prefixes)}
    assert set(FILE_IO) - {"adls.sas-token.*"} == values - {"s3.retry-strategy-impl"}


@pytest.mark.parametrize(
    ("module", "names"), [(pyiceberg.catalog.rest, REST_CATALOG), (pyiceberg.catalog.sql, SQL_CATALOG)]
)
def test_settings_of_catalogs_are_pyicebergs(module, names):
    source = inspect.getsource(module) + inspect.getsource(pyiceberg.catalog)
    assert [name for name in names if f'"{name}"' not in source] == ["header.*"][: "header.*" in names]


def test_properties_of_tables_have_all_of_pyicebergs():
    names = {v for k, v in vars(TableProperties).items() if isinstance(v, str) and not k.startswith("_")}
    icebergs = {v for v in names if is_icebergs(v) and "default" not in v.rpartition(".")[2]}
    prefixes = {name.removesuffix(".*") for name in KNOWN_PROPERTIES}
    assert icebergs - prefixes == {"write.py-location-provider.impl", "write.data.path", "write.metadata.path"}


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("iceberg.kafka.linger.mss", "iceberg.kafka.linger.ms"),
        ("consumer.override.fetch.max.byte", "consumer.override.fetch.max.bytes"),
        ("iceberg.catalog.s3.endpont", "iceberg.catalog.s3.endpoint"),
        ("iceberg.catalog.warehous", "iceberg.catalog.warehouse"),
        ("iceberg.catalog.url", "iceberg.catalog.uri"),
        ("iceberg.catalog.s3.pathStyleAccess", "iceberg.catalog.s3.path-style-access"),
        ("iceberg.tables.write-props.write.target-file-size", "write-props.write.target-file-size-bytes"),
        ("iceberg.tables.auto-create-props.commit.manifest.enabled", "commit.manifest-merge.enabled"),
    ],
)
def test_a_setting_that_no_library_has_is_refused(problems, key, nearest):
    (problem,) = problems({key: "1"})
    assert problem.startswith(f"{key} is no setting of") and nearest in problem


@pytest.mark.parametrize("key", ["iceberg.catalog.blms_catalog", "iceberg.tables.write-props.write.x"])
def test_a_setting_like_no_other_is_compared_with_none(problems, key):
    (problem,) = problems({key: "1"})
    assert problem.startswith(f"{key} is no setting of") and problem.endswith("that floe hands on: remove it")


def test_thousands_of_unknown_settings_are_answered_in_time(problems):
    found = problems({f"iceberg.catalog.zz{number}": "x" for number in range(3000)})
    assert (len(found), found[-1]) == (100, "… and 2901 more")


def test_a_created_table_may_have_properties_of_its_owner(connector):
    made = connector({"iceberg.tables.auto-create-props.owner": "me", "iceberg.tables.auto-create-props.team.x": "y"})
    assert made.creation.properties == {"owner": "me", "team.x": "y"}


@pytest.mark.parametrize(
    "name", ["floe.ledger.connect-b.main", "kafka.connect.offsets.control.b", "write.unheard-of", "encryption.key-id"]
)
def test_created_table_has_no_invented_iceberg_properties(problems, name):
    assert "is no setting of Iceberg's tables" in problems({f"iceberg.tables.auto-create-props.{name}": "x"})[0]


PROPS = pytest.mark.parametrize("prefix", ["iceberg.tables.write-props.", "iceberg.tables.auto-create-props."])


@PROPS
@pytest.mark.parametrize("name", ["write.data.path", "write.metadata.path", "write.folder-storage.path"])
def test_a_connector_does_not_say_where_files_are(problems, prefix, name):
    (problem,) = problems({prefix + name: "s3://elsewhere/x"})
    assert problem.startswith(f"{prefix}{name}: a connector does not say where files are")


@PROPS
@pytest.mark.parametrize("name", ["write.py-location-provider.impl", "write.location-provider.impl", "py-io-impl"])
def test_a_property_that_names_code_is_refused(problems, prefix, name):
    (problem,) = problems({prefix + name: "builtins.exec"})
    assert problem.startswith(f"{prefix}{name} names code")


@PROPS
@pytest.mark.parametrize("name", ["s3.endpoint", "gcs.service.host", "token", "header.X"])
def test_a_setting_of_the_store_goes_into_the_catalog(problems, prefix, name):
    assert any(f"Set iceberg.catalog.{name}" in problem for problem in problems({prefix + name: "x"}))


@PROPS
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("write.parquet.compression-codec", "evil"),
        ("write.parquet.compression-codec", ""),
        ("write.parquet.compression-level", "high"),
        ("write.avro.compression-codec", "lzo"),
        ("write.metadata.compression-codec", "zstd"),
        ("write.metadata.metrics.default", "some"),
        ("write.metadata.metrics.default", "truncate(0)"),
        ("write.metadata.metrics.column.a.b", "truncate(-1)"),
        ("write.merge.mode", "copy"),
        ("write.delete.isolation-level", "none"),
        ("write.delete.distribution-mode", "sorted"),
        ("write.parquet.bloom-filter-enabled.column.id", "maybe"),
        ("gc.enabled", "2"),
        ("commit.retry.num-retries", "-1"),
    ],
)
def test_a_value_that_does_not_work_is_refused(problems, prefix, name, value):
    (problem,) = problems({prefix + name: value})
    assert problem.startswith(f"{prefix}{name} {value!r}: ")


def test_a_level_that_gzip_does_not_have_is_refused(problems, connector):
    codec, level = (f"iceberg.tables.write-props.write.parquet.compression-{part}" for part in ("codec", "level"))
    assert "gzip has the levels 0 to 9" in problems({codec: "gzip", level: "10"})[0]
    connector({codec: "zstd", level: "10"})


@pytest.mark.parametrize("codec", ["zstd", "GZIP", " snappy ", "lz4", "brotli", "uncompressed"])
def test_codecs_of_arrow_are_taken(connector, codec):
    connector({"iceberg.tables.write-props.write.parquet.compression-codec": codec})


@pytest.mark.parametrize(
    "key", ["plugin.library.paths", "ssl.engine.location", "ssl.providers", "sasl.kerberos.kinit.cmd"]
)
def test_code_of_the_client_is_refused(problems, key):
    (problem,) = problems({f"iceberg.kafka.{key}": "x"})
    assert "loads code" in problem


@pytest.mark.parametrize("key", ["py-io-impl", "s3.retry-strategy-impl", "auth", "auth.type"])
def test_code_of_the_catalog_is_refused(problems, key):
    (problem,) = problems({f"iceberg.catalog.{key}": "builtins.exec"})
    assert problem.startswith(f"iceberg.catalog.{key} names code")


@pytest.mark.parametrize(
    ("uri", "problem"),
    [
        ("evil+mod://u:p4ssw0rd@h/db", "is of no database that SQLAlchemy has"),
        ("p4ssw0rd", "is of no database that SQLAlchemy has"),
        ("postgresql://u:p4ssw0rd@h/db?plugin=evil", "names a plugin"),
        ("sqlite:////tmp/a%00b?p4ssw0rd", "code of a NUL character"),
    ],
)
def test_the_address_of_a_sql_catalog_names_no_code(problems, uri, problem):
    (found,) = problems({"iceberg.catalog.uri": uri})
    assert problem in found and "p4ssw0rd" not in found


@pytest.mark.parametrize("uri", ["sqlite:////tmp/x.db", "postgresql+psycopg2://u:p@h/db", "mysql://h/db"])
def test_databases_of_sqlalchemy_are_taken(connector, uri):
    assert connector({"iceberg.catalog.uri": uri}).catalog.properties["uri"] == uri
