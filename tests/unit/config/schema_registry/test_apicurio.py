"""Options of Apicurio's converters."""

import pytest

from floe.config.schema_registry.apicurio import read_apicurio
from floe.config.schema_registry.settings import OAuthClient, RegistryLogin, RegistrySettings, SchemaIdFormat
from floe.tls.store_file import StoreFile
from tests.support.registry.settings import Found, found_in

URL = "http://registry:8080"
REGISTRY = "apicurio.registry."


def read(url: str = URL, **options: str) -> Found:
    return found_in(read_apicurio, {"apicurio.registry.url": url, **options}, "value.converter.")


def taken(url: str = URL, **options: str) -> RegistrySettings:
    found = read(url, **options)
    assert found.problems == ()
    assert found.settings is not None
    return found.settings


@pytest.mark.parametrize(
    ("url", "used"),
    [
        (URL, f"{URL}/apis/registry/v2"),
        (f"{URL}/", f"{URL}/apis/registry/v2"),
        (f"{URL}/apis/registry/v2/", f"{URL}/apis/registry/v2"),
        (f"{URL}/apis/registry/v3", f"{URL}/apis/registry/v3"),
        (f"{URL}/below", f"{URL}/below/apis/registry/v2"),
    ],
)
def test_address_gets_the_path_of_the_api(url: str, used: str) -> None:
    assert [one.url for one in taken(url).addresses] == [used]


def test_address_of_confluents_api_is_a_problem() -> None:
    assert "ccompat" in read(f"{URL}/apis/ccompat/v7").problems[0]


def test_ids_are_those_of_version_two() -> None:
    assert taken().ids == SchemaIdFormat(8, "globalId", in_headers=True)


def test_ids_of_version_three_come_with_its_address() -> None:
    assert taken(f"{URL}/apis/registry/v3").ids == SchemaIdFormat(4, "contentId", in_headers=False)


@pytest.mark.parametrize(
    ("options", "nbytes"),
    [
        ({f"{REGISTRY}as-confluent": "true"}, 4),
        ({f"{REGISTRY}id-handler": "io.apicurio.registry.serde.Legacy4ByteIdHandler"}, 4),
        ({f"{REGISTRY}id-handler": "io.apicurio.registry.serde.DefaultIdHandler"}, 8),
        ({f"{REGISTRY}id-handler": "DefaultIdHandler", f"{REGISTRY}as-confluent": "TRUE"}, 4),
        ({f"{REGISTRY}id-handler": "${env:HANDLER}"}, 8),
    ],
)
def test_id_handler_says_the_bytes_of_ids(options: dict[str, str], nbytes: int) -> None:
    assert taken(**options).ids.nbytes == nbytes


def test_id_kind_and_headers_are_read() -> None:
    options = {f"{REGISTRY}use-id": "contentId", f"{REGISTRY}headers.enabled": "false"}
    options[f"{REGISTRY}headers.value.globalId.name"] = "my-id"
    ids = taken(**options).ids
    assert (ids.kind, ids.in_headers) == ("contentId", False)
    assert ids.header("value", "globalId") == "my-id"
    assert ids.header("key", "globalId") == "apicurio.key.globalId"
    assert ids.header("value", "contentId") == "apicurio.value.contentId"


@pytest.mark.parametrize("auth", ["apicurio.auth.", "apicurio.registry.auth."])
def test_authentication_is_read_by_both_spellings(auth: str) -> None:
    options = {f"{auth}service.token.endpoint": "http://login/token", f"{auth}client.id": "floe"}
    options |= {f"{auth}client.secret": "s", f"{auth}client.scope": "read"}
    key = f"{auth}client.secret"
    assert taken(**options).credentials == OAuthClient("http://login/token", "floe", "s", "read", key)
    login = {f"{auth}username": "me", f"{auth}password": "pw"}
    assert taken(**login).credentials == RegistryLogin("me", "pw", f"{auth}password")


def test_token_endpoint_is_made_from_the_realm() -> None:
    options = {"apicurio.auth.service.url": "http://login/", "apicurio.auth.realm": "main"}
    options |= {"apicurio.auth.client.id": "floe", "apicurio.auth.client.secret": "s"}
    found = taken(**options).credentials
    assert isinstance(found, OAuthClient)
    assert found.token_url == "http://login/realms/main/protocol/openid-connect/token"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"apicurio.auth.client.id": "floe", "apicurio.auth.client.secret": "s"}, "token.endpoint"),
        ({"apicurio.auth.service.token.endpoint": "http://login"}, "client.id"),
        ({"apicurio.auth.service.url": "http://login"}, "realm"),
        ({"apicurio.auth.username": "me"}, "password"),
        ({f"{REGISTRY}id-handler": "my.Handler"}, "DefaultIdHandler"),
        ({f"{REGISTRY}use-id": "id"}, "globalId or contentId"),
        ({f"{REGISTRY}headers.enabled": "maybe"}, "true or false"),
        ({f"{REGISTRY}tls.trust-all": "true"}, "name a truststore"),
        ({f"{REGISTRY}tls.certificates": "/a.pem,/b.pem"}, "put the certificates of all of them into one"),
        ({f"{REGISTRY}proxy.host": "proxy"}, "apicurio.registry.proxy.port: give both"),
        ({f"{REGISTRY}proxy.username": "me"}, "logs in to no proxy"),
        ({f"{REGISTRY}url.version": "1"}, "at least 2"),
        ({f"{REGISTRY}url": "http://registry:8080/api"}, "version 1"),
        ({f"{REGISTRY}request.ssl.truststore.type": "BCFKS"}, "JKS, PKCS12, PEM"),
    ],
)
def test_wrong_options_are_problems(options: dict[str, str], said: str) -> None:
    found = read(**options)
    assert found.settings is None
    assert any(said in problem for problem in found.problems), found.problems


@pytest.mark.parametrize("prefix", ["apicurio.registry.request.", "apicurio.rest.request."])
def test_tls_and_headers_are_read_by_both_spellings(prefix: str) -> None:
    found = taken(
        **{
            f"{prefix}ssl.truststore.location": "/ca.pem",
            f"{prefix}ssl.truststore.password": "pw",
            f"{prefix}ssl.keystore.location": "/client.pem",
            f"{prefix}ssl.key.password": "kp",
            f"{prefix}headers.X-Tenant": "a",
        }
    )
    assert found.tls.truststore == StoreFile("/ca.pem", "", f"value.converter.{prefix}ssl.truststore.location")
    assert found.tls.keystore == StoreFile("/client.pem", "", f"value.converter.{prefix}ssl.keystore.location")
    assert found.tls.key_password == "kp"
    assert found.headers == (("X-Tenant", "a"),)


def test_tls_options_of_version_3_are_read() -> None:
    store = {"truststore.location": "/t", "truststore.type": "P12", "truststore.password": "pw", "verify-host": "false"}
    found = taken(**{f"{REGISTRY}tls.{name}": text for name, text in store.items()}).tls
    assert found.truststore == StoreFile("/t", "pw", "value.converter.apicurio.registry.tls.truststore.location")
    assert not found.verify_hostname
    assert taken(**{f"{REGISTRY}tls.certificates": "/ca.pem"}).tls.ca_file == "/ca.pem"
    assert taken(**{f"{REGISTRY}tls.certificates": "-----BEGIN CERT\\nabc"}).tls.ca_pem == "-----BEGIN CERT\nabc"


def test_version_of_the_api_completes_the_address() -> None:
    found = taken(**{f"{REGISTRY}url.version": "3", f"{REGISTRY}proxy.host": "proxy", f"{REGISTRY}proxy.port": "80"})
    assert [one.url.endswith("/apis/registry/v3") for one in found.addresses] == [True]
    assert (found.ids.nbytes, found.ids.kind, found.proxy) == (4, "contentId", ("proxy", 80))


def test_options_of_the_converter_are_left_to_it() -> None:
    options = {"apicurio.registry.converter.deserializer": "x", "apicurio.registry.avro.encoding": "BINARY"}
    found = read(**options, **{"apicurio.registry.auto-register": "true"})
    assert found.used == {"apicurio.registry.url", "apicurio.registry.auto-register"}
    assert set(found.without_effect) == {"apicurio.registry.auto-register"}
