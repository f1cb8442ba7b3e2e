"""JAAS texts, as Kafka's own parser reads them."""

import pytest

from floe.config.kafka.jaas import JaasUnusable, read_login

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.mark.parametrize(
    ("text", "user", "password"),
    [
        (f'{PLAIN} required username="me" password="secret";', "me", "secret"),
        (f'{SCRAM} required username="me" password="secret";', "me", "secret"),
        (f"{PLAIN} REQUIRED username='me' password='a \"b\"';", "me", 'a "b"'),
        (f'  {PLAIN}  required\n\tpassword = "p=;//x" username=me ;  ', "me", "p=;//x"),
        (f'{PLAIN} required username="me" password="a\\"b\\\\c\\n\\101";', "me", 'a"b\\c\nA'),
        (f'{PLAIN} required user="x" username="$Connection" password="sb://x/;K=v=";', "$Connection", "sb://x/;K=v="),
        (f'{PLAIN} required // the account\n username="me" /* and */ password="p";', "me", "p"),
        (f'{PLAIN} required username="mé" password="密码";', "mé", "密码"),
    ],
)
def test_login_is_read_as_java_reads_it(text: str, user: str, password: str) -> None:
    login = read_login(text)
    assert (login.user, login.password) == (user, password)
    assert "secret" not in repr(login)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true;", "floe reads PlainLoginModule"),
        ("x.oauthbearer.OAuthBearerLoginModule required clientId='a';", "floe reads PlainLoginModule"),
        ("my.own.LoginModule required username='u' password='CANARY';", "'my.own.LoginModule' is not read"),
        (f"{PLAIN} required username='u';", "it has no password"),
        (f"{PLAIN} required;", "it has no username and no password"),
        (f"{SCRAM} required username='u' password='CANARY' tokenauth='true';", "delegation tokens"),
        (f"{PLAIN} required username='u' password='CANARY'", "no semicolon at its end"),
        (f"{PLAIN} username='u' password='CANARY';", "no JAAS text"),
        (f"{PLAIN} required username='u' password=12CANARY;", "no JAAS text"),
        (f"{PLAIN} required username='u' password='CANARY;", "no JAAS text"),
        (f"{PLAIN} required username='u' password='CANARY'; {PLAIN} required;", "no JAAS text"),
        ("my.CANARY.Pass1", "its text is not read"),
        ("CANARY", "its text is not read"),
        ("'CANARY'", "its text is not read"),
        ("", "its text is not read"),
        (f"{PLAIN} required " + "a" * 70_000, "no JAAS text"),
    ],
)
def test_unusable_text_names_what_to_set_and_no_secret(text: str, why: str) -> None:
    with pytest.raises(JaasUnusable) as caught:
        read_login(text)
    assert why in str(caught.value)
    assert "CANARY" not in str(caught.value) + repr(caught.value)
