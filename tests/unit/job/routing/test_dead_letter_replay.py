"""What a redrive hands to which table: dead letters of a table to that one, those of none are routed, others filtered."""

from __future__ import annotations

from typing import Any

from floe.config.sections.routing import Routing
from floe.config.sections.tables import TableSettings
from floe.model.dead_letters import DeadLetterOffsets
from floe.model.holding import LogId
from floe.model.offsets import Intervals
from floe_job.contract.task import RouteRules
from floe_job.routing.destinations import Routed
from floe_job.routing.router import Router
from tests.support.job.converters import JSON_CONVERTERS
from tests.support.kafka.messages import OTHER_PIECE, PIECE, RANGE, records

LOG = LogId.of(RANGE)
VALUES = [b'{"to":"a"}', b'{"to":"b"}', b'{"to":"c"}', b"no json", b"{}", b'{"to":"ab"}']


def routed(dead_letters: dict[str | None, tuple[int, ...]], **rules: Any) -> Routed:
    """Route six records of the offsets 0 to 5, of which some have letters."""
    offsets = DeadLetterOffsets.of(
        (t, LOG, Intervals.of((o, o + 1) for o in found)) for t, found in dead_letters.items()
    )
    tables = tuple((f"db.{t}", TableSettings(route_regex=f".*{t}.*")) for t in "ab")
    routing = Routing("field", ("to",), on_unroutable="dead-letter")
    router = Router(
        RouteRules(routing, tables, redriven=offsets, **rules), {"db.a": None, "db.b": None}, JSON_CONVERTERS
    )
    return router.route(records(PIECE, VALUES))


def placed(found: Routed) -> dict[str, list[int]]:
    return {table: list(one.offsets) for table, one in found.tables.items()}


def test_dead_letters_of_a_table_go_there_whatever_the_route() -> None:
    found = routed({"db.a": (1, 3), "db.b": (3,)})
    assert placed(found) == {"db.a": [1, 3], "db.b": [3]}
    assert (found.reached, found.filtered, found.malformed, found.unroutable) == (2, 4, [], [])


def test_dead_letters_of_no_table_are_routed_in_their_place() -> None:
    found = routed({None: (1, 2, 3, 4)})
    assert placed(found) == {"db.b": [1]}
    assert ([one.index for one in found.malformed], [one.index for one in found.unroutable]) == ([3], [4])
    assert (found.reached, found.filtered) == (1, 3)


def test_record_with_both_kinds_comes_once_to_a_table() -> None:
    found = routed({None: (3, 5), "db.a": (3, 5)})
    assert placed(found) == {"db.a": [3, 5], "db.b": [5]}
    assert (found.reached, found.filtered, found.malformed) == (2, 4, [])


def test_records_of_another_partition_are_no_business_of_it() -> None:
    dead_letters = DeadLetterOffsets.of([("db.a", LOG, Intervals(((0, 6),)))])
    router = Router(RouteRules(Routing(), redriven=dead_letters), {"db.a": None}, JSON_CONVERTERS)
    found = router.route(records(OTHER_PIECE, VALUES))
    assert (found.tables, found.filtered) == ({}, len(VALUES))


def test_table_that_cannot_be_created_keeps_its_dead_letters() -> None:
    found = routed({"db.gone": (0,)}, closed="does not exist")
    assert (found.tables, found.filtered, found.unroutable) == ({}, 6, [])
