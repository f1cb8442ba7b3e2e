"""A ledger in a table's properties: whole, in pieces, changed by hand; what is none of floe's is refused."""

import json
import random
import zlib
from base64 import b85encode
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from floe.exceptions import Terminal
from floe.model import ledger_codec
from floe.model.exceptions import LedgerUnreadable
from floe.model.holding import Holding, LogId
from floe.model.ledger import MAX_REPLAYS, MAX_SLICES, Anchor, Ledger
from floe.model.ledger_codec import (
    MAX_VALUE_LENGTH,
    ledger_names,
    property_name,
    read_properties,
    stale_properties,
    write_properties,
)
from floe.model.offsets import Intervals

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


NAME = "floe.ledger.connect-pizzas.main"


@pytest.fixture
def long_ledger() -> Callable[[int], Ledger]:
    """Make a ledger of many partitions that does not compress well."""

    def make(partitions: int) -> Ledger:
        rng = random.Random(7)
        holdings = {}
        for p in range(partitions):
            bounds = sorted(rng.sample(range(10**12), 8))
            held = Intervals.of(zip(bounds[::2], bounds[1::2], strict=True))
            log_id = LogId("pizzas", f"{rng.getrandbits(128):032x}", p)
            holdings[log_id] = Holding({"r": held}, bounds[-1], (bounds[0], f"{rng.getrandbits(256):064x}"))
        return Ledger("C1", holdings, ("replay-1/1", "replay-2/3"), Anchor(2**62, 9))

    return make


def test_a_short_ledger_is_one_readable_property(ledger: Callable[..., Ledger]) -> None:
    made = ledger((0, 5, 0, "r"), (9, 12, 6, "r"))
    properties = write_properties(NAME, made)
    assert list(properties) == [NAME]
    assert json.loads(properties[NAME])["logs"][0][:4] == ["pizzas", "T1", 0, {"r": [[0, 5], [9, 12]]}]
    assert read_properties(NAME, {**properties, "owner": "me"}) == made


def test_replays_survive_in_a_tables_properties(ledger: Callable[..., Ledger]) -> None:
    made = ledger((0, 5, 0, "r"))
    for number in range(MAX_REPLAYS):
        made = made.with_replay(f"{number:032x}", 3)
    properties = write_properties(NAME, made)
    assert read_properties(NAME, properties) == made
    assert max(map(len, properties.values())) <= MAX_VALUE_LENGTH


def test_an_empty_ledger_survives() -> None:
    assert read_properties(NAME, write_properties(NAME, Ledger("C1"))) == Ledger("C1")


@pytest.mark.parametrize("partitions", [1, 15, 40, 500])
def test_ledger_of_any_length_survives_in_hive_values(long_ledger: Callable[[int], Ledger], partitions: int) -> None:
    made = long_ledger(partitions)
    properties = write_properties(NAME, made)
    assert read_properties(NAME, properties) == made
    assert max(map(len, properties.values())) <= MAX_VALUE_LENGTH
    assert (len(properties) > 2) == (partitions >= 40)
    assert sorted(properties, key=len)[0] == NAME


def test_the_same_ledger_is_always_written_the_same(long_ledger: Callable[[int], Ledger]) -> None:
    made = long_ledger(50)
    turned = replace(made, holdings=dict(reversed(made.holdings.items())))
    assert write_properties(NAME, made) == write_properties(NAME, turned)


def test_a_table_of_dead_letters_remembers_its_last_slices(long_ledger: Callable[[int], Ledger]) -> None:
    made = long_ledger(1).with_slice("p1/0").with_slice("p1/1").with_slice("p1/0")
    assert made.slices == ("p1/1", "p1/0")
    assert read_properties(NAME, write_properties(NAME, made)) == made
    for i in range(MAX_SLICES):
        made = made.with_slice(f"p2/{i}")
    assert (len(made.slices), made.slices[0]) == (MAX_SLICES, "p2/0")


def test_pieces_of_a_longer_ledger_are_stale_once_it_is_short(
    long_ledger: Callable[[int], Ledger], ledger: Callable[..., Ledger]
) -> None:
    before = write_properties(NAME, long_ledger(500))
    middle = write_properties(NAME, long_ledger(100))
    after = write_properties(NAME, ledger((0, 5, 0, "r")))
    assert set(stale_properties(NAME, before, after)) == set(before) - {NAME}
    assert set(stale_properties(NAME, before, middle)) == set(before) - set(middle)
    assert stale_properties(NAME, middle, before) == []


def test_ledgers_of_similar_names_are_not_stale_pieces(
    ledger: Callable[..., Ledger],
) -> None:
    others = {
        property_name("connect-pizzas", branch): "{}"
        for branch in ("main/audit", "main-2", "main/7", "main/audit/0", "m")
    }
    assert stale_properties(NAME, others, write_properties(NAME, ledger((0, 5, 0, "r")))) == []


def test_a_table_without_the_property_has_no_ledger() -> None:
    assert read_properties(NAME, {"floe.ledger.connect-other.main": "{}", f"{NAME}/0": "x"}) is None


@pytest.mark.parametrize(
    "value",
    [
        "",
        "null",
        "5",
        "[]",
        '"text"',
        "{",
        "{}",
        '{"floe":2}',
        '{"floe":1}',
        '{"floe":1,"cluster":"C1","logs":[["t","T1"]],"replays":[],"anchor":null}',
        '{"floe":1,"cluster":"C1","logs":[["t","T1",0,{"r":[[1]]},5,null]],"replays":[],"anchor":null}',
        '{"floe":1,"cluster":"C1","logs":[["t","T1",0,{},"soon",null]],"replays":[],"anchor":null}',
        '{"floe":1,"cluster":"C1","logs":[["t","T1",0,{},5,[1]]],"replays":[],"anchor":null}',
        '{"floe":1,"cluster":"C1","logs":[],"replays":[],"anchor":[1]}',
        '{"floe":1,"pieces":1}',
        '{"floe":1,"pieces":Infinity}',
        '{"floe":1,"pieces":0}',
    ],
)
def test_property_changed_by_hand_is_refused_with_recovery(value: str) -> None:
    with pytest.raises(LedgerUnreadable, match="connect-pizzas") as caught:
        read_properties(NAME, {NAME: value})
    assert isinstance(caught.value, Terminal)


@pytest.mark.parametrize("spoil", [lambda part: part[:-9], lambda part: "~" + part[1:], lambda _: " "])
def test_a_spoilt_or_missing_piece_is_refused_with_the_way_back(
    long_ledger: Callable[[int], Ledger], spoil: Callable[[str], str]
) -> None:
    properties = write_properties(NAME, long_ledger(100))
    assert f"{NAME}/1" in properties
    with pytest.raises(LedgerUnreadable, match="metadata log"):
        read_properties(NAME, {**properties, f"{NAME}/1": spoil(properties[f"{NAME}/1"])})
    del properties[f"{NAME}/1"]
    with pytest.raises(LedgerUnreadable, match="metadata log"):
        read_properties(NAME, properties)
