"""Keys of Java's REST catalog in connector files: what is taken, has no effect, or is refused by name."""

import json
import re

import pytest

from floe.config import parse_connector, read_connector
from floe.config.catalogs.base import KeyStatus
from floe.config.catalogs.rest import AUTH_TYPES, REST
from floe.config.check import report
from floe.config.connector_files import read_file
from floe.config.worker_file import VARIABLE
from tests.support.connectors import JSON, MINIMAL
from tests.support.repository import ROOT

START = "iceberg.catalog."
UNITY = ROOT / "dags" / "connectors" / "examples" / "unity.json"
PAGES = ROOT / "docs" / "reference" / "catalogs"
VALUES = {
    "rest.auth.type": "oauth2",
    "rest.auth.sigv4.delegate-auth-type": "none",
    "rest.sigv4-enabled": "true",
    "s3.remote-signing-enabled": "false",
    "token-refresh-enabled": "false",
}
OF_JAVA = """uri
warehouse prefix token credential oauth2-server-uri scope audience resource token-expires-in-ms token-refresh-enabled
token-exchange-enabled rest.auth.type rest.auth.basic.username rest.auth.basic.password rest.auth.sigv4.delegate-auth-type
rest.sigv4-enabled rest.signing-region rest.signing-name rest.access-key-id rest.secret-access-key rest.session-token
header.X-Own rest-metrics-reporting-enabled view-endpoints-supported rest-page-size namespace-separator scan-planning-mode
rest-table-cache.max-entries rest-table-cache.expire-after-write-ms rest-scan-planning.poll-timeout-ms auth.session-timeout-ms
rest.client.max-retries rest.client.max-connections rest.client.connections-per-route rest.client.proxy.hostname
rest.client.proxy.port rest.client.proxy.username rest.client.proxy.password rest.client.user-agent
rest.client.connection-timeout-ms rest.client.socket-timeout-ms metrics-reporter-impl cache-enabled cache.case-sensitive
cache.expiration-interval-ms io.manifest.cache-enabled clients client.pool.cache.eviction-interval-ms client-pool-cache-keys
http-client.type http-client.apache.max-connections s3.endpoint client.region app-name"""
"""Of RESTCatalogProperties, OAuth2Properties, AuthProperties, HTTPClient, CatalogProperties of Iceberg 1.11."""


def rest(**keys: object) -> dict[str, object]:
    named = {f"{START}{key}": value for key, value in {"type": "rest", "uri": "http://h/x", **keys}.items()}
    return {**MINIMAL, **named}


@pytest.mark.parametrize("key", OF_JAVA.split())
def test_key_of_javas_client_passes_as_it_is(key):
    number = re.search(r"-ms$|max-|port$|page-size", key)
    made = parse_connector(rest(**{key: VALUES.get(key, "4000" if number else "x")}))
    row = next((row for row in REST.keys if row.name == key), None)
    assert made.catalog.for_spark()[key] == VALUES.get(key, "4000" if number else "x")
    if row is not None:
        assert (key in made.catalog.for_pyiceberg()) == (row.status is KeyStatus.TAKEN)


def test_keys_without_effect_say_why():
    made = parse_connector(rest(**{"cache-enabled": "false", "http-client.type": "apache"}))
    assert made.warnings == (
        "iceberg.catalog.cache-enabled has no effect: floe asks the catalog each time",
        "iceberg.catalog.http-client.type has no effect: it is for the HTTP client of Java's AWS SDK",
    )


@pytest.mark.parametrize("value", [*AUTH_TYPES, *AUTH_TYPES.values(), "OAuth2"])
def test_login_is_named_or_of_javas_class(value):
    assert parse_connector(rest(**{"rest.auth.type": value})).warnings == ()


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"rest.auth.type": "com.example.OwnManager"}, "'com.example.OwnManager' is not supported: set none, basic"),
        ({"rest.auth.sigv4.delegate-auth-type": "saml"}, "'saml' is not supported"),
        ({"token": "canary\nX-Evil: 1"}, "token has a line break"),
        ({"header.X-Own": "a\r\nX-Evil: 1"}, "X-Own has a line break"),
        ({"header.X-Iceberg-Access-Delegation": "remote-signing"}, "takes vended credentials only"),
        ({"header.x-iceberg-access-delegation": "vended-credentials,remote-signing"}, "takes vended credentials only"),
        ({"snapshot-loading-mode": "refs"}, "looks for its own commits among all snapshots"),
        ({"s3.remote-signing-enabled": "true"}, "remote signing is not supported"),
        ({"s3.signer": "S3V4RestSigner"}, "remote signing is not supported"),
        ({"s3.signer.uri": "http://h"}, "remote signing is not supported"),
        ({"signer.endpoint": "v1/sign"}, "remote signing is not supported"),
        ({"rest.client.tls.configurer-impl": "a.B"}, "set REQUESTS_CA_BUNDLE"),
        ({"table-default.format-version": "2"}, r"set iceberg\.tables\.auto-create-props"),
        ({"encryption.kms-type": "aws"}, "no encrypted tables"),
        ({"rest.client.max-retries": "-1"}, "is no whole number"),
        ({"token-refresh-enabled": "yes"}, "is no flag"),
        ({"rest.auth.impl": "a.B"}, "no setting of PyIceberg"),
    ],
)  # fmt: skip
def test_key_that_cannot_be_taken_is_refused_by_name(problems, keys, text):
    (problem,) = problems({**rest(**keys)})
    assert problem.startswith(START) and re.search(text, problem)
    assert "canary" not in problem


# -- what is documented ------------------------------------------------------------------------------------------------


def test_example_of_unity_is_the_documentations_block(tmp_path, monkeypatch):
    worker = tmp_path / "connect.properties"
    worker.write_text("".join(f"{key}={value}\n" for key, value in JSON.items()))
    monkeypatch.setenv(VARIABLE, str(worker))
    text = UNITY.read_text()
    assert text.count('"iceberg.catalog.token"') == 2
    with pytest.raises(Exception, match="<topic_name>"):
        read_connector(UNITY)
    for placeholder, name in {
        "<topic_name>": "events",
        "<uc_schema.tablename>": "sales.events",
        "<service>": "canary-first",
        "<databricks_workspace_url>": "https://workspace.example",
        "<workspace-url>": "https://workspace.example",
        "<service_principal_pat_token>": "canary-second",
        "<uc_catalog_name>": "main",
    }.items():
        text = text.replace(placeholder, name)
    path = tmp_path / "unity.json"
    path.write_text(text)
    file = read_file(path)
    assert file.connector is not None
    made = file.connector
    assert made.tables == ("sales.events",)
    assert made.catalog.for_pyiceberg() == {
        "type": "rest",
        "uri": "https://workspace.example/api/2.1/unity-catalog/iceberg-rest",
        "oauth2-server-uri": "https://workspace.example/oidc/v1/token",
        "token": "canary-second",
        "warehouse": "main",
    }
    assert [warning[:47] for warning in made.warnings] == ["the key 'iceberg.catalog.token' is given twice "]
    assert "canary" not in report(file)


@pytest.mark.parametrize("page", ["rest.md", "unity.md"])
def test_connector_of_the_page_is_valid(page):
    (text,) = re.findall(r"^```\n(\{\n.*?)^```", (PAGES / page).read_text(), re.MULTILINE | re.DOTALL)
    made = parse_connector(json.loads(re.sub(r"\$\{env:\w+\}", "id:secret-of-it", text)))
    assert made.warnings == ()
    assert made.catalog.type == "rest"


def test_page_names_every_key_of_the_table():
    text = (PAGES / "rest.md").read_text()
    rows = [row.name for row in REST.keys if not row.name.startswith(("s3.signer", "signer", "rest.client.proxy"))]
    assert [name for name in rows if f"`{name}`" not in text] == []
