"""Who a client is, and the errors of one that may not log in or do something: they name the user, never a password."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import confluent_kafka as ck

from floe.config.kafka.msk import IS_MSK, PROFILE, ROLE
from floe.exceptions import Retryable
from floe.kafka.exceptions import (
    NOT_ALLOWED,
    UNREACHABLE,
    KafkaError,
    KafkaMisconfigured,
    KafkaUnreachable,
    TopicMissing,
)

NOTHING_LOST: Final = "Nothing was lost: positions stay as they were"
_MECHANISMS: Final = ("sasl.mechanism", "sasl.mechanisms")
_CLIENT_IDS: Final = ("sasl.oauthbearer.client.id", "sasl.oauthbearer.client.credentials.client.id")
_CERTIFICATES: Final = ("ssl.certificate.location", "ssl.certificate.pem", "ssl.keystore.location")


_OAUTH: Final = "sasl.mechanism OAUTHBEARER"


class NotPermitted(KafkaMisconfigured):
    """The brokers know the user, and an ACL is missing."""

    code = "FLOE-450"


class KafkaLoginRefused(KafkaMisconfigured):
    """The brokers do not take the user, the password, the token or the mechanism."""

    code = "FLOE-451"


class TlsRefused(KafkaMisconfigured):
    """Client and broker do not trust each other, or one of them does not speak TLS."""

    code = "FLOE-452"


class TokenMissing(KafkaError, Retryable):
    """The token endpoint gave no token."""

    code = "FLOE-453"


class TopicsLeftOut(KafkaMisconfigured):
    """A run did all but some topics, which it may not read."""

    code = "FLOE-454"


class Action(NamedTuple):
    """What a client is doing, and the ACLs that it needs for it."""

    doing: str
    acls: str


def login_of(conf: Mapping[str, Any]) -> str:
    """Describe who a client is, by which mechanism and protocol: for messages, without secrets."""
    protocol = str(conf.get("security.protocol") or "plaintext").strip().upper()
    mechanism = next((str(conf[name]).strip() for name in _MECHANISMS if conf.get(name)), "GSSAPI")
    if not protocol.startswith("SASL"):
        has_certificate = protocol == "SSL" and any(conf.get(name) for name in _CERTIFICATES)
        return (
            f"the client with its certificate (security.protocol {protocol})"
            if has_certificate
            else (f"the client without a login (security.protocol {protocol})")
        )
    return f"{_user(conf)} (security.protocol {protocol}, sasl.mechanism {mechanism})"


def _user(conf: Mapping[str, Any]) -> str:
    if conf.get(IS_MSK):
        whose = conf.get(ROLE) or conf.get(PROFILE)
        return f"the AWS identity {str(whose)[:200]!r}" if whose else "the AWS identity of this machine"
    client_id = next((str(conf[name]) for name in _CLIENT_IDS if conf.get(name)), "")
    if client_id:
        return f"client {client_id[:200]!r}"
    user = str(conf.get("sasl.username") or "")
    return f"user {user[:200]!r}" if user else "the client without a user"


@dataclass(frozen=True)
class Client:
    """Who asks which brokers; ``origin`` says where its settings are from."""

    login: str
    brokers: object
    origin: str

    @classmethod
    def of(cls, conf: Mapping[str, Any], origin: str) -> Client:
        """Describe a client by its settings."""
        return cls(login_of(conf), conf.get("bootstrap.servers"), origin)

    def error(self, reason: ck.KafkaError, action: Action, cause: str | None = None) -> KafkaError:
        """Return floe's error for an answer. ``cause``: why the client could not connect, from its log."""
        if reason.code() == ck.KafkaError.UNKNOWN_TOPIC_OR_PART:
            return TopicMissing(reason.str())
        if reason.code() in NOT_ALLOWED:
            return self.not_permitted(action, f"{reason.str()} ({reason.name()})")
        found = self.of_connection(reason.str())
        if found is None and cause is not None and reason.code() in _LOST:
            found = self.of_connection(cause)
        if found is None and cause is None and reason.code() in UNREACHABLE and _OAUTH in self.login:
            found = _token(
                self, reason.str()
            )  # an endpoint that fails is asked again and again, without a line in the log
        if found is not None:
            return found
        why = cause if cause is not None and reason.code() in UNREACHABLE else reason.str()
        return KafkaUnreachable(
            f"Kafka at {self.brokers} did not answer: {why} ({reason.name()}). Check the broker and the address in "
            f"{self.origin}. The listener there has to be for {self.login}."
        )

    def not_permitted(self, action: Action, reason: str) -> NotPermitted:
        """Return the error of an action that an ACL does not allow."""
        return NotPermitted(
            f"{self.login} may not {action.doing} on {self.brokers}: {reason}. Grant it {action.acls}, or correct "
            f"{self.origin}. {NOTHING_LOST}"
        )

    def of_connection(self, cause: str) -> KafkaError | None:
        """Return the error for why a connection failed; None where it is no matter of logging in."""
        words = cause.lower()
        return next((made(self, cause) for texts, made in _CAUSES if any(text in words for text in texts)), None)


def left_out(topics: Collection[str], conf: Mapping[str, Any], origin: str) -> TopicsLeftOut:
    """Return the error at the end of a run that did all but some topics."""
    names = ", ".join(repr(topic) for topic in sorted(topics)[:20])
    return TopicsLeftOut(
        f"{login_of(conf)} may not read topic {names} on {conf.get('bootstrap.servers')}: it was left out, and "
        f"others were done. Grant Read on topic {names}, or correct {origin}. The next run then continues at the topic's "
        f"position. {NOTHING_LOST}"
    )


def _token(client: Client, cause: str) -> KafkaError:
    return TokenMissing(
        f"{client.login} got no token for {client.brokers}: {cause}. Check sasl.oauthbearer.token.endpoint.url, the client "
        f"id and the client secret in {client.origin}; then run again. {NOTHING_LOST}"
    )


def _login(client: Client, cause: str) -> KafkaError:
    return KafkaLoginRefused(
        f"Kafka at {client.brokers} refuses the credentials of {client.login}: {cause}. Check user, password and "
        f"sasl.mechanism in {client.origin}. {NOTHING_LOST}"
    )


def _tls(client: Client, cause: str) -> KafkaError:
    return TlsRefused(
        f"{client.login} has no TLS connection to {client.brokers}: {cause}. Check the port, security.protocol, the "
        f"authority in ssl.ca.location and the names and dates in the broker's certificate, in {client.origin}. "
        f"{NOTHING_LOST}"
    )


_CAUSES: Final = (
    (("oidc token", "oauthbearer token"), _token),
    (("sasl authentication error", "authentication fail", "unsupported sasl mechanism"), _login),
    (("ssl handshake", "certificate", "ssl_", "ssl alert", "security.protocol", "tls"), _tls),
)
"""Words of librdkafka's log, and whose matter they are."""

_LOST: Final = UNREACHABLE | {ck.KafkaError._AUTHENTICATION, ck.KafkaError._SSL}
