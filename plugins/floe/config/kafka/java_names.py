"""Settings that only Java's clients know, and what becomes of each."""

from collections.abc import Mapping
from typing import Final

from floe.config.kafka.msk import CLIENT_HANDLER, LOGIN_HANDLER
from floe.config.kafka.oauth import HANDLERS

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
