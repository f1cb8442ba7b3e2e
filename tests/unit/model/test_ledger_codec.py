"""Ledgers as tables keep them: what is none of floe's is refused, whatever it looks like."""

import json
import zlib
from base64 import b85encode
from typing import Any

import pytest

from floe.model import ledger_codec
from floe.model.exceptions import LedgerUnreadable
from floe.model.ledger_codec import ledger_names, read_properties

FIELDS: dict[str, Any] = {
    "floe": 1,
    "cluster": "c",
    "logs": [["t", "i", 0, {"r": [[0, 5]]}, 5, [0, "{}"]]],
    "replays": ["0/1"],
    "anchor": [1, 1],
}
JUNK = {
    "deep": "[" * 100_000,
    "replays of numbers": json.dumps({**FIELDS, "replays": [1]}),
    "replays of lists": json.dumps({**FIELDS, "replays": [[]]}),
    "replays without a number": json.dumps({**FIELDS, "replays": ["a"]}),
    "negative offsets": json.dumps({**FIELDS, "logs": [["t", "i", 0, {"r": [[-5, 5]]}, 5, None]]}),
    "endless numbers": json.dumps({**FIELDS, "logs": [["t", "i", 0, {"r": [[0, 1e400]]}, 5, None]]}),
    "pieces that are none": '{"pieces":1e400}',
    "pieces that are missing": '{"floe":1,"pieces":1000000000000}',
}


@pytest.mark.parametrize("text", JUNK.values(), ids=JUNK)
def test_a_property_that_is_no_ledger_is_refused(text):
    with pytest.raises(LedgerUnreadable):
        read_properties("x", {"x": text})
    assert ledger_names({"floe.ledger.x": text}) == ["floe.ledger.x"]


def test_a_packed_ledger_is_read_up_to_a_limit(monkeypatch):
    packed = b85encode(zlib.compress(json.dumps(FIELDS).encode())).decode()
    properties = {"x": '{"floe":1,"pieces":1}', "x/0": packed}
    assert read_properties("x", properties) == read_properties("x", {"x": json.dumps(FIELDS)})
    monkeypatch.setattr(ledger_codec, "MAX_BYTES", 20)
    with pytest.raises(LedgerUnreadable, match="more than 20 bytes"):
        read_properties("x", properties)
