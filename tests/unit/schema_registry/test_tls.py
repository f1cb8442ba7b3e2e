"""TLS with a registry: whom the client trusts, and how it identifies itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from floe.schema_registry.client import SchemaRegistry
from floe.schema_registry.exceptions import RegistryMisconfigured, RegistryUnreachable
from tests.support.registry.certificates import Authority
from tests.support.registry.double import Reply, as_json, schema, serving
from tests.support.registry.settings import settings


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def ask(url: str, **options: str) -> None:
    SchemaRegistry(settings(url, max_retries="0", **options)).schema(1)


def test_given_authority_is_trusted(authority: Authority) -> None:
    with serving(schema(), authority.server_context()) as double:
        ask(double.url, schema_registry_ssl_truststore_location=str(authority.file))
        ask(double.url, schema_registry_ssl_truststore_certificates=authority.file.read_text().replace("\n", "\\n"))


def test_unknown_authority_is_refused(authority: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path, "other")
    with serving(schema(), authority.server_context()) as double:
        for options in ({}, {"ssl_ca_location": str(other.file)}):
            with pytest.raises(RegistryMisconfigured, match=r"is not trusted.*truststore"):
                ask(double.url, **options)


def test_name_of_the_host_is_checked_unless_switched_off(authority: Authority) -> None:
    with serving(schema(), authority.server_context("registry.example")) as double:
        with pytest.raises(RegistryMisconfigured, match="not trusted"):
            ask(double.url, ssl_ca_location=str(authority.file))
        off = {"schema_registry_ssl_endpoint_identification_algorithm": ""}
        ask(double.url, ssl_ca_location=str(authority.file), **off)


def test_client_identifies_itself_by_files(authority: Authority) -> None:
    one = authority.issue("client")
    files = {"ssl_certificate_location": str(one.certificate), "ssl_key_location": str(one.key)}
    with serving(schema(), authority.server_context(needs_client=True)) as double:
        ask(double.url, ssl_ca_location=str(authority.file), **files)
        with pytest.raises((RegistryMisconfigured, RegistryUnreachable)):
            ask(double.url, ssl_ca_location=str(authority.file))


def test_client_identifies_itself_by_texts(authority: Authority) -> None:
    one = authority.issue("texts", password="geheim-123")
    texts = {
        "schema_registry_ssl_keystore_certificate_chain": one.certificate_text,
        "schema_registry_ssl_keystore_key": one.key_text,
        "schema_registry_ssl_key_password": "geheim-123",
    }
    with serving(schema(), authority.server_context(needs_client=True)) as double:
        ask(double.url, ssl_ca_location=str(authority.file), **texts)


@pytest.mark.parametrize(("password", "said"), [("", "the key is encrypted"), ("wrong", "cannot be used")])
def test_encrypted_key_needs_its_password(authority: Authority, password: str, said: str) -> None:
    one = authority.issue("locked", password="geheim-123")
    files = {"ssl_certificate_location": str(one.certificate), "ssl_key_location": str(one.key)}
    with pytest.raises(RegistryMisconfigured, match=said):
        ask("https://127.0.0.1:1", ssl_key_password=password, **files)


@pytest.mark.parametrize("content", [None, b"", b"no certificate"])
def test_unreadable_authority_is_named(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(RegistryMisconfigured, match=r"ca\.pem' cannot be read"):
        ask("https://127.0.0.1:1", ssl_ca_location=str(file))


def test_https_to_a_server_without_tls_is_named() -> None:
    with serving(schema()) as double, pytest.raises(RegistryMisconfigured, match="TLS with"):
        ask(double.url.replace("http:", "https:"))


def test_tls_goes_through_a_proxy(authority: Authority) -> None:
    with serving(schema(), authority.server_context()) as double, serving(Reply(500)) as proxy:
        ask(double.url, ssl_ca_location=str(authority.file), proxy_host="127.0.0.1", proxy_port=str(proxy.port))
        assert [request.method for request in proxy.requests] == ["CONNECT"]
        assert double.paths == ["/schemas/ids/1"]


def test_server_of_tokens_gets_no_certificate_of_the_client(authority: Authority) -> None:
    one = authority.issue("client-of-tokens")
    options = {
        "ssl_ca_location": str(authority.file),
        "ssl_certificate_location": str(one.certificate),
        "ssl_key_location": str(one.key),
        "bearer_auth_credentials_source": "OAUTHBEARER",
        "bearer_auth_client_id": "floe",
        "bearer_auth_client_secret": "geheim-123",
    }
    token = as_json({"access_token": "abc"})
    with serving(schema(), authority.server_context(needs_client=True)) as double:
        with serving(token, authority.server_context()) as login:
            ask(double.url, bearer_auth_issuer_endpoint_url=login.url, **options)
        with serving(token, authority.server_context(needs_client=True)) as login:
            with pytest.raises((RegistryMisconfigured, RegistryUnreachable)):
                ask(double.url, bearer_auth_issuer_endpoint_url=login.url, **options)
            assert login.requests == []
