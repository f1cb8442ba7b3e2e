"""Batches decoded a piece at a time are what they are as a whole."""

from __future__ import annotations

import pytest

from floe_job.convert.envelope.decoder import EnvelopeDecoder, EnvelopeOptions, decode_in_pieces
from tests.support.job.formats.envelopes import envelope
from tests.support.kafka.messages import values_of

ONE, OTHER = [("id", "int64")], [("id", "int64"), ("note", "string")]


def record(number: int) -> bytes:
    if number % 7 == 3:
        return b"{" * number
    if number % 11 == 5:
        return b'{"schema":null,"payload":{"n":%d}}' % number
    return envelope(ONE, id=number) if number % 3 else envelope(OTHER, id=number, note="x" * number)


@pytest.mark.parametrize("size", [1, 7, 50, 99, 100])
def test_pieces_are_joined_to_what_the_batch_is(size: int) -> None:
    given = [record(number) for number in range(100)]
    decoder = EnvelopeDecoder(EnvelopeOptions())
    whole = decoder._decode(given)
    for values in (given, values_of(given)):
        found = decode_in_pieces(decoder._decode, values, 1, size)
        assert {p.schema: (p.places.tolist(), p.column.to_pylist()) for p in found.parts} == {
            p.schema: (p.places.tolist(), p.column.to_pylist()) for p in whole.parts
        }
        assert found.rejected == whole.rejected
        assert found.schemaless is not None
        assert whole.schemaless is not None
        assert found.schemaless.places.tolist() == whole.schemaless.places.tolist()
        assert found.schemaless.values == whole.schemaless.values
