"""The FastAPI app that Airflow's API server mounts under ``/connect``: the base URL for tools of Kafka Connect."""

from __future__ import annotations

import os

from fastapi import Depends, FastAPI

from floe.api.access import caller
from floe.api.connect.access import no_cookie
from floe.api.connect.http import HeadCalls, PlainPaths, add_error_answers, error_answer
from floe.api.connect.routes import connectors, offsets, plugins, states, worker
from floe.api.middleware import UnexpectedErrors
from floe.config.secrets.mask import learn_environment


def create_app() -> FastAPI:
    """Make the app. Each of its routes asks who calls."""
    learn_environment(os.environ)
    app = FastAPI(
        title="floe as Kafka Connect",
        dependencies=[Depends(no_cookie), Depends(caller)],
        openapi_url=None,  # it would be answered without asking who calls
        redirect_slashes=False,  # likewise
    )
    add_error_answers(app)
    app.add_middleware(PlainPaths)
    app.add_middleware(HeadCalls)
    app.add_middleware(UnexpectedErrors, answer=error_answer)  # the last one is called first
    for module in (worker, connectors, states, offsets, plugins):
        app.include_router(module.router)
    return app
