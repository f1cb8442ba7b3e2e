"""The FastAPI app that Airflow's API server mounts under ``/floe``: floe's page, what it shows, and metrics."""

from __future__ import annotations

from fastapi import Depends, FastAPI

from floe.api import metrics, page_files, view
from floe.api.answer_headers import AnswerHeaders
from floe.api.identity import caller


def create_app() -> FastAPI:
    """Make the app. Each of its routes asks who calls: a router that is added here needs not ask again."""
    app = FastAPI(
        title="floe",
        dependencies=[Depends(caller)],
        openapi_url=None,  # it would be answered without asking who calls
        redirect_slashes=False,  # likewise
    )
    app.add_middleware(AnswerHeaders)
    for module in (page_files, view, metrics):
        app.include_router(module.router)
    return app
