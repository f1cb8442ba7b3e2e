"""From Java's client settings to librdkafka's: for the worker file, Airflow connections and connectors alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from floe.config.kafka.jaas import JaasUnusable
from floe.config.kafka.login_modules import HANDLERS, login_settings
from floe.config.kafka.msk import CLIENT_HANDLER, IS_MSK, LOGIN_HANDLER, MECHANISM
from floe.config.secrets.detection import is_reference
from floe.tls.store_file import CONVERT, TYPES, StoreFile

# Settings that only Java's clients know, and what becomes of each.


RENAMED: Final[Mapping[str, str]] = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
"""Settings with one meaning and two names."""

SYSTEMS_SIZE: Final = ("receive.buffer.bytes", "send.buffer.bytes")
"""Settings whose -1 is the operating system's choice, which librdkafka takes without being asked."""

_METRICS: Final = "librdkafka reports no such metrics"
_TLS: Final = "TLS 1.2 and newer are used, with OpenSSL's own choice"
_LOGIN: Final = "librdkafka renews logins by itself"
_VALIDATION: Final = "brokers check tokens"
_PRODUCER: Final = "it is the Java producer's; floe's has a time limit of its own"

WITHOUT_EFFECT: Final[Mapping[str, str]] = {
    "auto.include.jmx.reporter": _METRICS,
    "buffer.memory": "floe's announcements are small, and its limits its own",
    "default.api.timeout.ms": "floe's calls have time limits of their own",
    "exclude.internal.topics": "floe reads the topics that connectors name",
    "interceptor.classes": "Java's classes are not loaded",
    "key.deserializer": "floe's converters read records",
    "key.serializer": "floe serialises announcements itself",
    "max.block.ms": _PRODUCER,
    "max.poll.records": "ranges are read to their end",
    "max.request.size": "the topic's max.message.bytes counts",
    "metadata.max.idle.ms": "floe's producers live for one transaction",
    "metric.reporters": _METRICS,
    "metrics.num.samples": _METRICS,
    "metrics.recording.level": _METRICS,
    "metrics.sample.window.ms": _METRICS,
    "partitioner.adaptive.partitioning.enable": "announcements have one key",
    "partitioner.availability.timeout.ms": "announcements have one key",
    "partitioner.class": "announcements have one key",
    "partitioner.ignore.keys": "announcements have one key",
    **dict.fromkeys(
        (
            "sasl.oauthbearer.clock.skew.seconds",
            "sasl.oauthbearer.expected.audience",
            "sasl.oauthbearer.expected.issuer",
            "sasl.oauthbearer.jwks.endpoint.refresh.ms",
            "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
            "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
            "sasl.oauthbearer.jwks.endpoint.url",
            "sasl.oauthbearer.scope.claim.name",
        ),
        _VALIDATION,
    ),
    "sasl.kerberos.ticket.renew.jitter": _LOGIN,
    "sasl.kerberos.ticket.renew.window.factor": _LOGIN,
    "sasl.login.connect.timeout.ms": _LOGIN,
    "sasl.login.read.timeout.ms": _LOGIN,
    "sasl.login.refresh.buffer.seconds": _LOGIN,
    "sasl.login.refresh.min.period.seconds": _LOGIN,
    "sasl.login.refresh.window.factor": _LOGIN,
    "sasl.login.refresh.window.jitter": _LOGIN,
    "sasl.login.retry.backoff.max.ms": _LOGIN,
    "sasl.login.retry.backoff.ms": _LOGIN,
    "socket.connection.setup.timeout.max.ms": "set socket.connection.setup.timeout.ms",
    "ssl.enabled.protocols": _TLS,
    "ssl.keymanager.algorithm": _TLS,
    "ssl.protocol": _TLS,
    "ssl.provider": _TLS,
    "ssl.secure.random.implementation": _TLS,
    "ssl.trustmanager.algorithm": _TLS,
    "value.deserializer": "floe's converters read records",
    "value.serializer": "floe serialises announcements itself",
}
"""Settings that librdkafka does not have and floe does not need, with the reason."""

CODE_OF_LOGIN: Final[Mapping[str, str]] = {
    "sasl.client.callback.handler.class": "set sasl.username and sasl.password",
    "sasl.login.callback.handler.class": "set sasl.username and sasl.password, or sasl.oauthbearer.method=oidc with its "
    "sasl.oauthbearer.client.id, sasl.oauthbearer.client.secret and sasl.oauthbearer.token.endpoint.url",
    "sasl.oauthbearer.jwt.retriever.class": "set sasl.oauthbearer.method=oidc with its client id, client secret and token "
    "endpoint",
    "sasl.oauthbearer.jwt.validator.class": "brokers check tokens: remove it",
    "sasl.login.class": "set sasl.username and sasl.password",
    "security.providers": "OpenSSL's providers are used",
    "ssl.engine.factory.class": "set ssl.ca.location, ssl.certificate.location and ssl.key.location",
}
"""Settings that name Java's code for logging in, with what to set instead. Without them a login would be another one."""

_RETRIEVERS: Final = "org.apache.kafka.common.security.oauthbearer."
KNOWN_CODE: Final[Mapping[str, tuple[str, ...]]] = {
    "sasl.client.callback.handler.class": (CLIENT_HANDLER,),
    "sasl.login.callback.handler.class": (*HANDLERS, LOGIN_HANDLER),
    "sasl.oauthbearer.jwt.retriever.class": (
        f"{_RETRIEVERS}ClientCredentialsJwtRetriever",
        f"{_RETRIEVERS}DefaultJwtRetriever",
    ),
    "sasl.oauthbearer.jwt.validator.class": tuple(
        f"{_RETRIEVERS}{name}JwtValidator" for name in ("Default", "Client", "Broker")
    ),
}
"""Classes of those settings whose work is done here: nothing else is to be set."""


# Java's key and trust stores in a client's settings. A task reads them, for librdkafka wants PEM texts.


_TEXTS: Final = {
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
"""Java's names of PEM texts, and librdkafka's."""

NO_NAMES: Final[Mapping[str, str]] = MappingProxyType({})

_TRUST, _KEYS = "ssl.truststore.", "ssl.keystore."
_INSTEAD: Final = {
    _TRUST: ("ssl.ca.pem", "ssl.ca.location", "ssl.ca.certificate.stores"),
    _KEYS: ("ssl.certificate.pem", "ssl.certificate.location", "ssl.key.pem", "ssl.key.location"),
}
"""What librdkafka has in the place of each store: the first is the one that gets it."""

JAVA_NAMES: Final = (*_TEXTS, *(f"{_TRUST}{name}" for name in ("location", "type", "password")), f"{_KEYS}type")
"""Settings of stores that librdkafka does not have."""

_JAVA_FILES: Final = (".jks", ".pem", ".crt", ".cer", ".key")


def note_stores(conf: dict[str, Any], problems: dict[str, str], *, is_java: bool) -> None:
    """Prepare the stores that one place names, which may have passwords of other places.

    What ``conf`` says in librdkafka's own names counts over a store. ``is_java``: every store is Java's; elsewhere
    ``ssl.keystore.location`` without a type is librdkafka's, a PKCS12 file that the client itself reads.
    """
    for name, own in _TEXTS.items():
        if text := _text(conf.pop(name, None)):
            conf.setdefault(own, text.replace("\\n", "\n"))  # properties files have line ends as these two characters
    for prefix, own_names in _INSTEAD.items():
        location, type_ = f"{prefix}location", f"{prefix}type"
        kind, path = _text(conf.pop(type_, None)), _text(conf.get(location))
        if kind and kind.upper() not in TYPES:
            problems[type_] = f"{kind[:20]!r} is none of {', '.join(TYPES)}: {CONVERT}"
        is_javas = prefix == _TRUST or is_java or bool(kind) or path.lower().endswith(_JAVA_FILES)
        if is_javas and (not path or any(name in conf for name in own_names)):
            conf.pop(location, None)
        if is_javas and prefix == _KEYS and (kind or path):
            conf[type_] = kind or TYPES[0]


def take_stores(conf: Mapping[str, Any], spelled: Mapping[str, str] = NO_NAMES) -> dict[str, Any]:
    """Return the settings of all places with a StoreFile for each store of Java's. ``spelled``: their names, for messages."""
    made = dict(conf)
    for prefix, own_names in _INSTEAD.items():
        location = f"{prefix}location"
        kind = made.pop(f"{prefix}type", None)
        if prefix == _KEYS and not kind:
            continue
        path, password = _text(made.pop(location, None)), _text(made.pop(f"{prefix}password", None))
        if path and not any(name in made for name in own_names):
            made[own_names[0]] = StoreFile(path, password, spelled.get(location, location))
    return made


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()


_JAAS: Final = "sasl.jaas.config"
_MECHANISMS: Final = ("sasl.mechanism", "sasl.mechanisms")
_VERIFIED_NAME: Final = "ssl.endpoint.identification.algorithm"

TRANSLATED: Final = frozenset({_JAAS, *RENAMED, *JAVA_NAMES, *CODE_OF_LOGIN})
"""Java's names that mean something here, and that librdkafka does not know."""


@dataclass(frozen=True)
class Translated:
    """Settings in librdkafka's names, beside those of Java's stores: :func:`take_stores` follows once all places are merged.

    ``problems``: by Java's name, what to set instead. ``without_effect``: likewise, the reasons.
    """

    conf: dict[str, Any] = field(default_factory=dict, repr=False)
    problems: dict[str, str] = field(default_factory=dict)
    without_effect: dict[str, str] = field(default_factory=dict)


def translate(given: Mapping[str, Any], *, may_refer: bool = False, is_java: bool = False) -> Translated:
    """Translate the settings of one place. Others pass as they are.

    ``may_refer``: values may be references, of which there is nothing to say yet. ``is_java``: the settings were written
    for Java's clients. JSON's null is no value. Where a name of librdkafka's and
    one of Java's say the same, librdkafka's counts.
    """
    given = {name: value for name, value in given.items() if value is not None}
    references = {name: value for name, value in given.items() if may_refer and is_reference(str(value))}
    conf = {name: value for name, value in given.items() if name not in references}
    found = Translated(conf)
    for name in sorted(WITHOUT_EFFECT.keys() & conf.keys()):
        del conf[name]
        found.without_effect[name] = WITHOUT_EFFECT[name]
    for name in sorted(CODE_OF_LOGIN.keys() & conf.keys()):
        value = str(conf.pop(name))
        if value.strip() == LOGIN_HANDLER:
            conf[IS_MSK] = "true"
        if value.strip() and not is_known_code(name, value):
            found.problems[name] = f"it names Java's code: {CODE_OF_LOGIN[name]}"
    _rename(conf)
    _take_login(found)
    note_stores(conf, found.problems, is_java=is_java)
    if _VERIFIED_NAME in conf:
        conf[_VERIFIED_NAME] = str(conf[_VERIFIED_NAME]).strip().lower() or "none"
    return found


def _rename(conf: dict[str, Any]) -> None:
    for name in sorted(RENAMED.keys() & conf.keys()):
        value = conf.pop(name)
        if name not in SYSTEMS_SIZE or str(value).strip() != "-1":
            conf.setdefault(RENAMED[name], value)


def _take_login(found: Translated) -> None:
    conf = found.conf
    if any(str(conf.get(name, "")).strip().upper() == MECHANISM for name in _MECHANISMS):
        for name in _MECHANISMS:
            conf.pop(name, None)
        conf |= {"sasl.mechanism": "OAUTHBEARER", IS_MSK: "true"}
    jaas = str(conf.pop(_JAAS, None) or "")
    if not jaas.strip():
        return
    try:
        login = login_settings(jaas)
    except JaasUnusable as error:
        found.problems[_JAAS] = str(error)
        return
    for name, value in login.conf.items():
        conf.setdefault(name, value)
    found.without_effect.update({f"{_JAAS} ({name})": why for name, why in login.unused.items()})


def is_known_code(name: str, value: str) -> bool:
    """Whether a setting names Java's code for logging in whose work is done here."""
    return value.strip() in KNOWN_CODE.get(name, ())
