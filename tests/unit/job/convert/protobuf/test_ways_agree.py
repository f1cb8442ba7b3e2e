"""Random messages, whole and damaged: read as columns they are what they are when read one by one."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from floe_job.convert.protobuf.descriptors import ProtobufOptions
from floe_job.convert.protobuf.message_decoder import MessageDecoder, ProtobufColumn
from floe_job.convert.protobuf.schema_file import file_of
from floe_job.source.values import packed
from tests.support.job.formats.random_messages import Messages, Schemas, complete, encoded, message_class, registered

SEEDS = 120
OPTIONS = (
    ProtobufOptions(),
    ProtobufOptions(flatten_unions=True, unwrap=False, enums_as_numbers=True),
    ProtobufOptions(optional_for_proto2=False, union_index=False, optional_for_nullables=True),
    ProtobufOptions(apicurio=True),
)


def decode(decoder: MessageDecoder, values: list[bytes]) -> ProtobufColumn:
    buffer = packed(values)
    return decoder.decode(buffer.data, buffer.starts, buffer.ends)


def rows(column: ProtobufColumn) -> dict[int, str]:
    """Return each row as a text, which tells 0.0 from -0.0."""
    column.values.validate(full=True)
    return {row: repr(value) for row, value in zip(column.rows.tolist(), column.values.to_pylist(), strict=True)}


def damaged(random: Random, value: bytes) -> bytes:
    """Cut a message, or change some of it."""
    at = random.randrange(len(value) + 1)
    return random.choice([value[:at], value[:at] + random.randbytes(1) + value[at + 1 :], value + random.randbytes(2)])


def is_lenient(value: bytes) -> bool:
    """Whether a message may have what ptars, and partly Java, pass over and the other way refuses.

    That is a group of an unknown field with another end, and a tag of more bytes than a number of 32 bits needs.
    """
    has_long_number = any(all(byte > 127 for byte in value[at : at + 5]) for at in range(len(value) - 5))
    return has_long_number or any(byte & 7 == 4 for byte in value)


def made(seed: int, message: str = "R") -> tuple[Random, Any, MessageDecoder, MessageDecoder]:
    random = Random(seed)
    file = complete(Schemas(random, random.choice(("proto3", "proto3", "proto2"))).file())
    described = file_of(registered(encoded(file))).message_types_by_name[message]
    options = random.choice(OPTIONS)
    alone = MessageDecoder(described, options)
    alone._reader = None
    return random, message_class(file), MessageDecoder(described, options), alone


@pytest.mark.quick
def test_messages_are_the_same_read_as_columns_or_alone() -> None:
    fast = 0
    for seed in range(SEEDS):
        random, of, together, alone = made(seed)
        messages = Messages(random, of)
        values = [messages.bytes() for _ in range(40)]
        values += [damaged(random, messages.bytes()) for _ in range(20)]
        column, expected = decode(together, values), decode(alone, values)
        found, wanted = rows(column), rows(expected)
        more = set(found) - set(wanted)
        assert all(is_lenient(values[row]) for row in more), seed
        assert {row: text for row, text in found.items() if row not in more} == wanted, seed
        assert set(found) | {row for row, _ in column.bad} == set(range(len(values)))
        assert expected.fast_rows == 0
        fast += column.fast_rows
    assert fast > SEEDS * 30


@pytest.mark.quick
def test_results_do_not_depend_on_chunks() -> None:
    for seed in range(20):
        random, of, together, _ = made(seed)
        messages = Messages(random, of)
        values = [random.choice([one, damaged(random, one)]) for one in (messages.bytes() for _ in range(60))]
        whole = decode(together, values)
        together._chunk = random.choice((1, 2, 7))
        parts = decode(together, values)
        assert (rows(parts), parts.bad) == (rows(whole), whole.bad), seed


@pytest.mark.quick
def test_many_bad_messages_cost_one_conversion() -> None:
    random, of, together, _ = made(3)
    values = [b"\x08" if number % 50 == 7 else Messages(random, of).bytes() for number in range(2000)]
    calls, convert = [], together._convert

    def counted(wire: Any, owners: Any, notes: Any) -> Any:
        calls.append(len(wire))
        return convert(wire, owners, notes)

    together._convert = counted
    column = decode(together, values)
    assert [row for row, _ in column.bad if values[row] == b"\x08"] == list(range(7, 2000, 50))
    assert calls[0] > 1900
    assert len(calls) <= 3, "one for all that are read as columns, one for each 512 that are read alone"
