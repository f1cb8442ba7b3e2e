"""Login modules of Kafka's clients, as librdkafka's settings: Kafka's own, Strimzi's options and AWS's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from floe.config.kafka.jaas import LOGINS, Entry, JaasUnusable, login_of, read_entry
from floe.config.kafka.msk import MODULE as MSK_MODULE
from floe.config.kafka.msk import OPTIONS_PREFIX as MSK_OPTIONS
from floe.config.kafka.msk import msk_settings
from floe.config.kafka.oauth import oauth_settings

OAUTH_MODULE: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"

NO_GSSAPI: Final = (
    "Kerberos is not in the client that confluent-kafka installs (it has PLAIN, SCRAM and OAUTHBEARER): use a listener with "
    "one of these; or build confluent-kafka on a librdkafka with GSSAPI (pip install --no-binary confluent-kafka "
    "confluent-kafka) and set sasl.mechanism=GSSAPI, sasl.kerberos.principal and sasl.kerberos.keytab, without "
    "sasl.jaas.config"
)
_REFUSED: Final = {
    "Krb5LoginModule": NO_GSSAPI,
    "JndiLoginModule": "it looks accounts up in a directory, which is a way to run foreign code (CVE-2023-25194): set "
    "sasl.username and sasl.password",
    "LdapLoginModule": "it looks accounts up in a directory, which is a way to run foreign code (CVE-2025-27818): set "
    "sasl.username and sasl.password",
}
_READ: Final = (
    "floe reads PlainLoginModule, ScramLoginModule, OAuthBearerLoginModule and AWS's IAMLoginModule: set sasl.username and "
    "sasl.password, or sasl.oauthbearer.method=oidc with its client id, client secret and token endpoint"
)


@dataclass(frozen=True)
class LoginSettings:
    """A login in librdkafka's names. ``unused``: the options that have no effect, with the reasons."""

    conf: Mapping[str, str] = field(repr=False)
    unused: Mapping[str, str] = field(default_factory=dict)


def login_settings(jaas: str) -> LoginSettings:
    """Translate a text of ``sasl.jaas.config``. Raises JaasUnusable, whose message quotes no secret."""
    entry = read_entry(jaas)
    if entry.module in LOGINS:
        login = login_of(entry)
        return LoginSettings({"sasl.username": login.user, "sasl.password": login.password})
    if entry.module == MSK_MODULE or _is_of_msk(entry):
        return LoginSettings(*msk_settings(entry.options))
    if entry.module == OAUTH_MODULE:
        return LoginSettings(*oauth_settings(entry.options))
    why = _REFUSED.get(entry.module.rpartition(".")[2], _READ)
    msg = f"the login module {entry.name!r} is not read: {why}"
    raise JaasUnusable(msg)


def _is_of_msk(entry: Entry) -> bool:
    """Whether Kafka's module has options of AWS's callback handler."""
    return entry.module == OAUTH_MODULE and any(name.startswith(MSK_OPTIONS) for name in entry.options)
