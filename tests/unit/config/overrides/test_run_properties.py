"""Whatever a run sets, its connector is the file's in all that its class does not permit."""

from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floe.config import ConfigError, Connector, KeyClass, override, parse_connector
from floe.config.keys.lookup import KEYS
from floe.config.libraries.client_settings import CLIENT_SETTINGS
from floe.config.libraries.library_settings import CATALOG
from floe.config.libraries.table_property_names import KNOWN_PROPERTIES
from floe.config.overrides.run_keys import class_of
from tests.support.connectors import JSON

FILE = {
    "name": "pizzas",
    "topics": "a,b",
    "iceberg.tables": "db.one,db.two",
    "iceberg.tables.route-field": "kind",
    "iceberg.table.db.one.route-regex": "x",
    "iceberg.table.db.one.commit-branch": "audit",
    "floe.table.db.two.topics": "b",
    "floe.deadletter.table": "ops.dead",
    "transforms": "m",
    "transforms.m.type": "KafkaMetadataTransform",
    "iceberg.catalog.type": "rest",
    "iceberg.catalog.uri": "http://catalog",
    "iceberg.catalog.token": "secret-token",
    **JSON,
}
LIVE = {
    *("write_props", "committing.interval_ms", "committing.timeout_ms", "committing.threads"),
    *("clients.control", "clients.consumer", "errors", "warnings", "properties"),
    *(
        "reading.tasks",
        "reading.max_records",
        "reading.worker_memory",
        "reading.batch_bytes",
        "reading.write_timeout_ms",
    ),
}
REPLAY = LIVE | {"topics", "topics_regex", "settings", "routing", "schema", "transforms", "value_converter"}

RESTS = {
    "consumer.override.": CLIENT_SETTINGS,
    "iceberg.kafka.": CLIENT_SETTINGS,
    "iceberg.catalog.": (*CATALOG, "py-io-impl", "auth"),
    "iceberg.tables.write-props.": (*KNOWN_PROPERTIES, "write.data.path", "write.py-location-provider.impl"),
    "iceberg.table.write-props.": (*KNOWN_PROPERTIES, "write.data.path", "write.py-location-provider.impl"),
    "iceberg.tables.auto-create-props.": (*KNOWN_PROPERTIES, "py-io-impl", "owner"),
    "transforms.": ("m.type", "m.field_name", "m.external_field", "m.include_key", "n.type"),
}
KEYS_OF_RUNS = [
    *(key.name.replace("<table>", table) for key in KEYS for table in ("db.one", "db.evil") if "*" not in key.name),
    *(prefix + rest.replace("*", "id") for prefix, rests in RESTS.items() for rest in rests),
]
WORDS = (
    *("", "1", "5000000", "true", "false", "a", "b", "c", "a,b", "a.*", ".*", "db.one", "db.two", "db.evil", "audit"),
    *("main", "http://evil", "evil:9092", "builtins.exec", "key", "header", "{topic}", "db.{value}", "evil.{value}"),
    *("drop", "all", "none", "gzip", "full", "hash", "string", "accept", "latest", "m", "JsonConverter"),
)
OPEN = [key for key in KEYS_OF_RUNS if class_of(key) is not KeyClass.FILE]
CONFIGS = st.dictionaries(
    st.sampled_from(KEYS_OF_RUNS) | st.sampled_from(OPEN), st.sampled_from(WORDS), min_size=1, max_size=3
)


SECTIONS = ("reading", "committing", "clients", "connections", "creation")


def flat(connector: Connector) -> dict[str, object]:
    """Return the fields, those of sections by path."""
    found = {one.name: getattr(connector, one.name) for one in fields(Connector)}
    for section in SECTIONS:
        of = found.pop(section)
        found |= {f"{section}.{one.name}": getattr(of, one.name) for one in fields(of)}
    return found


@pytest.fixture(scope="module")
def file() -> Connector:
    return parse_connector(FILE)


@pytest.mark.parametrize(
    ("allowed", "free"), [(KeyClass.LIVE, LIVE), (KeyClass.REPLAY, REPLAY)], ids=["live", "replay"]
)
@settings(max_examples=400, deadline=None)
@given(config=CONFIGS)
def test_a_run_is_the_files_but_for_what_its_class_permits(file, allowed, free, config):
    try:
        made = override(file, config, allowed)
    except ConfigError as error:
        assert "secret-token" not in str(error)
        return
    now, then = flat(made), flat(file)
    assert {name for name in now.keys() | then.keys() if now.get(name) != then.get(name)} <= free
    assert set(made.topics) <= set(file.topics) and made.topics_regex is None
    assert set(made.tables) <= set(file.tables) and made.routing.template is None
    for before, after in ((file.errors, made.errors),):
        assert {f.name for f in fields(before) if getattr(before, f.name) != getattr(after, f.name)} <= {
            "log",
            "log_messages",
        }
    assert {made.table(table).branch for table in made.tables} <= {None, "audit"}
    assert made.table("db.one").branch == "audit"
