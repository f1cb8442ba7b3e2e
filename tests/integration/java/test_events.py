"""floe's events against the classes of the Java sink themselves (``iceberg-kafka-connect-events`` 1.12.0)."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from typing import Any
from unicodedata import category, ucd_3_2_0

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from floe.control.wire.avro_schema import schema_text
from floe.control.wire.codec import HEAD, decode, encode
from floe.control.wire.events import Event, EventType, PartitionType
from tests.support.control.event_facts import facts
from tests.support.control.strategies import EVENTS, partition_types
from tests.support.java.program import java_program

PACKAGES = ("org.apache.iceberg:iceberg-kafka-connect-events:1.12.0", "org.slf4j:slf4j-nop:2.0.17")

Ask = Callable[[dict[str, Any]], list[dict[str, Any]]]

thoroughly = settings(
    max_examples=300,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture(scope="module")
def ask_java() -> Iterator[Ask]:
    """Ask the Java classes, in one process for all tests: a request in, its answers out."""
    with java_program("EventCheck", PACKAGES) as send:

        def ask(request: dict[str, Any]) -> list[dict[str, Any]]:
            answers: list[dict[str, Any]] = send(request)
            assert not [a for a in answers if "error" in a], f"Java refused {str(request)[:2000]}: {answers}"
            return answers

        yield ask


@pytest.fixture(scope="module")
def made_by_java(ask_java: Ask) -> dict[str, tuple[bytes, dict[str, Any]]]:
    """Return a message and its facts for each case that the Java program knows, by name."""
    return {a["name"]: (b64decode(a["message"]), a["facts"]) for a in ask_java({"do": "write"})}


def test_floe_understands_what_java_wrote(made_by_java: dict[str, tuple[bytes, dict[str, Any]]]) -> None:
    assert len(made_by_java) >= 28
    for name, (message, wanted) in made_by_java.items():
        assert facts(decode(message)) == wanted, name


def test_floe_writes_the_very_bytes_that_java_wrote(made_by_java: dict[str, tuple[bytes, dict[str, Any]]]) -> None:
    for name, (message, _) in made_by_java.items():
        assert encode(decode(message)) == message, name


def test_every_event_type_is_among_what_java_wrote(made_by_java: dict[str, tuple[bytes, dict[str, Any]]]) -> None:
    assert {decode(message).type for message, _ in made_by_java.values()} == set(EventType)


def test_java_understands_what_floe_writes(ask_java: Ask) -> None:
    @thoroughly
    @given(EVENTS)
    def check(event: Event) -> None:
        message = encode(event)
        (answer,) = ask_java({"do": "read", "message": b64encode(message).decode()})
        assert answer["facts"] == facts(decode(message))

    check()


def test_the_schema_is_java_s_to_the_byte_for_any_partition_type(ask_java: Ask) -> None:
    # What is a letter depends on the Unicode version of either side: keep to characters that all versions agree on.
    settled = st.characters(exclude_categories=["Cs"]).filter(lambda c: category(c) == ucd_3_2_0.category(c) != "Cn")
    any_name = st.text(settled, min_size=1, max_size=6)

    @thoroughly
    @given(partition_types(any_name))
    def check(partition_type: PartitionType) -> None:
        fields = [{"id": f.field_id, "name": f.name, "type": f.type} for f in partition_type.fields]
        (answer,) = ask_java({"do": "schema", "fields": fields})
        assert schema_text(EventType.DATA_WRITTEN, partition_type) == answer["schema"]

    check()


def test_messages_have_the_sizes_that_the_sink_s_have(made_by_java: dict[str, tuple[bytes, dict[str, Any]]]) -> None:
    sizes = {name: (len(message), HEAD.unpack_from(message)[1]) for name, (message, _) in made_by_java.items()}
    assert sizes["start_commit"] == (642, 577)
    assert sizes["commit_complete_null"] == (792, 726)
    assert 8_300 <= sizes["data_written_unpartitioned"][0] <= 8_500
