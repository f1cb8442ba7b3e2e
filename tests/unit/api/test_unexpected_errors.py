"""An error of floe's own in the API server is answered and logged, and no secret goes with it."""

from __future__ import annotations

import logging

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from floe.api import app as page
from floe.api.access import caller
from floe.api.connect import app as connect
from floe.config.secrets.mask import learn

SECRET = "zq7-canary-of-an-error"


@pytest.mark.parametrize("module", [page, connect], ids=["page", "connect"])
def test_error_is_answered_and_logged_without_secrets(module: object, caplog: pytest.LogCaptureFixture) -> None:
    learn({"password": SECRET})
    app: FastAPI = module.create_app()  # type: ignore[attr-defined]
    app.dependency_overrides[caller] = lambda: None

    @app.get("/broken")
    def broken() -> None:
        message = f"could not log in with {SECRET}"
        raise OSError(message)

    with caplog.at_level(logging.ERROR):
        answer = TestClient(app).get("/broken")
    assert answer.status_code == 500
    assert "floe failed to answer (OSError): see the log of Airflow's API server" in answer.text
    assert "GET /broken failed:" in caplog.text and "could not log in with" in caplog.text
    assert SECRET not in caplog.text + answer.text
