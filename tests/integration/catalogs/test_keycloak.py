"""A login at Keycloak for a REST catalog whose server asks Keycloak about each token."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from floe.catalogs.client import CatalogClient
from floe.catalogs.exceptions import CatalogLoginRefused
from stack.progress import wait_until
from stack.services.rest_catalog import RestCatalog
from tests.support.rest.keycloak import CLIENT_ID, CLIENT_SECRET, Keycloak
from tests.support.rest.strict_front import Headers
from tests.support.rest.strict_lake import StrictLake
from tests.support.tables.lake import SCHEMA, TABLE, expected
from tests.support.tables.slices import write_slice

pytestmark = pytest.mark.full


@pytest.fixture
def lake(rest_catalog: RestCatalog, keycloak: Keycloak, tmp_path: Path) -> Iterator[StrictLake]:
    made = StrictLake(tmp_path, server=rest_catalog)
    yield made
    made.close()


def use(lake: StrictLake, keycloak: Keycloak, *, secret: str = CLIENT_SECRET) -> list[str]:
    """Log in at Keycloak; return the list that will have every token the catalog got."""
    tokens: list[str] = []

    def admit(_method: str, _path: str, headers: Headers, _body: bytes) -> tuple[int, str]:
        token = headers.get("authorization", "").removeprefix("Bearer ")
        tokens.append(token)
        return (200, "") if keycloak.is_active(token) else (401, "the token is not active")

    lake.front.admit = admit
    lake.login = {
        "iceberg.catalog.oauth2-server-uri": keycloak.token_address,
        "iceberg.catalog.credential": f"{CLIENT_ID}:{secret}",
        "iceberg.catalog.scope": "profile",
    }
    return tokens


def test_login_at_keycloak_outlives_its_tokens(lake: StrictLake, keycloak: Keycloak) -> None:
    tokens = use(lake, keycloak)
    client = lake.catalog()
    lake.tables(client).create(TABLE, SCHEMA)
    for number in range(3):
        written = write_slice(lake, (0, 5 * number, 5 * number + 5), plan_id=f"plan-{number}")
        last = tokens[-1]
        assert wait_until(lambda last=last: not keycloak.is_active(last), 30)  # type: ignore[misc]
        written.land(client)
    assert lake.rows() == expected((0, 15))
    assert len(set(tokens)) >= 4


def test_wrong_secret_at_keycloak_is_refused(lake: StrictLake, keycloak: Keycloak) -> None:
    use(lake, keycloak, secret="another-secret-1")
    with pytest.raises(
        CatalogLoginRefused, match=r"refuses iceberg\.catalog\.credential \(unauthorized_client"
    ) as caught:
        CatalogClient.of(lake.connector())
    assert "another-secret" not in str(caught.value)
