"""Options of Confluent's converters."""

import pickle
from typing import Any

import pytest

from floe.config.schema_registry.confluent import read_confluent
from floe.config.schema_registry.settings import (
    OAuthClient,
    RegistryAddress,
    RegistryLimits,
    RegistryLogin,
    RegistrySettings,
    RegistryToken,
)
from floe.config.secrets.mask import Mask
from floe.tls.store_file import StoreFile
from tests.support.registry.settings import Found, found_in

URL = "http://registry:8081"
PREFIX = "value.converter."
OAUTH = {
    "bearer.auth.credentials.source": "OAUTHBEARER",
    "bearer.auth.issuer.endpoint.url": "https://login.example/token",
    "bearer.auth.client.id": "floe",
    "bearer.auth.client.secret": "quite-secret",
    "bearer.auth.scope": "registry",
}


def read(url: str = URL, /, **options: str) -> Found:
    named = {name.replace("_", "."): value for name, value in options.items()}
    return found_in(read_confluent, {"schema.registry.url": url} | named, PREFIX)


def taken(url: str = URL, /, **options: str) -> RegistrySettings:
    found = read(url, **options)
    assert found.problems == ()
    assert found.settings is not None
    return found.settings


def test_url_alone_is_enough() -> None:
    found = taken("https://registry:8081/")
    assert found.addresses == (RegistryAddress("https://registry:8081"),)
    assert found.credentials is None
    assert (found.ids.nbytes, found.ids.kind, found.ids.in_headers) == (4, "id", True)
    assert found.limits == RegistryLimits()


def test_several_urls_keep_their_paths_and_logins() -> None:
    found = taken("http://a:p%40ss@one:8081/apis/ccompat/v7/ , http://two/")
    assert [one.url for one in found.addresses] == ["http://one:8081/apis/ccompat/v7", "http://two"]
    assert found.addresses[0].login == RegistryLogin("a", "p@ss", "schema.registry.url")
    assert found.addresses[1].login is None


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "is not given"),
        ("registry:8081", "http:// or https://"),
        ("mock://test", "http:// or https://"),
        ("http://", "http:// or https://"),
        ("http://host:x", "http:// or https://"),
        ("http://host:99999", "http:// or https://"),
        ("http://[::1", "http:// or https://"),
        ("http://host/?a=1", "query"),
        ("http://host/#a", "query"),
        ("http://ho st", "characters"),
        ("http://one,,http://two", "http:// or https://"),
    ],
)
def test_wrong_url_is_a_problem(url: str, said: str) -> None:
    found = read(url)
    assert found.settings is None
    assert said in found.problems[0]
    assert f"{PREFIX}schema.registry.url" in found.problems[0]


def test_password_of_wrong_url_is_not_shown() -> None:
    (problem,) = read("ftp://user:geheim123@host").problems
    assert "geheim123" not in problem


@pytest.mark.parametrize("key", ["basic_auth_user_info", "schema_registry_basic_auth_user_info"])
def test_user_info_gives_login(key: str) -> None:
    found = taken(basic_auth_credentials_source="USER_INFO", **{key: "me:pass:word"})
    assert found.credentials == RegistryLogin("me", "pass:word", key.replace("_", "."))


@pytest.mark.parametrize("password", ["pa-ss;word", "${env:PASSWORD}"])
def test_login_of_kafka_client_is_inherited(password: str) -> None:
    jaas = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="{password}";'
    found = taken(basic_auth_credentials_source="SASL_INHERIT", sasl_jaas_config=jaas, sasl_mechanism="PLAIN")
    assert found.credentials == RegistryLogin("me", password, "sasl.jaas.config")


def test_reference_to_login_of_kafka_client_is_for_the_worker() -> None:
    found = taken(basic_auth_credentials_source="SASL_INHERIT", sasl_jaas_config="${file:/k.properties:jaas}")
    assert found.credentials is None


def test_jaas_with_references_outside_of_quotes_waits_for_them() -> None:
    jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required username=${env:U} password=${env:P};"
    assert taken(basic_auth_credentials_source="SASL_INHERIT", sasl_jaas_config=jaas).credentials is None


def test_user_info_replaces_login_of_url() -> None:
    found = taken("http://a:b@one", basic_auth_credentials_source="USER_INFO", basic_auth_user_info="me:pw")
    assert found.addresses == (RegistryAddress("http://one"),)


def test_user_info_without_its_source_is_named() -> None:
    found = read(basic_auth_user_info="me:pw")
    assert found.settings is not None
    assert found.settings.credentials is None
    assert "USER_INFO" in found.without_effect["basic.auth.user.info"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"basic_auth_credentials_source": "SASL_INHERIT"}, "sasl.jaas.config, which is not given"),
        ({"basic_auth_credentials_source": "SASL_INHERIT", "sasl_jaas_config": "x"}, "sasl.jaas.config: "),
        ({"basic_auth_credentials_source": "OTHER"}, "unknown"),
        ({"basic_auth_credentials_source": "USER_INFO"}, "basic.auth.user.info"),
        ({"basic_auth_credentials_source": "USER_INFO", "basic_auth_user_info": "nocolon"}, "user:password"),
        ({"bearer_auth_credentials_source": "STATIC_TOKEN"}, "bearer.auth.token"),
        ({"bearer_auth_credentials_source": "OAUTHBEARER"}, "bearer.auth.client.id"),
        ({"bearer_auth_credentials_source": "CUSTOM"}, "client credentials"),
        ({"bearer_auth_credentials_source": "OAUTHBEARER_AZURE_IMDS"}, "client credentials"),
        ({"bearer_auth_credentials_source": "STATIC_TOKEN", "basic_auth_credentials_source": "URL"}, "remove one"),
        ({"proxy_host": "proxy"}, "proxy.port"),
        ({"proxy_port": "3128"}, "proxy.host"),
        ({"proxy_host": "proxy", "proxy_port": "0"}, "at least 1"),
        ({"http_read_timeout_ms": "soon"}, "Not a number"),
        ({"http_connect_timeout_ms": "0"}, "at least 1"),
        ({"max_retries": "1000"}, "no more than 100"),
        ({"schema_backup_enabled": "true"}, "puts each value into another"),
        ({"context_name_strategy": "com.example.Tenants"}, "https://HOST/contexts/.NAME"),
        ({"schema_registry_ssl_keystore_type": "JCEKS"}, "JKS, PKCS12, PEM"),
    ],
)
def test_wrong_options_are_problems(options: dict[str, str], said: str) -> None:
    found = read(**options)
    assert found.settings is None
    assert any(said in problem for problem in found.problems), found.problems


def test_token_is_taken_without_a_source_too() -> None:
    assert taken(bearer_auth_token="abc").credentials == RegistryToken("abc", "bearer.auth.token")
    assert taken(schema_registry_bearer_auth_token="abc").credentials is not None


def test_client_credentials_are_read() -> None:
    more = {"bearer.auth.logical.cluster": "lsrc-1", "bearer.auth.identity.pool.id": "pool-1"}
    found = found_in(read_confluent, {"schema.registry.url": URL, **OAUTH, **more}).settings
    assert found is not None
    assert found.credentials == OAuthClient(
        "https://login.example/token", "floe", "quite-secret", "registry", "bearer.auth.client.secret"
    )
    assert found.headers == (("Confluent-Identity-Pool-Id", "pool-1"), ("target-sr-cluster", "lsrc-1"))


def test_pem_stores_are_taken() -> None:
    found = taken(
        schema_registry_ssl_truststore_location="/ca.pem",
        schema_registry_ssl_keystore_type="PEM",
        schema_registry_ssl_keystore_location="/both",
        schema_registry_ssl_key_password="pw",
    ).tls
    assert found.truststore == StoreFile("/ca.pem", "", "value.converter.schema.registry.ssl.truststore.location")
    assert found.keystore == StoreFile("/both", "", "value.converter.schema.registry.ssl.keystore.location")
    assert found.key_password == "pw"
    assert found.verify_hostname


@pytest.mark.parametrize("kind", ["", "jks", "PKCS12", "${env:KIND}"])
def test_java_stores_are_taken_with_their_passwords(kind: str) -> None:
    options = {"ssl.truststore.location": "/trust", "ssl.truststore.type": kind, "ssl.truststore.password": "pw"}
    found = found_in(read_confluent, {"schema.registry.url": URL, **options}, PREFIX)
    assert found.settings is not None and found.without_effect == {}
    assert found.settings.tls.truststore == StoreFile("/trust", "pw", f"{PREFIX}ssl.truststore.location")
    assert found.settings.secrets() == {f"{PREFIX}ssl.truststore.password": "pw"}


def test_password_without_store_is_named() -> None:
    found = read(schema_registry_ssl_truststore_password="pw")
    assert found.without_effect == {"schema.registry.ssl.truststore.password": "no truststore is named"}


def test_librdkafka_names_of_pem_files_are_taken() -> None:
    found = taken(ssl_ca_location="/ca", ssl_certificate_location="/crt", ssl_key_location="/key").tls
    assert (found.ca_file, found.certificate_file, found.key_file) == ("/ca", "/crt", "/key")


def test_pem_texts_have_their_line_ends() -> None:
    found = taken(schema_registry_ssl_truststore_certificates="-----BEGIN\\nabc\\n-----END").tls
    assert found.ca_pem == "-----BEGIN\nabc\n-----END"


def test_empty_algorithm_switches_the_host_check_off() -> None:
    assert not taken(schema_registry_ssl_endpoint_identification_algorithm="").tls.verify_hostname
    assert taken(schema_registry_ssl_endpoint_identification_algorithm="https").tls.verify_hostname


def test_limits_are_seconds() -> None:
    found = taken(http_connect_timeout_ms="1500", http_read_timeout_ms="2000", max_retries="0", retries_wait_ms="0")
    assert found.limits == RegistryLimits(1.5, 2.0, 0, 0.0, RegistryLimits.max_wait)


def test_proxy_is_read() -> None:
    assert taken(proxy_host="proxy", proxy_port="3128").proxy == ("proxy", 3128)
    assert taken(proxy_host="", proxy_port="-1").proxy is None


def test_references_to_secrets_are_not_checked() -> None:
    found = taken(
        "${env:REGISTRY}",
        basic_auth_credentials_source="USER_INFO",
        basic_auth_user_info="${file:/s:a}",
        http_read_timeout_ms="${env:T}",
    )
    assert found.addresses == (RegistryAddress("${env:REGISTRY}"),)


def test_options_of_the_converter_are_left_to_it() -> None:
    given = {"schema.registry.url": URL, "enhanced.avro.schema.support": "true", "ssl.engine.factory.class": "x.Y"}
    assert set(given) - found_in(read_confluent, given).used == {
        "enhanced.avro.schema.support",
        "ssl.engine.factory.class",
    }


def test_options_of_producers_are_named() -> None:
    found = read(auto_register_schemas="false", value_subject_name_strategy="x.TopicNameStrategy")
    assert set(found.without_effect) == {"auto.register.schemas", "value.subject.name.strategy"}
    assert set(found.without_effect) <= found.used


@pytest.mark.parametrize(
    "options",
    [
        {"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": "me:quite-secret"},
        {"bearer.auth.token": "quite-secret"},
        {"request.header.X-Key": "quite-secret"},
        {"ssl.certificate.location": "/c", "ssl.key.location": "/k", "ssl.key.password": "quite-secret"},
        OAUTH,
    ],
)
def test_secrets_are_hidden_and_can_be_learned(options: dict[str, Any]) -> None:
    found = found_in(read_confluent, {"schema.registry.url": URL, **options}).settings
    assert found is not None
    assert "quite-secret" not in repr(found)
    assert "quite-secret" not in Mask.of(found.secrets()).hide("a quite-secret thing")


def test_settings_can_be_pickled_and_hashed() -> None:
    found = taken("http://a:b@one", ssl_ca_location="/ca")
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301 - its own
    assert hash(found) == hash(taken("http://a:b@one", ssl_ca_location="/ca"))


def test_identity_is_of_addresses_and_credentials() -> None:
    same = [
        taken(),
        taken(http_read_timeout_ms="9"),
        found_in(read_confluent, {"schema.registry.url": URL}, "key.").settings,
    ]
    assert len({one.identity for one in same if one}) == 1
    others = [
        taken("http://other:8081"),
        taken("http://a:b@registry:8081"),
        taken(bearer_auth_token="abc"),
        taken(basic_auth_credentials_source="USER_INFO", basic_auth_user_info="a:b"),
        taken(ssl_certificate_location="/c", ssl_key_location="/k"),
        taken(**{"request_header_X": "1"}),
    ]
    assert len({one.identity for one in [*others, taken()]}) == len(others) + 1


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("request.header.X-Tenant", "a\r\nX-Other: b", "no header can have"),
        ("request.header.X-Tenant", "caf\u2615", "no header can have"),
        ("request.header.X Tenant", "a", "no name of a header"),
        ("request.header.", "a", "no name of a header"),
        ("bearer.auth.token", "line\nbreak", "no header can have"),
    ],
)
def test_what_no_header_can_have_is_refused_and_not_shown(name: str, value: str, why: str) -> None:
    found = found_in(read_confluent, {"schema.registry.url": URL, name: value}, PREFIX)
    assert why in found.problems[0] and name in found.problems[0]
    assert value not in found.problems[0] or len(value) == 1
