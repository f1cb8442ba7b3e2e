"""Login modules as people have them in files, in librdkafka's settings; others are answered with what to set."""

from __future__ import annotations

import confluent_kafka
import pytest

from floe.config import ConfigError, parse_connector
from floe.config.kafka.jaas import JaasUnusable
from floe.config.kafka.login_modules import HANDLERS, OAUTH_MODULE, login_settings
from floe.config.kafka.msk import IS_MSK, LOGIN_HANDLER, MODULE, PROFILE, ROLE, SESSION
from floe.config.kafka.translation import translate
from tests.support.connectors import MINIMAL

OAUTH = f"{OAUTH_MODULE} required"
OIDC = {"sasl.oauthbearer.method": "oidc"}
ID, SECRET = "sasl.oauthbearer.client.id", "sasl.oauthbearer.client.secret"
ENDPOINT = "sasl.oauthbearer.token.endpoint.url"


@pytest.mark.parametrize(
    ("text", "conf", "unused"),
    [
        (
            f"{OAUTH} clientId='me' clientSecret='s' scope='read write' extension_logicalCluster='lkc-1' "
            "extension_identityPoolId='pool-2';",
            {**OIDC, ID: "me", SECRET: "s", "sasl.oauthbearer.scope": "read write"}
            | {"sasl.oauthbearer.extensions": "logicalCluster=lkc-1,identityPoolId=pool-2"},
            [],
        ),
        (
            f'{OAUTH}\n  oauth.client.id="me" oauth.client.secret="s" oauth.token.endpoint.uri="https://sso/token"\n'
            '  oauth.ssl.truststore.location="/ca.crt" oauth.ssl.truststore.type="PEM" oauth.username.claim="sub" ;',
            {**OIDC, ID: "me", SECRET: "s", ENDPOINT: "https://sso/token", "https.ca.location": "/ca.crt"},
            ["oauth.ssl.truststore.type", "oauth.username.claim"],
        ),
        (f"{OAUTH};", OIDC, []),
        (
            f"{OAUTH} unsecuredLoginStringClaim_sub='me';",
            {"enable.sasl.oauthbearer.unsecure.jwt": "true", "sasl.oauthbearer.config": "principal=me"},
            [],
        ),
        (f"{MODULE} required;", {IS_MSK: "true"}, []),
        (
            f"{MODULE} required awsRoleArn='arn:aws:iam::1:role/r' awsRoleSessionName='s' awsDebugCreds='true';",
            {IS_MSK: "true", ROLE: "arn:aws:iam::1:role/r", SESSION: "s"},
            ["awsDebugCreds"],
        ),
        (f"{OAUTH} awsProfileName='p';", {IS_MSK: "true", PROFILE: "p"}, []),
    ],
)
def test_module_becomes_settings(text: str, conf: dict[str, str], unused: list[str]) -> None:
    found = login_settings(text)
    assert (dict(found.conf), sorted(found.unused)) == (conf, unused)
    assert "'s'" not in repr(found)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true;", "Kerberos is not in the client"),
        ("com.sun.security.auth.module.JndiLoginModule required x='CANARY';", "CVE-2023-25194"),
        ("com.sun.security.auth.module.LdapLoginModule required x='CANARY';", "CVE-2025-27818"),
        ("my.own.LoginModule required username='u' password='CANARY';", "'my.own.LoginModule' is not read"),
        (f"{OAUTH} oauth.access.token='CANARY';", "expires during a run"),
        (f"{OAUTH} oauth.audience='a';", "requests no audience"),
        (f"{OAUTH} oauth.client.assertion='CANARY';", "sasl.oauthbearer.assertion"),
        (
            f"{OAUTH} oauth.ssl.truststore.location='/t.p12' oauth.ssl.truststore.password='CANARY';",
            "a store of Java's",
        ),
        (f"{OAUTH} clientId='a' my.option='CANARY';", "'my.option' is not read"),
        (f"{OAUTH} extension_a='b,c=d';", "a comma or an equals sign"),
        (f"{OAUTH} unsecuredLoginStringClaim_sub='a' unsecuredLoginLifetimeSeconds='5';", "without a signature"),
        (f"{MODULE} required awsRoleArn='r' awsProfileName='p';", "two logins"),
        (f"{MODULE} required awsRoleSecretAccessKey='CANARY';", "AWS_ACCESS_KEY_ID"),
    ],
)
def test_module_that_is_not_read_names_what_to_set(text: str, why: str) -> None:
    with pytest.raises(JaasUnusable) as caught:
        login_settings(text)
    assert why in str(caught.value)
    assert "CANARY" not in str(caught.value)


def test_connector_of_confluent_cloud_is_taken_as_it_is() -> None:
    keys = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.login.callback.handler.class": HANDLERS[1],
        "sasl.oauthbearer.token.endpoint.url": "https://login.example.com/token",
    }
    connector = parse_connector({**MINIMAL, **{f"iceberg.kafka.{key}": value for key, value in keys.items()}})
    assert connector.clients.control["sasl.login.callback.handler.class"] == HANDLERS[1]
    given = {**keys, "sasl.jaas.config": f"{OAUTH} clientId='me' clientSecret='s';"}
    found = translate(given)
    assert not found.problems and not found.without_effect
    confluent_kafka.Consumer({**found.conf, "group.id": "x", "log_level": 0}).close()


def test_handler_of_another_class_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"sasl\.login\.callback\.handler\.class is refused: it loads code"):
        parse_connector({**MINIMAL, "iceberg.kafka.sasl.login.callback.handler.class": "my.Handler"})


@pytest.mark.parametrize(
    "given",
    [
        {"sasl.mechanism": "AWS_MSK_IAM", "sasl.jaas.config": f"{MODULE} required;"},
        {"sasl.mechanism": "aws_msk_iam"},
        {"sasl.mechanism": "OAUTHBEARER", "sasl.login.callback.handler.class": LOGIN_HANDLER},
    ],
)
def test_msk_is_oauthbearer_with_a_mark(given: dict[str, str]) -> None:
    found = translate(given)
    assert (found.conf, found.problems) == ({"sasl.mechanism": "OAUTHBEARER", IS_MSK: "true"}, {})
