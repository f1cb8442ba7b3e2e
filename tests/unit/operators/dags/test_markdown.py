"""What connector files say is shown as it is: in DAG docs, descriptions and the last lines of a log."""

from __future__ import annotations

from typing import Any

import pytest

from floe.config import parse_connector
from floe.operators.dags.forms import markdown, readable
from floe.operators.dags.replay_dag import replay_dag
from floe.operators.dags.sink_dag import sink_dag
from floe.operators.failures import WIDTH, short_lines
from tests.support.connectors import JSON

KEYS: dict[str, Any] = {"name": "pizzas", "iceberg.catalog.type": "sql", **JSON}


def test_docs_of_a_good_connector_show_what_it_says() -> None:
    table = "db.<img src=x onerror=alert(1)>[a](http:evil)**"
    keys = {**KEYS, "topics.regex": "a_.*|b_[*](//x)", "iceberg.tables": table, "confluent.`<b>`.*x*": "1"}
    connector = parse_connector(keys)
    for dag in (sink_dag(connector), replay_dag(connector)):
        doc = dag.doc_md or ""
        assert r"db.\<img src=x onerror=alert(1)\>\[a\](http:evil)\*\*" in doc
        assert r"a\_.\*\|b\_\[\*\](//x)" in doc
        assert "<img" not in doc.replace(r"\<", "")
    assert r"confluent.\`\<b\>\`.\*x\*" in (sink_dag(connector).doc_md or "")


@pytest.mark.parametrize("text", ["a\x1b[2Kb", "a\u202eb", "a\udcffb", "a\x00b", "a\u2028b\r\nc", "\x07"])
def test_no_text_moves_the_cursor_or_ends_a_line(text: str) -> None:
    for shown in (readable(text), markdown(text), *short_lines(f"Topic {text!s} is wrong: {text}. Drop {text}.")):
        assert shown.isprintable() and shown.encode()
        assert len(shown) <= WIDTH
