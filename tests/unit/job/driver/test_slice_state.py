"""What a slice asks before it is read."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from floe.kafka.settings import KafkaSettings
from floe.model.plan import Plan
from floe.model.positions import PartitionBacklog, PositionMetadata
from floe_job.driver import inputs
from floe_job.driver.inputs import SliceState
from tests.support.tables.lake import CLUSTER, ROUTE, TABLE, TOPIC_ID, Lake
from tests.support.tables.slices import make_plan

DYNAMIC = {"iceberg.tables": "", "iceberg.tables.dynamic-enabled": "true", "iceberg.tables.route-field": "kind"}


def read(lake: Lake, plan: Plan, **keys: Any) -> SliceState:
    connector = lake.connector(**keys)
    settings = KafkaSettings.of(connector, {"bootstrap.servers": "127.0.0.1:1"})
    return SliceState.read(connector, settings, plan, plan.slices[0])


def test_slice_of_named_tables_asks_no_broker(lake: Lake) -> None:
    found = read(lake, make_plan((0, 0, 9)))
    assert (found.dead_letters, found.recent, found.is_limited) == (None, frozenset(), False)


def test_slice_of_unknown_tables_has_recent_and_behind_ones(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Mapping[int, int]] = []

    def recent(settings: KafkaSettings, topic: str, ends: Mapping[int, int], group_id: str) -> frozenset[str]:
        asked.append(ends)
        return frozenset({"rpc.recent", "rpc.letters"})

    monkeypatch.setattr(inputs, "recent_tables", recent)
    plan = make_plan((0, 0, 9), tables=(), backlogs={TABLE: PartitionBacklog(1, ROUTE)})
    found = read(lake, plan, **DYNAMIC)
    assert asked == [plan.control_ends]
    assert {"rpc.recent", TABLE} <= found.recent


def test_slice_after_a_write_that_took_too_long_is_limited(lake: Lake) -> None:
    plan = make_plan((0, 0, 9))
    metadata = PositionMetadata("routing", 0, TOPIC_ID, CLUSTER, limits={plan.slices[0].limit_name: 4}).encode()
    limited = replace(plan, positions=tuple(replace(p, metadata=metadata) for p in plan.positions))
    assert read(lake, limited).is_limited
