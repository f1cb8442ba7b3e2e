"""The FastAPI app that Airflow's API server mounts under ``/floe``: floe's page, what it shows, and metrics."""

from __future__ import annotations

import os

from fastapi import Depends, FastAPI
from fastapi.responses import JSONResponse

from floe.api import metrics, page_files, view
from floe.api.access import caller
from floe.api.middleware import AnswerHeaders, UnexpectedErrors
from floe.config.secrets.mask import learn_environment


def create_app() -> FastAPI:
    """Make the app. Each of its routes asks who calls: a router that is added here needs not ask again."""
    learn_environment(os.environ)
    app = FastAPI(
        title="floe",
        dependencies=[Depends(caller)],
        openapi_url=None,  # it would be answered without asking who calls
        redirect_slashes=False,  # likewise
    )
    app.add_middleware(UnexpectedErrors, answer=_error)
    app.add_middleware(AnswerHeaders)  # the last one is called first
    for module in (page_files, view, metrics):
        app.include_router(module.router)
    return app


def _error(status: int, message: str) -> JSONResponse:
    return JSONResponse({"detail": message}, status)
