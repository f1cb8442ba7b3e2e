"""Links from tasks to floe's page."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs

import pytest
from airflow.serialization.serialized_objects import DagSerialization

from floe.config import parse_connector
from floe.model.offsets import OffsetRange
from floe.model.plan import Plan, Slice, SliceKind
from floe.operators.dags.links import MAX_PARTITIONS, ConnectorLink, ReplayLink, connector_page, replay_page
from floe.operators.dags.replay_dag import replay_dag
from floe.operators.dags.sink_dag import sink_dag
from tests.support.connectors import MINIMAL

KEY: Any = None


def plan_of(*ranges: OffsetRange) -> Plan:
    slices = tuple(Slice(i, SliceKind.LIVE, (one,), ("rpc.pizzas",)) for i, one in enumerate(ranges))
    return Plan("p" * 32, "pizzas", "connect-pizzas", "C1", {}, "c", {}, (), slices)


def wanted(address: str) -> dict[str, str]:
    page, _, query = address.partition("?")
    assert page == "floe/page/#/connectors/pizzas/replay"
    return {name: values[0] for name, values in parse_qs(query).items()}


def test_both_dags_link_to_the_page_of_the_connector() -> None:
    one = parse_connector(MINIMAL)
    for dag in (sink_dag(one), replay_dag(one)):
        assert ConnectorLink().get_link(dag.get_task("plan"), ti_key=KEY) == "floe/page/#/connectors/pizzas"
        stored = DagSerialization.from_dict(DagSerialization.to_dict(dag))
        assert stored.get_task("plan").extra_links == ["Snapshots and control topic"]
        assert stored.get_task("commit").extra_links == ["Replay this range", "Snapshots and control topic"]


@pytest.mark.parametrize("name", ["a.b-c_d", "ü", "a b", "a/b?c#d", "<script>"])
def test_name_in_a_link_is_encoded(name: str) -> None:
    page = connector_page(f"{name}.replay")
    assert page.startswith("floe/page/#/connectors/")
    assert page.removeprefix("floe/page/#/connectors/").isascii()
    assert not set(page.removeprefix("floe/page/#/connectors/")) & set("/?#<> ")


def test_form_is_filled_with_what_was_committed() -> None:
    task = sink_dag(parse_connector(MINIMAL)).get_task("commit").prepare_for_execution()
    assert ReplayLink().get_link(task, ti_key=KEY) == "", "nothing was committed"
    task.committed = plan_of(OffsetRange("t", "id", 0, 5, 9), OffsetRange("t", "id", 1, 0, 3))  # type: ignore[attr-defined]
    found = wanted(ReplayLink().get_link(task, ti_key=KEY))
    assert found["topic"] == "t" and json.loads(found["ranges"]) == {"0": [5, 9], "1": [0, 3]}


def test_form_has_the_topic_with_the_most_offsets() -> None:
    few, many = OffsetRange("a&b", "id", 0, 0, 2), OffsetRange("c", "id", 7, 10, 50)
    found = wanted(replay_page(plan_of(few, many, OffsetRange("c", "id", 7, 50, 60))))
    assert found == {"topic": "c", "ranges": '{"7":[10,60]}'}


def test_link_of_too_many_partitions_names_none() -> None:
    ranges = [OffsetRange("t", "id", p, 0, 1) for p in range(MAX_PARTITIONS + 1)]
    assert wanted(replay_page(plan_of(*ranges))) == {"topic": "t"}
    assert replay_page(plan_of()) == "floe/page/#/connectors/pizzas/replay"


def test_docs_of_each_dag_lead_to_the_other_and_to_the_page() -> None:
    one = parse_connector({**MINIMAL, "name": "a_ü.b"})
    sink, replay = (dag.doc_md or "" for dag in (sink_dag(one), replay_dag(one)))
    assert "[`a_ü.b.replay`](dags/a_%C3%BC.b.replay)" in sink
    assert "[`a_ü.b`](dags/a_%C3%BC.b)" in replay
    assert all("[Its page](floe/page/#/connectors/a_%C3%BC.b)" in doc for doc in (sink, replay))
