"""One Airflow for the tests of Connect's API; each begins without connectors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.api.site import Site, airflow_site


@pytest.fixture(scope="module")
def started_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The site, with whatever is on it."""
    with airflow_site(tmp_path_factory.mktemp("site")) as one:
        yield one


@pytest.fixture
def site(started_site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """The site without connectors, on which the operator allows some."""
    monkeypatch.setenv("FLOE_REST_CONNECTORS", "true")
    monkeypatch.setenv("FLOE_REST_HOSTS", "catalog.example:8181,s3://lake")
    monkeypatch.setenv("FLOE_REST_CONNECTIONS", "lake_*")
    started_site.clear()
    return started_site
