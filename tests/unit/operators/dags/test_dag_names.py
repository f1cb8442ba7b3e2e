"""A connector may have any legal name, also that of something in the DAG file."""

import json
import runpy
from pathlib import Path

import pytest

from tests.support.connectors import MINIMAL
from tests.support.repository import ROOT

NAMES = ("sink_dags", "get_parsing_context", "plain", "Path")


def test_connectors_named_like_dag_file_names_become_dags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        (tmp_path / f"{name}.json").write_text(json.dumps({**MINIMAL, "name": name}))
    monkeypatch.setenv("FLOE_CONNECTORS_DIR", str(tmp_path))
    found = runpy.run_path(str(ROOT / "dags" / "sink.py"))
    assert [found[name].dag_id for name in NAMES] == list(NAMES)
