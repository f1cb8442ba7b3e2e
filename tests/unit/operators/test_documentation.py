"""Where floe's documentation is."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from floe.config import parse_connector
from floe.config.exceptions import OverrideRefused
from floe.model.exceptions import PlanRefused
from floe.operators.dags.replay_dag import replay_dag
from floe.operators.dags.sink_dag import sink_dag
from floe.operators.documentation import VARIABLE, address, explained, linked
from floe.operators.exceptions import ParamsRefused
from floe.operators.failures import OF_PARAMS, say_failure
from tests.support.connectors import MINIMAL

BASE = "https://git.example.com/data/floe/blob/main/docs"


def said(error: Exception, caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the short lines at the end of a failed task's log."""
    context: Any = {"exception": error}
    with caplog.at_level(logging.ERROR, "floe.operators.failures"):
        say_failure(context)
    return [record.message for record in caplog.records if record.levelno == logging.ERROR]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (BASE, BASE),
        (f" {BASE}// ", BASE),
        ("http://docs.local:8000", "http://docs.local:8000"),
        ("", None),
        ("docs", None),
        ("ftp://x/docs", None),
        ("javascript:alert(1)", None),
        ("https://user:secret@x/docs", None),
        ("https://x/docs?token=1", None),
        ("https://x/do cs", None),
        ("https://x/docs\n\x1b[31m", None),
        ("https://[x", None),
    ],
)
def test_address_is_of_the_web_and_without_secrets(given: str, found: str | None) -> None:
    assert address({VARIABLE: given}) == found


def test_pages_are_named_without_an_address_and_linked_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "see docs/how-to/deploy.md, “The deployment key”, or /docs/a.md and mydocs/b.md"
    monkeypatch.delenv(VARIABLE, raising=False)
    assert (linked(text), explained("FLOE-501")) == (text, "See FLOE-501 in docs/troubleshooting.md.")
    monkeypatch.setenv(VARIABLE, BASE)
    assert linked(text) == text.replace("docs/how-to", f"{BASE}/how-to", 1)
    assert explained("FLOE-501") == f"See {BASE}/troubleshooting.md#FLOE-501"


def test_log_of_a_failed_task_ends_with_links(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(VARIABLE, BASE)
    lines = said(PlanRefused("one: two. See docs/how-to/recover.md first", code="FLOE-216").for_people(), caplog)
    assert lines[-1] == f"See {BASE}/troubleshooting.md#FLOE-216"
    assert f"{BASE}/how-to/recover.md" in lines[-2]


def test_docs_of_dags_and_forms_lead_to_the_documentation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, BASE)
    connector = parse_connector(MINIMAL)
    for dag in (sink_dag(connector), replay_dag(connector)):
        assert f"[docs/troubleshooting.md]({BASE}/troubleshooting.md)" in (dag.doc_md or "")
    assert f"{BASE}/reference/configuration.md" in str(sink_dag(connector).params.get_param("config").schema)


@pytest.mark.parametrize(
    "error",
    [
        ParamsRefused("param drop_backlog is 'x': 'x' is not of type 'array'. Nothing was read or created."),
        OverrideRefused("unknown key 'task.max'", "unknown key 'x'").located("param config"),
        PlanRefused(
            "skip_to names 'payments', which the connector does not read. Nothing was skipped", code="FLOE-112"
        ),
        PlanRefused("from_time '2026-13-01' is no time", code="FLOE-301"),
    ],
)
def test_error_of_a_parameter_does_not_advise_to_clear_the_run(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    text = " ".join(said(error.for_people(), caplog))  # type: ignore[attr-defined]
    assert "Trigger the DAG again with other parameters" in text
    assert "Then clear this task" not in text


def test_codes_of_parameters_are_explained_as_such() -> None:
    assert {ParamsRefused.code, OverrideRefused.code} <= OF_PARAMS
