"""Java's client settings in librdkafka's names: each is taken, named as of no effect, or answered with what to set."""

from pathlib import Path

import confluent_kafka
import pytest

from floe.config.kafka.translation import CODE_OF_LOGIN, RENAMED, TRANSLATED, WITHOUT_EFFECT, take_stores, translate
from floe.config.libraries.client_settings import CLIENT_NAMES
from floe.tls.store_file import StoreFile

JAAS = "org.apache.kafka.common.security.scram.ScramLoginModule required username='u' password='p';"
TRUST = {"ssl.truststore.location": "/t.jks", "ssl.truststore.password": "p"}
KEYS = {"ssl.keystore.location": "/me", "ssl.keystore.password": "p"}
BEGIN = "-----BEGIN CERTIFICATE-----"


@pytest.mark.parametrize(
    ("given", "conf"),
    [
        ({"sasl.jaas.config": JAAS}, {"sasl.username": "u", "sasl.password": "p"}),
        ({"sasl.jaas.config": " "}, {}),
        ({"sasl.jaas.config": JAAS, "sasl.username": "v"}, {"sasl.username": "v", "sasl.password": "p"}),
        ({**TRUST, "ssl.truststore.type": "jks"}, {"ssl.ca.pem": StoreFile("/t.jks", "p", "ssl.truststore.location")}),
        ({"ssl.truststore.location": "/ca.pem"}, {"ssl.ca.pem": StoreFile("/ca.pem")}),
        ({**TRUST, "ssl.ca.location": "/ca.pem"}, {"ssl.ca.location": "/ca.pem"}),
        ({"ssl.truststore.type": "JKS", "ssl.truststore.password": "p"}, {}),
        ({"ssl.truststore.certificates": f"{BEGIN}\\nx"}, {"ssl.ca.pem": f"{BEGIN}\nx"}),
        (
            {**KEYS, "ssl.keystore.type": "PKCS12", "ssl.key.password": "q"},
            {"ssl.certificate.pem": StoreFile("/me", "p", "ssl.keystore.location"), "ssl.key.password": "q"},
        ),
        (KEYS, KEYS),
        ({**KEYS, "ssl.key.location": "/k", "ssl.keystore.type": "JKS"}, {"ssl.key.location": "/k"}),
        (
            {"ssl.keystore.certificate.chain": "a\\nb", "ssl.keystore.key": "c\\nd"},
            {"ssl.certificate.pem": "a\nb", "ssl.key.pem": "c\nd"},
        ),
        ({"ssl.endpoint.identification.algorithm": ""}, {"ssl.endpoint.identification.algorithm": "none"}),
        ({"ssl.endpoint.identification.algorithm": "HTTPS"}, {"ssl.endpoint.identification.algorithm": "https"}),
        ({"ssl.endpoint.identification.algorithm": None, "linger.ms": None}, {}),
        ({"fetch.max.wait.ms": "7"}, {"fetch.wait.max.ms": "7"}),
        ({"receive.buffer.bytes": 65536, "send.buffer.bytes": -1}, {"socket.receive.buffer.bytes": 65536}),
        ({"linger.ms": 5, "no.such.setting": "x"},) * 2,
    ],
)
def test_settings_get_librdkafkas_names(given: dict[str, object], conf: dict[str, object]) -> None:
    found = translate(given)
    assert (take_stores(found.conf), found.problems, found.without_effect) == (conf, {}, {})


@pytest.mark.parametrize(
    ("given", "key", "instead"),
    [
        ({"sasl.jaas.config": "x.Krb5LoginModule required;"}, "sasl.jaas.config", "sasl.kerberos.keytab"),
        ({**TRUST, "ssl.truststore.type": "BCFKS"}, "ssl.truststore.type", "'BCFKS' is none of JKS, PKCS12, PEM"),
        ({**KEYS, "ssl.keystore.type": "Windows-MY"}, "ssl.keystore.type", "keytool -importkeystore"),
        *(({key: "x.Y"}, key, "Java's code") for key in CODE_OF_LOGIN),
    ],
)
def test_setting_without_translation_is_a_problem(given: dict[str, str], key: str, instead: str) -> None:
    (problem,) = translate(given).problems.items()
    assert problem[0] == key and instead in problem[1]


def test_settings_of_no_effect_have_a_reason() -> None:
    found = translate({"max.block.ms": "1", "linger.ms": "2", "ssl.protocol": "TLSv1.3"})
    assert found.conf == {"linger.ms": "2"}
    assert found.without_effect.keys() == {"max.block.ms", "ssl.protocol"}


def test_references_are_left_out_where_they_may_be() -> None:
    given = {"sasl.jaas.config": "${env:JAAS}", "ssl.truststore.location": "${env:STORE}"}
    found = translate(given, may_refer=True)
    assert (found.conf, found.problems) == ({}, {})
    assert translate(given).problems.keys() == {"sasl.jaas.config"}


@pytest.mark.parametrize("is_java", [False, True])
def test_store_without_type_is_javas_in_javas_settings(is_java: bool) -> None:
    found = take_stores(translate(KEYS, is_java=is_java).conf)
    assert found == ({"ssl.certificate.pem": StoreFile("/me", "p", "ssl.keystore.location")} if is_java else KEYS)


def test_java_names_are_none_of_librdkafkas() -> None:
    assert not [name for name in {*TRANSLATED, *WITHOUT_EFFECT} if name in CLIENT_NAMES]
    assert all(name in CLIENT_NAMES for name in RENAMED.values())


def test_client_takes_translated_settings(tmp_path: Path) -> None:
    java = {
        "sasl.jaas.config": JAAS,
        "sasl.mechanism": "SCRAM-SHA-512",
        "security.protocol": "SASL_SSL",
        "ssl.endpoint.identification.algorithm": "",
        "fetch.max.wait.ms": "100",
        "send.buffer.bytes": "131072",
    }
    confluent_kafka.Consumer({**translate(java).conf, "group.id": "x", "log_level": 0}).close()
